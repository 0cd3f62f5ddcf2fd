// The signals that the supervisor takes, by signalfd, and what it does with each.
#pragma once

#include <optional>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "supervise/states.hpp"

namespace mayfly::supervise {

// Blocks the signals that we act on and returns where they arrive. Nothing is undone: after the
// run, a late SIGTERM or a broken stderr must not change the exit code.
//
// A signal that we inherited as ignored stays ignored: nohup means SIGHUP, and a shell without job
// control means SIGINT and SIGQUIT for what it runs in the background. SIGCHLD is the exception: a
// parent that ignores it can reap nobody. SIGPIPE is ignored, since a reader of ours may leave.
[[nodiscard]] Result<Fd> take_signals();

// Only blocks them, for take_signals() to find: from here on none ends us before there is a result.
[[nodiscard]] Result<void> hold_signals();

// What a signal asks for.
enum class Asks {
  End,     // SIGTERM, SIGHUP, SIGQUIT, SIGINT and all that would end us: see Event
  Stop,    // SIGTSTP
  Resume,  // SIGCONT
  Relay,   // the task's business only
  Nothing,
};
[[nodiscard]] Asks meaning_of(int signal);

// Which event an ending signal is, given that `earlier` of them came before.
[[nodiscard]] Event ending_event(int signal, int earlier);

}  // namespace mayfly::supervise
