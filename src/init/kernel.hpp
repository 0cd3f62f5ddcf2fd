// What init needs of the kernel, without a libc: its calls on top of sys::raw, and the one start of
// a process that C++ cannot express. Headers of the libc are used for types and constants only;
// init links with -nostdlib, which proves it.
#pragma once

#include <asm/unistd.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>

#include <cstddef>
#include <cstdint>

#include "sys/raw.hpp"

namespace mayfly::init {

using sys::raw::arg;
using sys::raw::call;
using sys::raw::exit_group;

// The kernel's sigset_t: one bit for each of 64 signals.
inline constexpr std::size_t kSignalSetSize = 8;
inline constexpr int kMostSignals = 64;

inline long close(int descriptor) noexcept {
  return call(__NR_close, descriptor);
}

inline long poll(pollfd* watched, std::size_t count, const timespec* timeout) noexcept {
  return call(__NR_ppoll, arg(watched), static_cast<long>(count), arg(timeout), 0, kSignalSetSize);
}

inline long set_blocked_signals(std::uint64_t set) noexcept {
  return call(__NR_rt_sigprocmask, SIG_SETMASK, arg(&set), 0, kSignalSetSize);
}

// clone(2) with a stack of its own: the child calls run(argument) on it, which must not return.
// Flags must not include those that use the tls or child_tid arguments.
extern "C" long mayfly_clone(unsigned long flags, void* stack_top, int* pidfd, void (*run)(void*),
                             void* argument) noexcept;

}  // namespace mayfly::init
