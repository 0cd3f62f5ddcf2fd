#include "host/channels.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "base/text.hpp"
#include "host/sources.hpp"
#include "sys/files.hpp"

namespace mayfly::host {
namespace {

constexpr int kDepth = 2;
constexpr std::size_t kDirectoryCost = 8;  // in entries

bool is_own(int fd) {
  struct stat info {};
  return ::fstat(fd, &info) == 0 && info.st_uid == ::geteuid();
}

// What the caller cannot list it may still enter, or have the right to chmod first: a directory of
// its own, or one in such. How, or null. `parent` is open for reading.
const char* way_in(int parent, const char* name) {
  if (sys::may_access(parent, name, X_OK)) return "the caller cannot list it, but can get in";
  if (may_enter(parent, name))
    return "the caller cannot list it, but owns it and can change its mode";
  const bool is_seen = sys::may_access(parent, name, F_OK);
  if (is_seen || parent == AT_FDCWD || !is_own(parent)) return nullptr;
  return "the caller cannot reach it, but owns the directory that it is in and can change its mode";
}

class Search {
 public:
  // opened: `top`, as it is looked for.
  Search(std::string top, std::string opened, std::size_t most)
      : top_(std::move(top)), opened_(std::move(opened)), left_(most) {}

  Channels run() {
    enter(AT_FDCWD, opened_.c_str(), top_, kDepth, 0);
    if (!found_.unseen.empty()) {
      if (found_.socket.empty()) found_.socket = found_.unseen;
      if (found_.fifo.empty()) found_.fifo = found_.unseen;
    }
    return std::move(found_);
  }

 private:
  bool is_over() const { return !found_.socket.empty() && !found_.fifo.empty(); }

  bool spend(std::size_t cost) {
    if (left_ < cost) {
      not_seen(top_, "it is too large to be looked through");
      left_ = 0;
      return false;
    }
    left_ -= cost;
    return true;
  }

  void not_seen(const std::string& path, std::string why) {
    if (!found_.unseen.empty()) return;
    found_.unseen = path;
    found_.why_unseen = std::move(why);
  }

  void enter(int parent, const char* name, const std::string& path, int depth, int flags) {
    const Fd directory(
        ::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC | flags));
    if (directory) return look(directory, path, depth);
    switch (errno) {
      case ENOENT:  // it is gone, or is no directory any more
      case ENOTDIR:
      case ELOOP:
        return;
      case EACCES:
      case EPERM:
        if (const char* way = way_in(parent, name)) not_seen(path, way);
        return;
      default:
        not_seen(path, "it cannot be opened: " + errno_name(errno));
    }
  }

  void look(const Fd& directory, const std::string& path, int depth) {
    std::vector<std::string> below;
    sys::DirectoryReader reader(directory, path);
    while (!is_over()) {
      const Result<sys::DirectoryReader::Entry> entry = reader.next();
      if (!entry)
        return not_seen(path, "it cannot be read: " + errno_name(entry.error().sys_errno));
      if (entry->name == nullptr) break;
      if (!spend(1)) return;
      const unsigned char type = type_of(directory, *entry);
      std::string* const channel = type == DT_SOCK   ? &found_.socket
                                   : type == DT_FIFO ? &found_.fifo
                                                     : nullptr;
      if (channel != nullptr && channel->empty()) *channel = entry_path(path, entry->name);
      if (type == DT_DIR && depth > 1) below.emplace_back(entry->name);
    }
    for (const std::string& name : below) {
      if (is_over() || !spend(kDirectoryCost)) return;
      enter(directory.get(), name.c_str(), entry_path(path, name), depth - 1, O_NOFOLLOW);
    }
  }

  // Some file systems do not say it in the directory.
  static unsigned char type_of(const Fd& directory, const sys::DirectoryReader::Entry& entry) {
    struct stat info {};
    if (entry.type != DT_UNKNOWN) return entry.type;
    const int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT;
    if (::fstatat(directory.get(), entry.name, &info, flags) != 0) return DT_UNKNOWN;
    return static_cast<unsigned char>(IFTODT(info.st_mode));
  }

  const std::string top_, opened_;
  std::size_t left_;
  Channels found_;
};

}  // namespace

Channels channels_in(const std::string& directory, const std::string& working_dir,
                     std::size_t most) {
  return Search(directory, seen_from(working_dir, directory), most).run();
}

}  // namespace mayfly::host
