#include "supervise/lent.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace mayfly::supervise {

Lent::Lent(int fd, int flags, std::optional<mode_t> mode)
    : fd_(fd), flags_(flags), pipe_size_(::fcntl(fd, F_GETPIPE_SZ)), mode_(mode) {}

void Lent::put_back() const {
  if (::fcntl(fd_, F_GETFL) != flags_) ::fcntl(fd_, F_SETFL, flags_);
  if (pipe_size_ > 0 && ::fcntl(fd_, F_GETPIPE_SZ) != pipe_size_) {
    ::fcntl(fd_, F_SETPIPE_SZ, pipe_size_);
  }
  struct stat info {};
  if (mode_ && ::fstat(fd_, &info) == 0 && (info.st_mode & 07777) != *mode_) {
    static_cast<void>(::fchmod(fd_, *mode_));
  }
}

bool LentInput::is_one(int fd) {
  struct stat info {};
  const int flags = ::fcntl(fd, F_GETFL);
  return ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && (flags & O_ACCMODE) == O_RDONLY;
}

void LentInput::put_back(std::size_t undelivered) const {
  int in_pipe = 0;
  if (::ioctl(pipe_.get(), FIONREAD, &in_pipe) != 0) return;
  const off_t unread = static_cast<off_t>(undelivered) + in_pipe;
  if (unread > 0) ::lseek(fd_, -unread, SEEK_CUR);
}

}  // namespace mayfly::supervise
