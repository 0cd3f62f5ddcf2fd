#include "host/etc_scan.hpp"

#include <dirent.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "sys/files.hpp"

namespace mayfly::host {
namespace {

constexpr std::size_t kMostEntries = 100'000;  // in all of /etc; a usual one has 500 to 2,000
constexpr int kMostDepth = 32;

// Entries that distributions keep from ordinary users.
constexpr std::array kKnown = {"shadow",      "shadow-",         "gshadow",   "gshadow-",
                               "sudoers",     "sudoers.d",       "wireguard", "krb5.keytab",
                               "ssl/private", "security/opasswd"};

bool is_private(const sys::FileInfo& info) {
  if (info.type == sys::FileType::Symlink) return false;
  const unsigned wanted = info.type == sys::FileType::Directory ? 05 : 04;
  return (info.mode & wanted) != wanted;
}

Result<std::vector<std::string>> known_entries(const std::string& etc) {
  std::vector<std::string> found;
  for (const char* name : kKnown) {
    const auto info = TRY(sys::lookup(AT_FDCWD, (etc + "/" + name).c_str()));
    if (info && is_private(*info)) found.emplace_back(name);
  }
  return found;
}

class Walk {
 public:
  Result<void> directory(const Fd& at, const std::string& prefix, int depth) {
    if (depth > kMostDepth) return too_much("directories more than 32 deep");
    const std::string path = "/etc/" + prefix;
    sys::DirectoryReader entries(at, path);
    for (;;) {
      const auto entry = TRY(entries.next());
      if (entry.name == nullptr) return {};
      if (++seen_ > kMostEntries) return too_much("more than 100,000 entries");
      if (entry.type == DT_LNK) continue;
      const auto info = TRY(sys::lookup(at.get(), entry.name));
      if (!info) continue;  // it went away meanwhile
      if (is_private(*info)) {
        found.push_back(prefix + entry.name);
      } else if (info->type == sys::FileType::Directory) {
        TRY(child(at, prefix, entry.name, depth));
      }
    }
  }

  std::vector<std::string> found;

 private:
  Result<void> child(const Fd& at, const std::string& prefix, const char* name, int depth) {
    const auto opened = sys::openat(at.get(), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (opened) return directory(*opened, prefix + name + "/", depth + 1);
    if (opened.error().sys_errno == ENOENT) return {};
    // Something else than the mode keeps us out, so it is not for everybody: hide it whole.
    found.push_back(prefix + name);
    return {};
  }

  static Error too_much(std::string what) {
    return Error{.kind = ErrorKind::Setup,
                 .sys_errno = 0,
                 .action = "look for private files in /etc: " + std::move(what),
                 .call = {},
                 .hint = "run as a caller without supplementary groups, or clean up /etc"};
  }

  std::size_t seen_ = 0;
};

}  // namespace

EtcScan needed_scan(const HostFacts& facts) {
  // The task gets an id that owns nothing, and no group.
  if (facts.owns_all_ids) return EtcScan::None;
  // Root of a container owns most of /etc; a system account may own some of it.
  constexpr unsigned kFirstPerson = 1000;
  const bool plain = facts.uid >= kFirstPerson && facts.gid >= kFirstPerson && facts.groups.empty();
  return plain ? EtcScan::Known : EtcScan::Whole;
}

Result<std::vector<std::string>> private_entries(const std::string& etc, EtcScan scan) {
  std::vector<std::string> found;
  if (scan == EtcScan::Known) {
    found = TRY(known_entries(etc));
  } else if (scan == EtcScan::Whole) {
    const auto root = sys::openat(AT_FDCWD, etc.c_str(), O_RDONLY | O_DIRECTORY);
    if (!root && root.error().sys_errno == ENOENT) return found;
    if (!root) return root.error();
    Walk walk;
    TRY(walk.directory(*root, "", 0));
    found = std::move(walk.found);
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace mayfly::host
