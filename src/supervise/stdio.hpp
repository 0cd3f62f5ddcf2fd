// Descriptors 0-2: which of them the task may hold, and what stands in for the others (DESIGN 6).
//
// Threat: a descriptor is a right. A directory or an O_PATH handle leads out of the sandbox, a
// block device goes below the file system, a terminal takes injected input (TIOCSTI), a regular
// file or FIFO has a mode, times and locks that whoever holds it may change (and, but for Landlock,
// can be reopened with more rights through /proc/self/fd), a socket can be connected anew, asked
// about the caller's network, or shut down.
#pragma once

#include <optional>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "launch/launch.hpp"
#include "spec/spec.hpp"
#include "supervise/lent.hpp"
#include "supervise/relay.hpp"

namespace mayfly::supervise {

enum class Treatment {
  Pass,   // the task gets the descriptor itself
  Relay,  // the task gets a pipe
  Refuse,
};

// What lies behind a descriptor, in words ("a directory"), and what is done with it.
enum class Form { Pipe, Null, Terminal, Other };
struct Kind {
  const char* words = "";
  Treatment treatment = Treatment::Refuse;
  Form form = Form::Other;
  int flags = 0;  // it is opened with
  mode_t mode = 0;
};

struct StdioRules {
  bool pass_files = false;       // for tests alone: what a regular file would be worth to a task
  bool unsafe_terminal = false;  // --unsafe-tty
  bool own_ids = false;          // the task's ids are not the caller's
  bool relay_input = false;      // so that it can be ended
  bool relay_output = false;     // so that it can be seen and counted
  bool own_terminal = false;     // the task gets a terminal of the sandbox's own
  std::string working_dir = {};  // where a file in it is looked for from
};

// Opens /dev/null for each of 0-2 that is closed. Call it before anything else is opened: the next
// descriptor of ours would take the number, and the task would get it.
[[nodiscard]] Result<void> fill_missing_stdio();

[[nodiscard]] Kind classify(int fd, StdioRules rules);

// The task's stdio and the relay that carries what cannot be passed.
struct Stdio {
  launch::TaskStdio task;
  Relay relay;
  Fd stdin_file;              // --stdin; lives as long as the relay, which may read it
  std::vector<Fd> task_ends;  // close once the task has them: a pipe's end of file needs that
  Endpoint terminal_in, terminal_out;  // what the task's terminal is relayed from and to
  std::vector<Lent> lent;              // the caller's, passed to the task
  std::optional<LentInput> lent_input = std::nullopt;

  // Once the task's terminal is there.
  [[nodiscard]] Result<void> attach(Fd master);
  // Once the task is gone: what the caller has lent is as it was.
  void put_back() const;
};

// Checks 0-2 and --stdin; nothing is read. A FIFO as --stdin is at its end where nobody has it open
// for writing: waiting for a writer could be for ever (a redirection, < FIFO, waits). Errors name
// the descriptor, what it is, and a remedy.
[[nodiscard]] Result<Stdio> prepare_stdio(const spec::Spec& spec, StdioRules rules);

}  // namespace mayfly::supervise
