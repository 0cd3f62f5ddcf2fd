// Terminal: a pty of the sandbox's own devpts, for a task that is to have one.
//
// Threat: a task that holds its caller's terminal reads what is typed later, changes its modes, and
// types for the user (TIOCSTI). So it gets a pty that only its own devpts knows, and the supervisor
// carries the bytes. Kernel: devpts instances (2.6.29), TIOCGPTPEER (4.13). Order: in the new root,
// before the rights are dropped (the slave is given to the task's ids), while we lead no session.
// Does not stop: escape sequences that the user's own terminal acts on.
//
// The session is init's, not the task's: the task is its foreground job, as a shell's would be. In
// a session of its own its process group would be an orphaned one, which the kernel never stops: no
// Ctrl-Z. init ignores every signal that the terminal could send to it.
#pragma once

#include <cstdint>

#include "isolate/fault.hpp"

namespace mayfly::isolate::terminal {

struct Prepared {
  bool wanted = false;
  std::uint32_t uid = 0, gid = 0;  // of the task, inside
};

struct Ends {
  int master = -1, slave = -1;  // close-on-exec
};

// Makes the pty and a session that it controls.
[[nodiscard]] Fault enter(const Prepared& prepared, Ends* ends) noexcept;

}  // namespace mayfly::isolate::terminal
