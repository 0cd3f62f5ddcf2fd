// Command and Process: start a program with exactly this world, watch it, never hang.
//
// Every process has a hard deadline, after which it, and only it, is killed: what it started must
// die of that, which is what is being tested.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.hpp"

namespace harness {

using mayfly::Fd;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// MAYFLY_TEST_SLOW: how much slower this machine is known to be than those that tests are made for.
[[nodiscard]] int slowness();
// A time that a test sets or allows: so many milliseconds, longer on a slow machine.
[[nodiscard]] milliseconds paced(int count);
[[nodiscard]] std::string paced_text(int count);  // "300ms", as options take it

struct Finished {
  int code = -1;   // the exit code; -1 if a signal ended it
  int signal = 0;  // the signal that ended it
  bool timed_out = false;
  std::string out, err;
  milliseconds exited_after{0};
  milliseconds eof_after{0};  // until both pipes were closed by everyone
};

struct Pipe {
  Fd read, write;
};
[[nodiscard]] Pipe make_pipe();

class Process {
 public:
  Process(pid_t pid, Fd in, Fd out, Fd err, std::string input, milliseconds deadline);
  Process(Process&&) noexcept;
  Process& operator=(Process&&) = delete;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();  // kills it if it still runs

  [[nodiscard]] pid_t pid() const { return pid_; }
  void send(int signal) const;
  // Reads until stdout holds `text`; the test fails if the deadline or the end comes first.
  void await_output(const std::string& text);
  // Until it has exited and its pipes are closed, or the deadline.
  Finished finish();

 private:
  bool pump(milliseconds wait);  // one round of poll; false once nothing is left to wait for
  void reap(bool block);

  pid_t pid_;
  Fd in_, out_, err_;
  std::string input_;
  std::size_t written_ = 0;
  Clock::time_point start_ = Clock::now();
  milliseconds deadline_;
  bool reaped_ = false;
  Finished finished_;
};

class Command {
 public:
  explicit Command(std::vector<std::string> argv);

  Command& program(std::string path);  // another program in the place of the first word
  Command& env(const std::string& name, std::string value);
  Command& unset(const std::string& name);
  Command& in(std::string bytes);       // through a pipe; otherwise stdin is /dev/null
  Command& fd(int number, int source);  // `source`, borrowed, becomes descriptor `number`
  Command& closed(int number);
  Command& cwd(std::string directory);
  Command& deadline(milliseconds limit);
  // Runs in the child, last before the execve: limits, signals, masks.
  Command& before_exec(std::function<void()> action);

  [[nodiscard]] Process start() const;
  [[nodiscard]] Finished run() const { return start().finish(); }

 private:
  [[noreturn]] void become(int in, int out, int err) const;

  std::vector<std::string> argv_;
  std::map<std::string, std::optional<std::string>> env_;
  std::optional<std::string> input_;
  std::vector<std::pair<int, int>> fds_;  // number, source; -1 closes
  std::string cwd_;
  std::function<void()> before_exec_;
  milliseconds deadline_ = paced(30'000);
};

}  // namespace harness
