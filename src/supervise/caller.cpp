#include "supervise/caller.hpp"

#include <sys/types.h>
#include <unistd.h>

#include <cerrno>

#include "sys/process.hpp"

namespace mayfly::supervise {

Result<Caller> watch_caller() {
  const pid_t parent = ::getppid();
  if (parent == 0) return Caller{};
  Result<Fd> pidfd = sys::pidfd_open(parent);
  // Only a parent that is still ours is the process that we opened: its number cannot have been
  // given to another while it was not reaped.
  if (::getppid() != parent) return Caller{.pidfd = {}, .gone = true};
  if (!pidfd) return std::move(pidfd).error();
  return Caller{.pidfd = std::move(*pidfd), .gone = false};
}

}  // namespace mayfly::supervise
