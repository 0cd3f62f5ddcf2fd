#include "isolate/loan.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <string>

#include "sys/mounts.hpp"

namespace mayfly::isolate {
namespace {

constexpr mode_t kModeBits = 07777;

int change_mode(int directory, mode_t mode) {
  const int done = ::fchmod(directory, mode);
  if (done == 0 || errno != EBADF) return done;
  return ::chmod(("/proc/self/fd/" + std::to_string(directory)).c_str(), mode);
}

}  // namespace

Result<Loan> Loan::take(const Fd& directory, mode_t rights) {
  struct stat info = {};
  if (::fstat(directory.get(), &info) != 0) {
    return sys::errno_error("look at a closed directory of the layer", "fstat");
  }
  Loan loan;
  if ((info.st_mode & rights) == rights) return loan;
  loan.before_ = info.st_mode & kModeBits;
  loan.lent_ = loan.before_ | rights;
  if (change_mode(directory.get(), loan.lent_) != 0) {
    return sys::errno_error("open a closed directory of the layer", "chmod");
  }
  loan.directory_ = directory.get();
  return loan;
}

void Loan::end() {
  const int directory = std::exchange(directory_, -1);
  struct stat info = {};
  if (directory < 0 || ::fstat(directory, &info) != 0) return;
  if ((info.st_mode & kModeBits) == lent_) static_cast<void>(change_mode(directory, before_));
}

}  // namespace mayfly::isolate
