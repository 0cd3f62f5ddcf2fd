#include "supervise/lent.hpp"

#include <fcntl.h>
#include <sys/stat.h>

namespace mayfly::supervise {
namespace {

mode_t mode_of(int fd) {
  struct stat info {};
  return ::fstat(fd, &info) == 0 ? info.st_mode & 07777 : 0;
}

}  // namespace

Lent::Lent(int fd)
    : fd_(fd),
      flags_(::fcntl(fd, F_GETFL)),
      pipe_size_(::fcntl(fd, F_GETPIPE_SZ)),
      mode_(mode_of(fd)) {}

void Lent::put_back() const {
  if (flags_ >= 0 && ::fcntl(fd_, F_GETFL) != flags_) ::fcntl(fd_, F_SETFL, flags_);
  if (pipe_size_ > 0 && ::fcntl(fd_, F_GETPIPE_SZ) != pipe_size_) {
    ::fcntl(fd_, F_SETPIPE_SZ, pipe_size_);
  }
  if (mode_of(fd_) != mode_) static_cast<void>(::fchmod(fd_, mode_));
}

}  // namespace mayfly::supervise
