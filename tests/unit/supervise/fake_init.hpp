// A stand-in for init: a real child process at the other end of a real socket, which says what a
// test wants it to say.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "launch/launch.hpp"
#include "launch/protocol.hpp"
#include "supervise/watch.hpp"

namespace mayfly::test {

// What a script may do. It runs in the fake init; its return value is the exit code.
class Script {
 public:
  explicit Script(int socket) : socket_(socket) {}
  void started() { say({.kind = launch::Kind::Started, .value = 2}); }
  void exited(int code) { ended(CLD_EXITED, code); }
  void killed(int signal) { ended(CLD_KILLED, signal); }
  void say(launch::Message message);
  void say_bytes(const void* bytes, std::size_t size);
  // The next signal that we are to pass on to the task; 0 at end of file.
  [[nodiscard]] int next_signal();
  // The next message, of whatever kind.
  [[nodiscard]] launch::Message next();
  // A signal to the supervisor.
  void signal_supervisor(int signal);
  // For ever, until somebody kills us.
  [[noreturn]] void hang();

 private:
  void ended(int code, int status);
  int socket_;
};

// How a test differs from the plain case: no caller, no TTL, a grace period of 5 s.
struct Scene {
  std::int64_t ttl_ms = 0;  // 0: none
  std::int64_t grace_ms = 5000;
  std::int64_t setup_ms = 10'000;
  std::int64_t teardown_ms = 10'000;
  std::int64_t chores_ms = 0;  // 0: none
  bool linger = false;
  bool keep_running = false;
  pid_t caller = 0;      // 0: nobody
  std::string cgroup{};  // a directory that plays the cgroup
  std::function<void(supervise::Relay&)> relay{};
  std::vector<int> task_ends{};   // closed once the fake init has them
  std::int64_t idle_ms = 0;       // 0: none
  std::int64_t cpu_limit_us = 0;  // 0: none; needs a cgroup, whose cpu.stat tells
  std::int64_t ttl_max_ms = 0;    // 0: none
  std::string commands{};         // what the control descriptor says at once
  bool control_stays = true;      // … and whether it stays open
};

// Runs the loop against a fake init, in a process of its own. The answer, on one line: reason,
// code, "signal=N", "started", "unclean: why", "error: …", and the listener's calls in brackets:
//   "exited 0 started [started 2, ending exited]"
[[nodiscard]] std::string watch(const Scene& scene, const std::function<int(Script&)>& script);
// The same without a process of its own, for tests that make one.
[[nodiscard]] std::string watch_here(const Scene& scene, const std::function<int(Script&)>& script);

}  // namespace mayfly::test
