#include "host/trees.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "host/mounts.hpp"
#include "host/sources.hpp"
#include "sys/entries.hpp"
#include "sys/files.hpp"
#include "sys/kernel.hpp"
#include "sys/mounts.hpp"

namespace mayfly::host {
namespace {

// Each directory beside a mount becomes an overlay of its own, at some 0.1 ms: beyond this the tree
// is better shown as it is.
constexpr std::size_t kMostEntries = 512;  // of one directory
constexpr std::size_t kMostInAll = 1024;
constexpr std::size_t kMostParts = 256;
constexpr std::uint64_t kMostOfOneFile = 16u << 20;

constexpr std::array<std::string_view, 23> kKernelTypes = {
    "autofs",     "binfmt_misc", "bpf",      "cgroup",   "cgroup2", "configfs",
    "debugfs",    "devpts",      "devtmpfs", "efivarfs", "fusectl", "hugetlbfs",
    "mqueue",     "nsfs",        "proc",     "pstore",   "resctrl", "rpc_pipefs",
    "securityfs", "selinuxfs",   "smackfs",  "sysfs",    "tracefs"};

class Look {
 public:
  Look(const std::vector<MountPoint>& mounts, std::uint64_t most_copied)
      : mounts_(mounts), left_(most_copied) {}

  // Lists what is in `directory` and, before it, says whether that could be done.
  bool list(const Fd& directory, const std::string& path, const std::string& prefix,
            std::vector<TreeEntry>& entries) {
    std::vector<std::string> names;
    sys::DirectoryReader reader(directory, path);
    for (;;) {
      const auto entry = reader.next();
      if (!entry || names.size() > kMostEntries) return false;
      if (entry->name == nullptr) break;
      names.emplace_back(entry->name);
    }
    taken_ += names.size();
    if (taken_ > kMostInAll) return false;
    std::sort(names.begin(), names.end());
    for (const std::string& name : names)
      add(directory, name, entry_path(path, name), prefix + name, entries);
    return true;
  }

 private:
  void add(const Fd& directory, const std::string& name, const std::string& path,
           std::string relative, std::vector<TreeEntry>& entries) {
    struct stat status = {};
    if (::fstatat(directory.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return;
    TreeEntry entry{.path = std::move(relative),
                    .mode = status.st_mode & 0777u,
                    .inode = Inode{.device = status.st_dev, .number = status.st_ino}};
    if (S_ISDIR(status.st_mode)) {
      add_directory(directory, name, path, std::move(entry), entries);
    } else if (S_ISREG(status.st_mode)) {
      if (is_mount_point(path)) {
        entry.kind = TreeEntry::Kind::FilePoint;
      } else {
        add_content(directory, name, status, entry);
      }
      entries.push_back(std::move(entry));
    } else if (S_ISLNK(status.st_mode)) {
      auto target = sys::readlinkat(directory.get(), name.c_str());
      if (!target) return;
      entry.kind = TreeEntry::Kind::Symlink;
      entry.data = *std::move(target);
      entries.push_back(std::move(entry));
    } else if (is_mount_point(path)) {
      entry.kind = TreeEntry::Kind::FilePoint;
      entries.push_back(std::move(entry));
    }
    // Sockets, FIFOs and devices lead out of a sandbox or nowhere: an overlay would not have made
    // them work, either.
  }

  void add_directory(const Fd& directory, const std::string& name, const std::string& path,
                     TreeEntry entry, std::vector<TreeEntry>& entries) {
    if (is_mount_point(path)) {
      entry.kind = TreeEntry::Kind::DirPoint;
    } else if (has_mounts_below(mounts_, path)) {
      const std::string prefix = entry.path + "/";
      const std::size_t at = entries.size();
      entry.kind = TreeEntry::Kind::Opened;
      entries.push_back(std::move(entry));
      const auto opened =
          sys::openat(directory.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
      if (opened && list(*opened, path, prefix, entries)) return;
      entries.resize(at + 1);
      entries[at].kind = TreeEntry::Kind::Crowded;
      entries[at].channels = channels_in(path);
      return;
    } else if (!may_enter(directory.get(), name.c_str())) {
      // No overlay can be made of it: what takes its place is as closed.
      entry.kind = TreeEntry::Kind::Opened;
      entry.mode = 0;
    }
    entries.push_back(std::move(entry));
  }

  void add_content(const Fd& directory, const std::string& name, const struct stat& status,
                   TreeEntry& entry) {
    entry.kind = TreeEntry::Kind::Unread;
    const auto size = static_cast<std::uint64_t>(status.st_size);
    if (size > kMostOfOneFile || size > left_) return;
    // What has become a FIFO meanwhile must not hold us up, nor may a link lead us elsewhere.
    const auto file =
        sys::openat(directory.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (!file) return;
    std::string content(size, '\0');
    std::size_t had = 0;
    while (had < content.size()) {
      const auto got = sys::read(*file, {content.data() + had, content.size() - had}, name);
      if (!got) return;
      if (*got == 0) break;
      had += *got;
    }
    content.resize(had);
    left_ -= had;
    entry.kind = TreeEntry::Kind::File;
    entry.data = std::move(content);
    const std::int64_t seconds = status.st_mtim.tv_sec;
    if (seconds > 0) entry.modified_ns = seconds * 1'000'000'000 + status.st_mtim.tv_nsec;
  }

  [[nodiscard]] bool is_mount_point(const std::string& path) const {
    return std::any_of(mounts_.begin(), mounts_.end(),
                       [&](const MountPoint& mount) { return mount.path == path; });
  }

  const std::vector<MountPoint>& mounts_;
  std::uint64_t left_;
  std::size_t taken_ = 0;
};

std::optional<Inode> inode_of_open(const Fd& file) {
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0) return std::nullopt;
  return Inode{.device = status.st_dev, .number = status.st_ino};
}

// Where no link may be on the way: what the mount table says has none.
std::optional<Inode> inode_at(const std::string& path) {
  const Result<Fd> file = sys::open_without_links(path.c_str());
  return file ? inode_of_open(*file) : std::nullopt;
}

void look_into(TreePart& part, Look& look) {
  part.detachable = static_cast<bool>(sys::open_tree(part.path, sys::kOpenTreeClone));
  if (part.detachable) return;
  const auto directory = sys::openat(AT_FDCWD, part.path.c_str(), O_RDONLY | O_DIRECTORY);
  const bool is_it = directory && part.inode == inode_of_open(*directory);
  part.crowded = !is_it || !look.list(*directory, part.path, "", part.entries);
  if (!part.crowded) return;
  part.entries.clear();
  part.channels = channels_in(part.path);
}

}  // namespace

Result<TreeFact> look_at_tree(const std::string& path, TreeDetail detail,
                              const std::vector<MountPoint>& mounts, std::uint64_t most_copied) {
  TreeFact tree{.path = path};
  tree.parts.push_back({.path = path, .mounts_below = true, .inode = inode_at(path)});
  for (const MountPoint* mount : visible_mounts_below(mounts, path)) {
    const auto info = TRY(sys::lookup(AT_FDCWD, mount->path.c_str()));
    if (!info) continue;  // its mount point was removed: no path leads to it
    if (tree.parts.size() == kMostParts) {
      return usage_error("show " + shown(path) + " inside: more than " +
                             std::to_string(kMostParts) + " file systems are mounted below it",
                         "name the directories that the task needs");
    }
    TreePart part{.path = mount->path, .fstype = mount->fstype, .inode = inode_at(mount->path)};
    if (info->type != sys::FileType::Directory) {
      const bool is_file = info->type == sys::FileType::Regular;
      part.kind = is_file ? TreePart::Kind::File : TreePart::Kind::Other;
    } else if (!is_kernel_fs(part.fstype)) {
      part.mounts_below = has_mounts_below(mounts, part.path);
      part.channels = channels_in(part.path);
      part.closed = !may_enter(AT_FDCWD, part.path.c_str());
    }
    tree.parts.push_back(std::move(part));
  }
  if (detail == TreeDetail::Parts) return tree;
  Look look(mounts, most_copied);
  for (TreePart& part : tree.parts) {
    if (part.kind == TreePart::Kind::Directory && part.mounts_below) look_into(part, look);
  }
  return tree;
}

bool is_kernel_fs(const std::string& fstype) {
  return std::find(kKernelTypes.begin(), kKernelTypes.end(), fstype) != kKernelTypes.end();
}

}  // namespace mayfly::host
