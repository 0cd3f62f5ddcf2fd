#include "supervise/lent.hpp"

#include <fcntl.h>
#include <sys/stat.h>

namespace mayfly::supervise {

Lent::Lent(int fd, int flags, mode_t mode)
    : fd_(fd), flags_(flags), pipe_size_(::fcntl(fd, F_GETPIPE_SZ)), mode_(mode) {}

void Lent::put_back() const {
  if (::fcntl(fd_, F_GETFL) != flags_) ::fcntl(fd_, F_SETFL, flags_);
  if (pipe_size_ > 0 && ::fcntl(fd_, F_GETPIPE_SZ) != pipe_size_) {
    ::fcntl(fd_, F_SETPIPE_SZ, pipe_size_);
  }
  struct stat info {};
  // What another run has added for its own task stays.
  if (::fstat(fd_, &info) == 0 && (info.st_mode & mode_) != mode_) {
    static_cast<void>(::fchmod(fd_, (info.st_mode & 07777) | mode_));
  }
}

}  // namespace mayfly::supervise
