#include "supervise/signals.hpp"

#include <signal.h>

#include <algorithm>
#include <array>

#include "sys/process.hpp"

namespace mayfly::supervise {
namespace {

struct Taken {
  int signal;
  Asks asks;
};

constexpr std::array kTaken = {
    Taken{SIGTERM, Asks::End},   Taken{SIGHUP, Asks::End},    Taken{SIGQUIT, Asks::End},
    Taken{SIGINT, Asks::End},    Taken{SIGTSTP, Asks::Stop},  Taken{SIGCONT, Asks::Resume},
    Taken{SIGUSR1, Asks::Relay}, Taken{SIGUSR2, Asks::Relay}, Taken{SIGWINCH, Asks::Relay},
};

// What else would end us where it comes from outside, and the sandbox with us, without a word: each
// ends it as SIGTERM does. One that is a fault of our own is not held back by being blocked.
constexpr std::array kFatal = {SIGABRT, SIGALRM, SIGBUS,    SIGFPE, SIGILL,  SIGIO,   SIGPROF,
                               SIGPWR,  SIGSEGV, SIGSTKFLT, SIGSYS, SIGTRAP, SIGXCPU, SIGVTALRM};

bool is_fatal(int signal) {
  return std::find(kFatal.begin(), kFatal.end(), signal) != kFatal.end() || signal >= SIGRTMIN;
}

// Those that a parent sets to be ignored on purpose. (The others are ignored by default, or never.)
constexpr std::array kMayBeIgnored = {SIGHUP, SIGINT, SIGQUIT, SIGTSTP};

sigset_t those_taken() {
  sigset_t taken;
  ::sigemptyset(&taken);
  for (const Taken& row : kTaken)
    ::sigaddset(&taken, row.signal);
  for (const int signal : kFatal)
    ::sigaddset(&taken, signal);
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal)
    ::sigaddset(&taken, signal);
  for (const int signal : kMayBeIgnored) {
    // The kernel queues a blocked signal even if it is ignored, so it must not be blocked.
    if (sys::is_ignored(signal)) ::sigdelset(&taken, signal);
  }
  return taken;
}

}  // namespace

Result<void> hold_signals() {
  return sys::sigprocmask_block(those_taken());
}

Result<Fd> take_signals() {
  const sigset_t taken = those_taken();
  sigset_t blocked = taken;
  // Reading from or writing to our terminal in the background: an error (EIO), not a stop.
  ::sigaddset(&blocked, SIGTTIN);
  ::sigaddset(&blocked, SIGTTOU);
  TRY(sys::sigprocmask_block(blocked));
  TRY(sys::sigaction_set(SIGCHLD, sys::Disposition::Default));
  TRY(sys::sigaction_set(SIGPIPE, sys::Disposition::Ignore));
  TRY(sys::sigaction_set(SIGXFSZ, sys::Disposition::Ignore));  // a limit of file size: EFBIG
  return sys::signalfd(taken);
}

Asks meaning_of(int signal) {
  for (const Taken& row : kTaken) {
    if (row.signal == signal) return row.asks;
  }
  // Rare enough to be asked about when it comes.
  return is_fatal(signal) && !sys::is_ignored(signal) ? Asks::End : Asks::Nothing;
}

Event ending_event(int signal, int earlier) {
  if (earlier > 0) return Event::Again;
  return signal == SIGINT ? Event::Interrupt : Event::Cancel;
}

}  // namespace mayfly::supervise
