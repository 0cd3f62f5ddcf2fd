// The TTL: it ends everything, on time, and against any one process that stands in its way.
#include <doctest/doctest.h>

#include <csignal>

#include "harness/host.hpp"
#include "harness/sandbox.hpp"
#include "harness/suite.hpp"

using namespace harness;

namespace {

// Bounds above a TTL: generous, since the machine may be busy; bench measures the lateness.
const milliseconds kLate = paced(1500);

pid_t init_of(pid_t supervisor) {
  // init's parent is the supervisor, and everything else descends from init.
  const std::vector<pid_t> below = descendants(supervisor);
  REQUIRE_FALSE(below.empty());
  return below.front();
}

}  // namespace

TEST_CASE("--ttl ends a sleeping task on time: 124, reason ttl") {
  const Ended ended = run({"--ttl", paced_text(300), "--grace", "0"}, {"/bin/sleep", "10"});
  CAPTURE(ended.err);
  CHECK(ended.code == 124);
  CHECK(ended.reason() == "ttl");
  CHECK(ended.exited_after >= paced(300));
  CHECK(ended.exited_after < paced(300) + kLate);
  CHECK(ended.result.value("clean", false));
}

TEST_CASE("--ttl leaves a task alone that is done before it") {
  const Ended ended = sh("sleep 0.1; exit 3", {"--ttl", paced_text(5000)});
  CHECK(ended.code == 3);
  CHECK(ended.reason() == "exited");
}

TEST_CASE("at the TTL the task gets TERM, and the grace time to use it") {
  const Ended used =
      sh("trap 'echo tidied; exit 5' TERM; sleep 30 & wait", {"--ttl", paced_text(300)});
  CHECK(used.out == "tidied\n");
  CHECK(used.code == 124);
  CHECK(used.reason() == "ttl");

  const Ended ignored = sh("trap '' TERM; sleep 30; sleep 30",
                           {"--ttl", paced_text(300), "--grace", paced_text(300)});
  CHECK(ignored.code == 124);
  CHECK(ignored.exited_after >= paced(600));
  CHECK(ignored.exited_after < paced(600) + kLate);
}

TEST_CASE("the TTL ends descendants that fled, ignore signals, are stopped, spin or fork on") {
  const std::string marker = new_marker();
  Run crowd({"--ttl", paced_text(1500), "--grace", "0"}, {kProbe, "crowd", marker});
  Process process = crowd.command.start();
  process.await_output("ready");
  await_processes(marker, 5);
  const Ended ended = crowd.end(std::move(process));
  CHECK(ended.code == 124);
  CHECK(ended.reason() == "ttl");
  CHECK(ended.exited_after < paced(1500) + kLate);
  CHECK(processes_with(marker).empty());
}

TEST_CASE("the end of the main process ends descendants that fled or ignore signals") {
  const std::string marker = new_marker();
  const Ended ended = sh("/targets/probe crowd \"$1\" & sleep 0.4; exit 9", {}, {marker});
  CHECK(ended.code == 9);
  CHECK(ended.reason() == "exited");
  CHECK(processes_with(marker).empty());
}

TEST_CASE("the TTL holds while the supervisor is stopped: the processes die on time") {
  const std::string marker = new_marker();
  const Run held({"--ttl", paced_text(1500), "--grace", "0"}, {kProbe, "hold", marker});
  const auto before_start = Clock::now();
  Process process = held.command.start();
  process.await_output("ready");
  process.send(SIGSTOP);
  CHECK(within(paced(1500) + kLate, [&] {
    const auto alive = processes_with(marker);  // the supervisor itself carries it, too
    return alive == std::vector<pid_t>{process.pid()};
  }));
  CHECK(Clock::now() - before_start >= paced(1500));
  process.send(SIGCONT);
  const Ended ended = held.end(std::move(process));
  CHECK(ended.code == 124);
  CHECK(ended.reason() == "ttl");
}

TEST_CASE("the TTL holds while init is stopped from outside") {
  const std::string marker = new_marker();
  const Run held({"--ttl", paced_text(800), "--grace", "0"}, {kProbe, "hold", marker});
  Process process = held.command.start();
  process.await_output("ready");
  const pid_t init = init_of(process.pid());
  REQUIRE(::kill(init, SIGSTOP) == 0);
  const Ended ended = held.end(std::move(process));
  CHECK(ended.code == 124);
  CHECK(ended.reason() == "ttl");
  CHECK(ended.exited_after < paced(800) + kLate);
  CHECK(processes_with(marker).empty());
}

TEST_CASE("the TTL holds while the task is stopped") {
  const Ended ended = sh("kill -STOP $$", {"--ttl", paced_text(500), "--grace", "0"});
  CHECK(ended.code == 124);
  CHECK(ended.reason() == "ttl");
  CHECK(ended.exited_after < paced(500) + kLate);
}

TEST_CASE("the TTL holds while everything inside is frozen") {
  const std::string marker = new_marker();
  const Run held({"--ttl", paced_text(1000), "--grace", "0"}, {kProbe, "crowd", marker});
  Process process = held.command.start();
  process.await_output("ready");
  const std::string cgroup = cgroup_of(init_of(process.pid()));
  // Without a cgroup of its own there is nothing that could freeze a sandbox.
  if (contains(cgroup, "/mayfly-")) {
    REQUIRE(write_file(cgroup + "/cgroup.freeze", "1"));
    REQUIRE(within(paced(500),
                   [&] { return contains(read_file(cgroup + "/cgroup.events"), "frozen 1"); }));
  }
  const Ended ended = held.end(std::move(process));
  CHECK(ended.code == 124);
  CHECK(ended.reason() == "ttl");
  CHECK(ended.exited_after < paced(1000) + kLate);
  CHECK(ended.result.value("clean", false));
  CHECK(processes_with(marker).empty());
  if (contains(cgroup, "/mayfly-")) CHECK_FALSE(exists(cgroup));
}
