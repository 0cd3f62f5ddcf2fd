// Thin wrappers for waiting, clocks and messages. Each error names the call and its arguments.
#pragma once

#include <poll.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace mayfly::sys {

// Nanoseconds of CLOCK_BOOTTIME, which goes on while the machine sleeps.
[[nodiscard]] std::int64_t boottime_ns();
// The clock of files' times.
[[nodiscard]] std::int64_t realtime_ns();

// Waits until one of `fds` is ready or `timeout_ns` passed (nullopt: for ever). Its clock stands
// still while the machine sleeps. An interrupted wait is an early return with nothing ready.
[[nodiscard]] Result<void> ppoll(std::span<pollfd> fds, std::optional<std::int64_t> timeout_ns);

// A timer on CLOCK_BOOTTIME, non-blocking and close-on-exec.
[[nodiscard]] Result<Fd> timerfd_create();
// Fires once at an absolute time, which clears what fired before. 0 disarms.
[[nodiscard]] Result<void> timerfd_settime(const Fd& timer, std::int64_t at_ns);

// What one recvmsg gave. `bytes` 0: the other side is gone.
struct Received {
  std::size_t bytes = 0;
  bool truncated = false;  // the record did not fit
  std::array<Fd, 4> fds;   // those that came along, close-on-exec; fewer where we may open no more
};

// One record of a SEQPACKET socket; nullopt if none waits. Never blocks.
[[nodiscard]] Result<std::optional<Received>> recvmsg(const Fd& socket, std::span<std::byte> into);

// Sends one record; false if the queue is full or the other side is gone. Never blocks, no SIGPIPE.
[[nodiscard]] Result<bool> send_record(const Fd& socket, std::span<const std::byte> record);

struct Pipe {
  Fd read_end, write_end;
};
// Both ends close-on-exec and blocking.
[[nodiscard]] Result<Pipe> pipe();

// For descriptors that are ours alone: the flag lives in the open file description.
[[nodiscard]] Result<void> set_nonblocking(const Fd& fd);

}  // namespace mayfly::sys
