// Thin wrappers for processes and signals. Each error names the call and its arguments.
#pragma once

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace mayfly::sys {

// A descriptor of a process, close-on-exec; readable once the process has ended. (5.3)
[[nodiscard]] Result<Fd> pidfd_open(pid_t pid);

// A process that was reaped already is no failure: the answer is false, since nobody got the
// signal.
[[nodiscard]] Result<bool> pidfd_send_signal(const Fd& pidfd, int signal);

// How a child ended, as waitid tells it.
struct Reaped {
  int code = 0;    // CLD_EXITED, CLD_KILLED, CLD_DUMPED
  int status = 0;  // exit code or signal
  rusage usage{};  // of the child and of all that it has waited for
};

// Reaps the child behind `pidfd` (5.4); nullopt if it has not ended yet. Never blocks.
[[nodiscard]] Result<std::optional<Reaped>> waitid(const Fd& pidfd);

[[nodiscard]] Result<void> sigprocmask_block(const sigset_t& signals);
// Non-blocking, close-on-exec.
[[nodiscard]] Result<Fd> signalfd(const sigset_t& signals);
// The next signal that is pending on a signalfd; 0 if there is none.
[[nodiscard]] Result<int> read_signal(const Fd& signals);

enum class Disposition { Default, Ignore };
[[nodiscard]] Result<void> sigaction_set(int signal, Disposition disposition);
[[nodiscard]] bool is_ignored(int signal);

// Stops the calling process, or its whole process group, as Ctrl-Z does: by what SIGTSTP does by
// default, which the kernel drops where nobody could continue us (an orphaned process group).
// SIGTSTP is blocked before and after. Returns once we were continued, or at once.
enum class Stopped { Self, Group };
void stop_by_default(Stopped whom);

// The calling process's own hard limit (RLIMIT_…); nullopt: none.
[[nodiscard]] std::optional<std::uint64_t> hard_limit(int resource);

[[nodiscard]] Result<void> getrandom(std::span<std::byte> bytes);

}  // namespace mayfly::sys
