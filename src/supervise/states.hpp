// The life of a sandbox after the spawn request, as one table: state × event → action.
//
// Pure data, no system call: src/supervise/watch.cpp turns what descriptors say into events, looks
// up the action and carries it out.
#pragma once

#include <cstddef>

namespace mayfly::supervise {

enum class State {
  Starting,   // spawn was requested, init has not answered
  Running,    // the task was executed
  Lingering,  // the main process ended, others are waited for (--linger)
  Ending,     // the task was asked to end; the grace period runs
  Killing,    // everything inside gets SIGKILL; only the dead are awaited
};

enum class Event {
  Started,     // init: the task's execve succeeded
  ExecFailed,  // init: it did not
  Exited,      // init: the main process ended
  Drained,     // init: nobody else is left (--linger)
  Stopped,     // init: the task, which has a terminal, was stopped
  Failed,      // init: a step of its own failed
  Lost,        // init is gone, or broke the protocol
  TtlPassed,
  LimitPassed,  // another limit of the whole sandbox: idle time, cpu time, output …
  SetupPassed,  // the set-up took too long
  GracePassed,
  CallerGone,
  Interrupt,  // a first SIGINT
  Cancel,     // a first SIGTERM, SIGHUP or SIGQUIT
  Again,      // any of the four, when one of them came before
};
inline constexpr std::size_t kStates = 5;
inline constexpr std::size_t kEvents = 15;

enum class Action {
  Ignore,
  MarkStarted,  // Starting → Running; elsewhere only remembered
  FailExec,     // the verdict is exec_failed; kill
  TakeExit,     // the verdict is the main process's end; kill, or linger
  FailSetup,    // the verdict is setup_failed; kill
  Suspend,      // stop with the task, as a shell expects of a job
  Lose,         // the verdict is supervisor_lost; kill
  Pass,         // pass the signal on to the task, nothing else
  Terminate,    // settle the verdict if it is open, ask the task to end, start the grace period
  Kill,         // settle nothing; kill
  Hurry,        // wait only shortly for output that nobody takes; for Again, not at all
};

[[nodiscard]] Action action_for(State state, Event event);

}  // namespace mayfly::supervise
