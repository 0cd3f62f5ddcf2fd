// SIGKILL of the supervisor at many moments: whatever it was doing, nothing stays.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include "harness/host.hpp"
#include "harness/sandbox.hpp"
#include "harness/suite.hpp"

using namespace harness;

namespace {

const milliseconds kGoneWithin = paced(1000);

// Kills the supervisor `after` its start and returns what is alive a second later.
std::vector<pid_t> survivors(std::chrono::microseconds after) {
  const std::string marker = new_marker();
  const Run doomed({"--ttl", paced_text(20'000)}, {kProbe, "crowd", marker});
  Process process = doomed.command.start();
  std::this_thread::sleep_for(after);
  process.send(SIGKILL);
  const Finished finished = process.finish();
  CHECK(finished.signal == SIGKILL);
  CHECK_FALSE(finished.timed_out);  // the task's ends of the pipes are closed
  static_cast<void>(within(kGoneWithin, [&] { return processes_with(marker).empty(); }));
  return processes_with(marker);
}

}  // namespace

TEST_CASE("the supervisor killed while it starts a sandbox leaves no process and no mount") {
  const std::size_t mounts = mount_count();
  // A start takes some milliseconds: from its first to long after its last, in steps of 50 us.
  const int kills = repeats(100, 1000);
  for (int i = 0; i < kills; ++i) {
    CAPTURE(i);
    CHECK(survivors(std::chrono::microseconds(paced(20)) * i / kills).empty());
  }
  CHECK(mount_count() == mounts);
}

TEST_CASE("the supervisor killed while the task runs leaves no process and no mount") {
  const std::size_t mounts = mount_count();
  for (const int after : {60, 90, 150, 300})
    CHECK(survivors(paced(after)).empty());
  CHECK(mount_count() == mounts);
}

TEST_CASE("the supervisor killed while init is stopped: init need not run to die of it") {
  const std::string marker = new_marker();
  const Run doomed({"--ttl", paced_text(20'000)}, {kProbe, "crowd", marker});
  Process process = doomed.command.start();
  process.await_output("ready");
  const std::vector<pid_t> below = descendants(process.pid());
  REQUIRE_FALSE(below.empty());
  REQUIRE(::kill(below.front(), SIGSTOP) == 0);
  process.send(SIGKILL);
  CHECK_FALSE(process.finish().timed_out);
  CHECK(within(kGoneWithin, [&] { return processes_with(marker).empty(); }));
}

TEST_CASE("init killed from outside ends the sandbox, and the result says that it was lost") {
  const std::string marker = new_marker();
  const Run doomed({}, {kProbe, "crowd", marker});
  Process process = doomed.command.start();
  process.await_output("ready");
  const std::vector<pid_t> below = descendants(process.pid());
  REQUIRE_FALSE(below.empty());
  REQUIRE(::kill(below.front(), SIGKILL) == 0);
  const Ended ended = doomed.end(std::move(process));
  CHECK_FALSE(ended.timed_out);
  CHECK(ended.code == 125);
  CHECK(ended.reason() == "supervisor_lost");
  CHECK(ended.result.value("started", false));
  CHECK(processes_with(marker).empty());
}

TEST_CASE("temporary files: a sandbox, ended or killed, leaves none behind") {
  const TempDir temp;
  Run ended({}, {"/bin/sh", "-c", "echo x > /tmp/x; echo y > y"});
  ended.command.env("TMPDIR", temp.path());
  CHECK(ended.end().code == 0);

  const std::string marker = new_marker();
  Run killed({}, {kProbe, "hold", marker});
  killed.command.env("TMPDIR", temp.path());
  Process process = killed.command.start();
  process.await_output("ready");
  process.send(SIGKILL);
  static_cast<void>(process.finish());
  CHECK(within(kGoneWithin, [&] { return processes_with(marker).empty(); }));
  CHECK(sh("true").code == 0);

  CHECK(Command({"/bin/ls", "-A", temp.path()}).run().out.empty());
  CHECK(Command({"/bin/ls", "-A", killed.project().path()}).run().out.empty());
  CHECK(Command({"/bin/ls", "-A", ended.project().path()}).run().out.empty());
}

TEST_CASE("a caller that dies while its command line is read starts nothing") {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const Fd environment(ends[0]);
  Fd writer(ends[1]);
  const std::string marker = new_marker();
  // The environment's file is read while the command line is: nobody writes into it yet. The shell
  // is the caller, and is gone at once.
  Run orphan({"--env-file", "/dev/fd/7"}, {"/bin/sh", "-c", "echo started", marker},
             {"sh", "-c", "\"$@\" > /dev/null 2>&1 & sleep 0.3; exit 0", "sh"});
  orphan.command.fd(7, environment.get());
  Process caller = orphan.command.start();
  await_processes(marker, 2);
  CHECK(caller.finish().code == 0);
  REQUIRE(::write(writer.get(), "A=1\n", 4) == 4);
  writer.reset();
  REQUIRE(within(paced(10'000), [&] { return exists(orphan.result_file()); }));
  const auto result = nlohmann::json::parse(read_file(orphan.result_file()));
  CAPTURE(result.dump());
  CHECK(result.at("reason") == "cancelled");
  CHECK(result.at("cancelled_by") == "caller");
  CHECK_FALSE(result.at("started").get<bool>());
  CHECK(within(paced(10'000), [&] { return processes_with(marker).empty(); }));
}
