#include <sys/ioctl.h>

#include "isolate/terminal.hpp"
#include "sys/raw_calls.hpp"

namespace mayfly::isolate::terminal {

namespace raw = sys::raw;

namespace {

constexpr int kFlags = O_RDWR | O_NOCTTY | O_CLOEXEC;

}  // namespace

Fault enter(const Prepared& prepared, Ends* ends) noexcept {
  const long master = raw::openat(AT_FDCWD, "/dev/pts/ptmx", kFlags);
  if (master < 0) return fault_of(master);
  ends->master = static_cast<int>(master);
  const int unlocked = 0;
  if (Fault fault = fault_of(raw::ioctl(ends->master, TIOCSPTLCK, raw::arg(&unlocked)))) {
    return fault;
  }
  // By the master, and by no name that could be another's.
  const long slave = raw::ioctl(ends->master, TIOCGPTPEER, kFlags);
  if (slave < 0) return fault_of(slave);
  ends->slave = static_cast<int>(slave);
  if (Fault fault =
          fault_of(raw::fchownat(ends->slave, "", prepared.uid, prepared.gid, AT_EMPTY_PATH))) {
    return fault;
  }
  if (Fault fault = fault_of(raw::setsid())) return fault;
  return fault_of(raw::ioctl(ends->slave, TIOCSCTTY, 0));
}

}  // namespace mayfly::isolate::terminal
