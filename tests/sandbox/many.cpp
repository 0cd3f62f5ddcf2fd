// Many at once and many in a row: nothing piles up.
#include <doctest/doctest.h>

#include <csignal>
#include <list>

#include "harness/host.hpp"
#include "harness/sandbox.hpp"
#include "harness/suite.hpp"

using namespace harness;

TEST_CASE("40 at once: each gets its own answer, nothing stays") {
  const std::string marker = new_marker();
  const std::size_t mounts = mount_count();
  std::list<Run> runs;
  std::vector<Process> processes;
  for (int i = 0; i < 40; ++i) {
    runs.emplace_back(Words{"--ttl", "60s"},
                      Words{"/bin/sh", "-c", "echo $1 > /tmp/mine; sleep 0.2; cat /tmp/mine",
                            marker, std::to_string(i)});
    runs.back().command.deadline(milliseconds(60'000));
    processes.push_back(runs.back().command.start());
  }
  std::vector<std::string> ids;
  int i = 0;
  for (const Run& each : runs) {
    const Ended ended = each.end(std::move(processes[static_cast<std::size_t>(i)]));
    CAPTURE(ended.err);
    CHECK(ended.code == 0);
    CHECK(ended.out == std::to_string(i++) + "\n");
    ids.push_back(ended.id());
  }
  CHECK(processes_with(marker).empty());
  CHECK(mount_count() == mounts);
  for (const std::string& id : ids)
    CHECK(leftovers_of(id).empty());
}

TEST_CASE("100 in a row leave no process, mount, cgroup or registry entry") {
  const std::string marker = new_marker();
  const std::size_t mounts = mount_count();
  std::vector<std::string> ids;
  for (int i = 0; i < 100; ++i) {
    const Ended ended = sh(":", {}, {marker});
    REQUIRE(ended.code == 0);
    ids.push_back(ended.id());
  }
  CHECK(processes_with(marker).empty());
  CHECK(mount_count() == mounts);
  for (const std::string& id : ids)
    CHECK(leftovers_of(id).empty());
}

TEST_CASE("of two sandboxes with one name the second is refused while the first lives") {
  const std::string name = "only-one-" + new_marker();
  const Run first({"--name", name, "--ttl", "20s"}, {kProbe, "hold"});
  Process process = first.command.start();
  process.await_output("ready");
  const Ended second = sh("echo started", {"--name", name});
  CHECK(second.code == 125);
  CHECK(second.out.empty());
  CHECK(contains(second.err, name));
  process.send(SIGTERM);
  CHECK(first.end(std::move(process)).reason() == "cancelled");
  CHECK(sh("echo started", {"--name", name}).out == "started\n");
}

TEST_CASE("gc removes what a killed supervisor left, and nothing that lives") {
  const std::string dead = "dead-" + new_marker(), alive = "alive-" + new_marker();
  const Run living({"--name", alive, "--ttl", "20s"}, {kProbe, "hold"});
  Process living_process = living.command.start();
  living_process.await_output("ready");

  const Run killed({"--name", dead}, {kProbe, "hold", dead});
  Process process = killed.command.start();
  process.await_output("ready");
  process.send(SIGKILL);
  static_cast<void>(process.finish());
  CHECK(within(milliseconds(1000), [&] { return processes_with(dead).empty(); }));

  const Finished gc = Command({mayfly_path(), "gc"}).run();
  CAPTURE(gc.err);
  CHECK(gc.code == 0);
  CHECK(sh("echo again", {"--name", dead}).out == "again\n");

  CHECK(state_of(living_process.pid()) != '\0');
  living_process.send(SIGTERM);
  const Ended ended = living.end(std::move(living_process));
  CHECK(ended.reason() == "cancelled");
  CHECK(leftovers_of(ended.id()).empty());
}
