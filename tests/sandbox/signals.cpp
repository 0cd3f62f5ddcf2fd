// Signals to the supervisor, from its caller or because its caller has died; signals inside.
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "harness/host.hpp"
#include "harness/sandbox.hpp"
#include "harness/suite.hpp"

using namespace harness;

namespace {

// How many results came out of a status pipe that everybody else has closed.
int results_in(const Fd& pipe) {
  std::string text(65536, '\0');
  const ssize_t size = ::read(pipe.get(), text.data(), text.size());
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  int results = 0;
  for (const std::string& line : lines(text))
    results += nlohmann::json::parse(line).at("ev") == "result";
  return results;
}

}  // namespace

TEST_CASE("TERM, INT, HUP, QUIT, USR1, USR2 and WINCH to us reach the task") {
  for (const auto& [signal, signal_name] : {std::pair{SIGTERM, "TERM"},
                                            {SIGINT, "INT"},
                                            {SIGHUP, "HUP"},
                                            {SIGQUIT, "QUIT"},
                                            {SIGUSR1, "USR1"},
                                            {SIGUSR2, "USR2"},
                                            {SIGWINCH, "WINCH"}}) {
    const char* const name = signal_name;  // clang 14: a structured binding cannot be captured
    CAPTURE(name);
    const std::string trap = "trap 'echo got " + std::string(name) + "; exit 3' " + name + "\n";
    const Run trapped({}, {"/bin/sh", "-c", trap + "echo ready; while :; do sleep 0.05; done"});
    Process process = trapped.command.start();
    process.await_output("ready");
    process.send(signal);
    const Ended ended = trapped.end(std::move(process));
    CHECK(contains(ended.out, "got " + std::string(name)));
    CHECK_FALSE(ended.timed_out);
    CHECK(ended.exited_after < paced(5000));
  }
}

TEST_CASE("USR1 alone does not end a sandbox: the exit code is the task's") {
  const Run trapped(
      {}, {"/bin/sh", "-c", "trap 'exit 3' USR1; echo ready; while :; do sleep 0.05; done"});
  Process process = trapped.command.start();
  process.await_output("ready");
  process.send(SIGUSR1);
  const Ended ended = trapped.end(std::move(process));
  CHECK(ended.code == 3);
  CHECK(ended.reason() == "exited");
}

TEST_CASE("TERM, then the grace time, then all are killed: 143, cancelled") {
  const std::string marker = new_marker();
  const Run crowd({"--grace", paced_text(300)}, {kProbe, "crowd", marker});
  Process process = crowd.command.start();
  process.await_output("ready");
  const auto sent = Clock::now();
  process.send(SIGTERM);
  const Ended ended = crowd.end(std::move(process));
  CHECK(ended.code == 128 + SIGTERM);
  CHECK(ended.reason() == "cancelled");
  CHECK(ended.result.at("signal") == SIGTERM);
  CHECK(Clock::now() - sent >= paced(300));
  CHECK(Clock::now() - sent < paced(3000));
  CHECK(processes_with(marker).empty());
}

TEST_CASE("a second TERM does not wait for the grace time") {
  const Run crowd({"--grace", paced_text(20'000)}, {kProbe, "crowd"});
  Process process = crowd.command.start();
  process.await_output("ready");
  process.send(SIGTERM);
  std::this_thread::sleep_for(paced(100));
  process.send(SIGTERM);
  const Ended ended = crowd.end(std::move(process));
  CHECK(ended.code == 128 + SIGTERM);
  CHECK(ended.reason() == "cancelled");
  CHECK(ended.exited_after < paced(5000));
}

TEST_CASE("INT is the task's to handle, a second one ends the sandbox") {
  const Run stubborn(
      {"--grace", paced_text(300)},
      {"/bin/sh", "-c", "trap 'echo again' INT; echo ready; while :; do sleep 0.05; done"});
  Process process = stubborn.command.start();
  process.await_output("ready");
  process.send(SIGINT);
  process.await_output("again");
  std::this_thread::sleep_for(paced(500));  // longer than the grace: still there
  CHECK(state_of(process.pid()) != 'Z');
  process.send(SIGINT);
  const Ended ended = stubborn.end(std::move(process));
  CHECK(ended.code == 128 + SIGINT);
  CHECK(ended.reason() == "cancelled");
}

TEST_CASE("TSTP stops the task and CONT lets it go on") {
  const Run counting(
      {"--ttl", paced_text(20'000)},
      {"/bin/sh", "-c",
       "echo ready; i=0; while [ $i -lt 20 ]; do sleep 0.05; i=$((i+1)); done; echo done"});
  Process process = counting.command.start();
  process.await_output("ready");
  process.send(SIGTSTP);
  std::this_thread::sleep_for(paced(300));
  process.send(SIGCONT);
  const Ended ended = counting.end(std::move(process));
  CHECK(ended.code == 0);
  CHECK(contains(ended.out, "done"));
}

TEST_CASE("the task starts with default signal dispositions and none blocked") {
  Run looked({}, {kProbe, "signals"});
  struct sigaction ignore = {}, before = {};
  ignore.sa_handler = SIG_IGN;
  sigset_t blocked, old;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  sigaddset(&blocked, SIGTERM);
  ::sigaction(SIGINT, &ignore, &before);
  ::sigprocmask(SIG_BLOCK, &blocked, &old);
  Process process = looked.command.start();
  ::sigprocmask(SIG_SETMASK, &old, nullptr);
  ::sigaction(SIGINT, &before, nullptr);
  const Ended ended = looked.end(std::move(process));
  CHECK(ended.code == 0);
  CHECK(value_of(ended.out, "ignored") == "none");
  CHECK(value_of(ended.out, "blocked") == "none");
  CHECK(value_of(ended.out, "pending") == "none");
}

TEST_CASE("the task is not pid 1, and a signal that it sends to itself kills it") {
  const Ended ended = sh("echo $$; kill -TERM $$; echo survived");
  CHECK(ended.code == 128 + SIGTERM);
  CHECK_FALSE(contains(ended.out, "survived"));
  CHECK(lines(ended.out).at(0) != "1");
}

TEST_CASE("500 orphans leave no zombie") {
  const Ended ended = run({"--pids", "2000"}, {kProbe, "orphans", "500"});
  CAPTURE(ended.err);
  REQUIRE(ended.code == 0);
  CHECK(lines(ended.out).size() <= 3);
  for (const std::string& line : lines(ended.out)) {
    CAPTURE(line);
    CHECK_FALSE(contains(line, " Z "));
  }
}

TEST_CASE("a caller that dies takes its sandbox with it") {
  const std::string marker = new_marker();
  // This shell is the caller: it is killed, and mayfly with its task must go.
  const Words words = {"/bin/sh",
                       "-c",
                       "\"$@\" & wait",
                       "sh",
                       mayfly_path(),
                       "run",
                       "--grace",
                       paced_text(300),
                       "--",
                       "/bin/sh",
                       "-c",
                       "trap '' TERM; echo ready; sleep 60; :",
                       marker};
  Process caller = Command(words).cwd("/tmp").start();
  caller.await_output("ready");
  CHECK(processes_with(marker).size() >= 2);
  caller.send(SIGKILL);
  CHECK(within(paced(3000), [&] { return processes_with(marker).empty(); }));
}

TEST_CASE("--keep-running outlives its caller") {
  const std::string marker = new_marker();
  const Words words = {
      "/bin/sh",        "-c",    "\"$@\" & wait",           "sh",      mayfly_path(), "run",
      "--keep-running", "--ttl", paced_text(4000),          "--grace", "0",           "--",
      "/bin/sh",        "-c",    "echo ready; sleep 60; :", marker};
  Process caller = Command(words).cwd("/tmp").start();
  caller.await_output("ready");
  caller.send(SIGKILL);
  std::this_thread::sleep_for(paced(700));
  CHECK_FALSE(processes_with(marker).empty());
  CHECK(within(paced(8000), [&] { return processes_with(marker).empty(); }));
}

TEST_CASE("any signal that would end us ends the sandbox as TERM does, with a result") {
  for (const int signal :
       {SIGABRT, SIGALRM, SIGBUS, SIGFPE, SIGILL, SIGIO, SIGPROF, SIGPWR, SIGSEGV, SIGSTKFLT,
        SIGSYS, SIGTRAP, SIGXCPU, SIGVTALRM, SIGRTMIN, SIGRTMAX}) {
    CAPTURE(signal);
    const std::string marker = new_marker();
    const Run held({"--grace", "0", "--project", "rw"},
                   {"/bin/sh", "-c", "touch ready; sleep 1000", marker});
    Process process = held.command.start();
    REQUIRE(within(paced(10'000), [&] { return exists(held.project() / "ready"); }));
    process.send(signal);
    const Ended ended = held.end(std::move(process));
    CHECK(ended.reason() == "cancelled");
    CHECK(ended.code == 128 + signal);
    CHECK(ended.result.value("signal", 0) == signal);
    CHECK(ended.result.value("cancelled_by", "") == "signal");
    CHECK(processes_with(marker).empty());
    CHECK(leftovers_of(ended.id()).empty());
  }
}

TEST_CASE("a signal that we inherited as ignored stays ignored, whichever it is") {
  const Run held({"--project", "rw"},
                 {"/bin/sh", "-c", "touch ready; until [ -e go ]; do sleep 0.05; done; exit 9"},
                 {"/bin/sh", "-c", "trap '' ALRM XCPU; exec \"$@\"", "sh"});
  Process process = held.command.start();
  REQUIRE(within(paced(10'000), [&] { return exists(held.project() / "ready"); }));
  process.send(SIGALRM);
  process.send(SIGXCPU);
  std::this_thread::sleep_for(milliseconds(200));
  held.project().file("go", "");
  CHECK(held.end(std::move(process)).code == 9);
}

TEST_CASE("whoever has read hello gets a result, whatever signal comes then") {
  for (const int signal : {SIGTERM, SIGINT, SIGUSR1, SIGALRM, SIGXCPU, SIGRTMIN + 3}) {
    CAPTURE(signal);
    for (int i = 0; i < 5; ++i) {
      Pipe status = make_pipe();
      Run early({"--grace", "0", "--status-fd", "9"}, {"/bin/sleep", "0.2"});
      early.command.fd(9, status.write.get());
      Process process = early.command.start();
      status.write.reset();
      char byte = '\0';
      while (byte != '\n' && ::read(status.read.get(), &byte, 1) == 1) {
      }
      process.send(signal);
      const Ended ended = early.end(std::move(process));
      CAPTURE(ended.err);
      CHECK(ended.signal == 0);
      CHECK(ended.result.value("code", -1) == ended.code);
      CHECK(results_in(status.read) == 1);
    }
  }
}

TEST_CASE("cancel against natural exit: one result, code and reason agree") {
  int naturals = 0, cancels = 0;
  std::chrono::microseconds delay{20'000};  // from our start; it follows the machine's pace
  for (int i = 0; i < repeats(300, 1000); ++i) {
    Pipe status = make_pipe();
    Run raced({"--grace", "0", "--status-fd", "9"}, {"/bin/sleep", "0.01"});
    raced.command.fd(9, status.write.get());
    Process process = raced.command.start();
    status.write.reset();
    std::this_thread::sleep_for(delay);
    ::kill(process.pid(), SIGTERM);  // it may be a zombie already: no reaped pid is signalled
    const Ended ended = raced.end(std::move(process));
    CAPTURE(i);
    CAPTURE(ended.err);
    CAPTURE(ended.reason());
    const bool natural = ended.reason() == "exited" && ended.code == 0;
    naturals += natural;
    delay = natural ? delay * 15 / 16 : naturals == 0 ? delay * 2 : delay + delay / 16;
    if (ended.signal == SIGTERM) continue;  // before it had its handlers: nothing was made yet
    const bool cancelled = ended.reason() == "cancelled" && ended.code == 128 + SIGTERM;
    CHECK((natural || cancelled));
    CHECK(ended.result.value("code", -1) == ended.code);
    CHECK(results_in(status.read) == 1);
    cancels += cancelled;
  }
  CHECK(naturals > 0);
  CHECK(cancels > 0);
}
