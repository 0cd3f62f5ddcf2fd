#include "supervise/descriptor.hpp"

#include <fcntl.h>

#include <cerrno>

#include "sys/mounts.hpp"

namespace mayfly::supervise {

Result<void> take_descriptor(int fd, Direction direction, const std::string& what,
                             const char* hint) {
  if (fd <= 2) return usage_error(what + ": 0-2 are the task's own", hint);
  // What is closed by execve was not inherited: it is one of our own, opened since.
  const int own = ::fcntl(fd, F_GETFD);
  const int flags =
      own >= 0 && (own & FD_CLOEXEC) != 0 ? (errno = EBADF, -1) : ::fcntl(fd, F_GETFL);
  if (flags < 0) {
    Error error = sys::errno_error(what, "fcntl(" + std::to_string(fd) + ", F_GETFL)");
    error.kind = ErrorKind::Usage;
    error.hint = hint;
    return error;
  }
  const bool reading = direction == Direction::Read;
  if ((flags & O_PATH) != 0 || (flags & O_ACCMODE) == (reading ? O_WRONLY : O_RDONLY)) {
    return usage_error(what + ": it is not open for " + (reading ? "reading" : "writing"), hint);
  }
  if (::fcntl(fd, F_SETFD, FD_CLOEXEC) == 0) return {};
  return sys::errno_error(what, "fcntl(" + std::to_string(fd) + ", F_SETFD)");
}

}  // namespace mayfly::supervise
