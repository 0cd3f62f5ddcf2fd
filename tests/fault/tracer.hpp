// A program under ptrace, together with the process that called it and all that it starts: counts
// the system-call stops of one of them and delivers SIGKILL at exactly one.
//
// Whoever is traced is attached to from its birth on (PTRACE_SEIZE of the caller, then following
// every fork, clone and exec), so nothing that a process does to itself later keeps its stops from
// being seen: no id change, no PR_SET_DUMPABLE, no executable that may not be read. And since every
// process of a sandbox is a tracee, "nobody is left to wait for" is the proof that all are gone.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <string>

#include "harness/process.hpp"
#include "harness/sandbox.hpp"

namespace fault {

using harness::milliseconds;
using harness::Words;

// By descent: the caller starts the supervisor, that the child half, which becomes init, that the
// task. What the supervisor starts to try what the host can do counts as Init, too.
enum class Role { Caller, Supervisor, Init, Task };

struct Kill {
  Role counted = Role::Supervisor;  // whose stops are counted, from its first execve on
  Role victim = Role::Supervisor;   // the one that stopped, or one above it
  unsigned stop = 1;                // the how-manieth stop; each call has two
  int signal = SIGKILL;             // what the victim gets
  bool hold = false;                // the one that stopped makes no further step of its own
};

struct Ending {
  bool reached = false;        // the stop came; otherwise the run had fewer
  std::string where;           // "entry of system call 257", for messages
  bool after_exec = false;     // the one that stopped had executed another program
  std::string survivors;       // who still lived at the deadline; they were killed then
  int supervisor_status = -1;  // as waitpid has it
  milliseconds gone_after{0};  // from the kill to the death of the last
};

// Runs `argv` as the child of a caller, stdout and stderr to the files named.
struct Traced {
  Words argv;
  std::string directory, out, err;
};
[[nodiscard]] Ending run_and_kill(const Traced& traced, const Kill& kill);

}  // namespace fault
