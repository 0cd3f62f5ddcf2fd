#include "sys/entries.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/text.hpp"
#include "sys/kernel.hpp"
#include "sys/mounts.hpp"

namespace mayfly::sys {
namespace {

std::string call_on(std::string_view name, std::string_view what, std::string_view rest = {}) {
  std::string text = std::string(name) + "(" + shown(what);
  if (!rest.empty()) (text += ", ") += rest;
  return text + ")";
}

std::int64_t to_ns(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

Result<Identity> fstat(const Fd& fd, std::string_view what) {
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) {
    return errno_error("look at " + shown(what), call_on("fstat", what));
  }
  return Identity{.device = info.st_dev,
                  .inode = info.st_ino,
                  .mode = info.st_mode,
                  .owner = info.st_uid,
                  .size = info.st_size,
                  .changed_ns = to_ns(info.st_ctim),
                  .modified_ns = to_ns(info.st_mtim)};
}

bool is_at(const Fd& directory, const char* name, const Identity& identity) {
  struct stat info {};
  return ::fstatat(directory.get(), name, &info, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) == 0 &&
         info.st_dev == identity.device && info.st_ino == identity.inode;
}

Result<bool> mkdirat(const Fd& directory, const char* name, mode_t mode) {
  if (::mkdirat(directory.get(), name, mode) == 0) return true;
  if (errno == EEXIST) return false;
  return errno_error("make the directory " + shown(name), call_on("mkdirat", name));
}

Result<Fd> open_directory_at(int directory, const char* name) {
  const int fd = ::openat(directory, name,
                          O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (fd >= 0) return Fd(fd);
  return errno_error("open the directory " + shown(name),
                     call_on("openat", name, "O_DIRECTORY|O_NOFOLLOW"));
}

Result<Fd> open_directory_beneath(const Fd& directory, const char* path, int access) {
  const OpenHow how{.flags = static_cast<unsigned>(access) | O_DIRECTORY | O_CLOEXEC,
                    .mode = 0,
                    .resolve = kResolveBeneath | kResolveNoSymlinks | kResolveNoXdev};
  const long fd = ::syscall(SYS_openat2, directory.get(), path, &how, sizeof how);
  if (fd >= 0) return Fd(static_cast<int>(fd));
  return errno_error("open the directory " + shown(path), call_on("openat2", path, "BENEATH"));
}

Result<Fd> open_without_links(const char* path) {
  const OpenHow how{.flags = O_PATH | O_CLOEXEC, .mode = 0, .resolve = kResolveNoSymlinks};
  const long fd = ::syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
  if (fd >= 0) return Fd(static_cast<int>(fd));
  return errno_error("open " + shown(path), call_on("openat2", path, "NO_SYMLINKS"));
}

bool write_whole(int file, std::string_view content) {
  while (!content.empty()) {
    const ssize_t put = ::write(file, content.data(), content.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    content.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

Result<void> create_file_at(const Fd& directory, const char* name, std::string_view content) {
  const Fd file(
      ::openat(directory.get(), name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) {
    return errno_error("make the file " + shown(name), call_on("openat", name, "O_CREAT|O_EXCL"));
  }
  if (write_whole(file.get(), content)) return {};
  return errno_error("write the file " + shown(name), call_on("write", name));
}

Result<std::size_t> read(const Fd& file, std::span<char> into, std::string_view what) {
  const ssize_t got = ::read(file.get(), into.data(), into.size());
  if (got >= 0) return static_cast<std::size_t>(got);
  return errno_error("read " + shown(what), call_on("read", what));
}

Result<void> rename_at(const Fd& directory, const char* from, const char* to) {
  if (::renameat(directory.get(), from, directory.get(), to) == 0) return {};
  return errno_error("rename " + shown(from) + " to " + shown(to),
                     call_on("renameat", from, shown(to)));
}

Result<bool> try_lock(const Fd& fd, std::string_view what) {
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return true;
  if (errno == EWOULDBLOCK) return false;
  return errno_error("lock " + shown(what), call_on("flock", what, "LOCK_EX|LOCK_NB"));
}

Result<bool> unlinkat(const Fd& directory, const char* name, Entry kind) {
  const int flags = kind == Entry::Directory ? AT_REMOVEDIR : 0;
  if (::unlinkat(directory.get(), name, flags) == 0) return true;
  if (errno == ENOENT) return false;
  return errno_error("remove " + shown(name),
                     call_on("unlinkat", name, flags != 0 ? "AT_REMOVEDIR" : ""));
}

Result<void> touch_at(const Fd& directory, const char* name) {
  const Fd file(::openat(directory.get(), name,
                         O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY,
                         0600));
  if (file && ::futimens(file.get(), nullptr) == 0) return {};
  return errno_error("touch " + shown(name), call_on(file ? "futimens" : "openat", name));
}

Result<void> close(Fd fd, std::string_view what) {
  if (::close(fd.release()) == 0) return {};
  return errno_error("close " + shown(what), call_on("close", what));
}

}  // namespace mayfly::sys
