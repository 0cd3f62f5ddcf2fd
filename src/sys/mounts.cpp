#include "sys/mounts.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/text.hpp"
#include "sys/entries.hpp"
#include "sys/kernel.hpp"

namespace mayfly::sys {

Error errno_error(std::string action, std::string call) {
  const int number = errno;
  return Error{.kind = ErrorKind::Setup,
               .sys_errno = number,
               .action = std::move(action),
               .call = std::move(call),
               .hint = common_remedy(number)};
}

const char* common_remedy(int number) {
  switch (number) {
    case EMFILE:
      return "raise the limit of open files, as with ulimit -n 256";
    case ENFILE:
      return "too many files are open on this host: raise fs.file-max, or end programs";
    default:
      return "";
  }
}

const char* write_remedy(int number) {
  switch (number) {
    case ENOSPC:
      return "there is no space left: free some there, or let it go to another file system";
    case EDQUOT:
      return "the quota of disk space is used up: free some, or let it go to another file system";
    case EFBIG:
      return "raise the limit of file sizes, as with ulimit -f unlimited";
    case EROFS:
      return "the file system is read-only: let it go to another one";
    default:
      return common_remedy(number);
  }
}

Result<Fd> open(const std::string& path, int flags, unsigned mode) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  if (fd < 0) return errno_error("open " + shown(path), "open(" + shown(path) + ")");
  return Fd(fd);
}

Result<void> mkdir(const std::string& path, unsigned mode) {
  if (::mkdir(path.c_str(), mode) == 0) return {};
  return errno_error("make the directory " + shown(path), "mkdir(" + shown(path) + ")");
}

Result<void> rmdir(const std::string& path) {
  if (::rmdir(path.c_str()) == 0) return {};
  return errno_error("remove the directory " + shown(path), "rmdir(" + shown(path) + ")");
}

namespace {

Result<void> write_to(const Fd& fd, std::string_view text, const std::string& path) {
  const ssize_t written = ::write(fd.get(), text.data(), text.size());
  if (written == static_cast<ssize_t>(text.size())) return {};
  if (written >= 0) errno = EIO;  // these files take a value whole or not at all
  return errno_error("write " + shown(path), "write(" + shown(path) + ")");
}

}  // namespace

Result<void> write_file(const std::string& path, std::string_view text) {
  const Fd fd = TRY(open(path, O_WRONLY));
  return write_to(fd, text, path);
}

Result<void> write_file_at(int directory, const char* name, std::string_view text,
                           const std::string& directory_path) {
  const std::string path = directory_path + "/" + name;
  const Fd fd(::openat(directory, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) return errno_error("open " + shown(path), "openat(" + shown(path) + ")");
  return write_to(fd, text, path);
}

Result<bool> try_lock_byte(int fd, std::uint64_t byte, const std::string& path) {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(byte);
  lock.l_len = 1;
  if (::fcntl(fd, F_OFD_SETLK, &lock) == 0) return true;
  if (errno == EAGAIN || errno == EACCES) return false;
  return errno_error("lock an id range in " + shown(path),
                     "fcntl(" + shown(path) + ", F_OFD_SETLK)");
}

Result<Fd> open_tree(const std::string& path, unsigned flags) {
  const long fd = ::syscall(__NR_open_tree, AT_FDCWD, path.c_str(), flags | kOpenTreeCloexec);
  if (fd < 0)
    return errno_error("copy the mount of " + shown(path), "open_tree(" + shown(path) + ")");
  return Fd(static_cast<int>(fd));
}

Result<void> id_map_mount(int tree, int user_ns, const std::string& path) {
  const MountAttr attributes{.attr_set = kMountAttrIdmap,
                             .attr_clr = 0,
                             .propagation = 0,
                             .userns_fd = static_cast<unsigned long long>(user_ns)};
  const long answer = ::syscall(__NR_mount_setattr, tree, "", kAtEmptyPath | kAtRecursive,
                                &attributes, sizeof attributes);
  if (answer == 0) return {};
  return errno_error("map the ids of " + shown(path), "mount_setattr(" + shown(path) + ", IDMAP)");
}

Result<Fd> sealed_memfd(const char* name, std::string_view content, Executable executable) {
  const std::string call = std::string("memfd_create(\"") + name + "\")";
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  int fd = -1;
  if (executable == Executable::Yes) {
    // Without MFD_EXEC a host with vm.memfd_noexec=1 makes it non-executable; before 6.3 the flag
    // is unknown and every memfd is executable.
    fd = ::memfd_create(name, kFlags | kMfdExec);
    if (fd < 0 && errno == EINVAL) fd = ::memfd_create(name, kFlags);
  } else {
    fd = ::memfd_create(name, kFlags);
  }
  if (fd < 0) return errno_error("make a memory file", call);
  Fd memfd(fd);
  if (!write_whole(memfd.get(), content)) {
    Error error = errno_error("fill a memory file", "write(" + call + ")");
    if (error.sys_errno == EFBIG) error.hint = write_remedy(EFBIG);
    return error;
  }
  if (::fcntl(memfd.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) !=
      0) {
    return errno_error("seal a memory file", "fcntl(" + call + ", F_ADD_SEALS)");
  }
  return memfd;
}

}  // namespace mayfly::sys
