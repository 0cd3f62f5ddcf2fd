#include "isolate/fds.hpp"
#include "sys/raw_calls.hpp"

namespace mayfly::isolate::fds {

namespace raw = sys::raw;

namespace {

constexpr int kSocket = 3;
constexpr int kSupervisor = 4;
constexpr int kFirstFree = 5;

// Moves a descriptor out of the way of the fixed numbers.
long lift(int* fd) noexcept {
  if (*fd >= kFirstFree) return 0;
  const long moved = raw::fcntl(*fd, F_DUPFD_CLOEXEC, kFirstFree);
  if (moved >= 0) *fd = static_cast<int>(moved);
  return moved;
}

}  // namespace

Fault enter(int socket, int supervisor, int* keep) noexcept {
  if (Fault fault = fault_of(lift(keep))) return fault;
  if (Fault fault = fault_of(lift(&socket))) return fault;
  if (Fault fault = fault_of(lift(&supervisor))) return fault;
  if (Fault fault = fault_of(raw::dup3(socket, kSocket, 0))) return fault;
  if (Fault fault = fault_of(raw::dup3(supervisor, kSupervisor, 0))) return fault;
  if (Fault fault = fault_of(raw::close_range(0, 2, 0))) return fault;
  return fault_of(raw::close_range(kFirstFree, ~0U, sys::kCloseRangeCloexec));
}

}  // namespace mayfly::isolate::fds
