// Many at once and many in a row: nothing piles up.
#include <doctest/doctest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <list>

#include "harness/host.hpp"
#include "harness/sandbox.hpp"
#include "harness/suite.hpp"

using namespace harness;

namespace {

// What must be as it was once all sandboxes of a test are gone. What other tests have meanwhile is
// not in it: mounts are those of our namespace, processes our children, files our directory's.
struct Baseline {
  std::size_t mounts = mount_count();
  std::size_t descriptors = descriptor_count();
  std::size_t namespaces = net_namespace_count();
  TempDir temp;  // TMPDIR of those that are started

  void check_restored(const std::vector<std::string>& ids) const {
    CHECK(mount_count() == mounts);
    CHECK(descriptor_count() == descriptors);
    CHECK(descendants(::getpid()).empty());
    CHECK(std::filesystem::is_empty(temp.path()));
    for (const std::string& id : ids)
      CHECK(leftovers_of(id).empty());
    // The kernel frees them later, and other tests have some: a leak would be one for each.
    const std::size_t most = namespaces + ids.size() / 2;
    CHECK(within(paced(30'000), [&] { return net_namespace_count() <= most; }));
  }
};

}  // namespace

TEST_CASE("200 at once: each gets its own answer, nothing stays") {
  const std::string marker = new_marker();
  const Baseline baseline;
  std::vector<std::string> ids;
  {
    std::list<Run> runs;
    std::vector<Process> processes;
    for (int i = 0; i < 200; ++i) {
      runs.emplace_back(Words{"--ttl", paced_text(100'000)},
                        Words{"/bin/sh", "-c", "echo $1 > /tmp/mine; sleep 0.5; cat /tmp/mine",
                              marker, std::to_string(i)});
      runs.back().command.deadline(paced(100'000)).env("TMPDIR", baseline.temp.path());
      processes.push_back(runs.back().command.start());
    }
    int i = 0;
    for (const Run& each : runs) {
      const Ended ended = each.end(std::move(processes[static_cast<std::size_t>(i)]));
      CAPTURE(ended.err);
      CHECK(ended.code == 0);
      CHECK(ended.out == std::to_string(i++) + "\n");
      ids.push_back(ended.id());
    }
  }
  CHECK(processes_with(marker).empty());
  baseline.check_restored(ids);
}

TEST_CASE("many in a row leave no process, mount, namespace, cgroup, file or registry entry") {
  const std::string marker = new_marker();
  const Baseline baseline;
  std::vector<std::string> ids;
  for (int i = 0; i < repeats(500, 2000); ++i) {
    Run run({}, {"/bin/sh", "-c", ":", marker});
    run.command.env("TMPDIR", baseline.temp.path());
    const Ended ended = run.end();
    REQUIRE(ended.code == 0);
    ids.push_back(ended.id());
  }
  CHECK(processes_with(marker).empty());
  baseline.check_restored(ids);
}

TEST_CASE("of two sandboxes with one name the second is refused while the first lives") {
  const std::string name = "only-one-" + new_marker();
  const Run first({"--name", name, "--ttl", paced_text(20'000)}, {kProbe, "hold"});
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

TEST_CASE("gc beside starts and ends says nothing of them but that they are in use") {
  std::vector<std::string> ids;
  std::string told;
  for (int round = 0; round < 5; ++round) {
    std::list<Run> runs;
    std::vector<Process> processes;
    for (int i = 0; i < 6; ++i) {
      ids.push_back("beside-" + new_marker());
      runs.emplace_back(Words{"--name", ids.back()}, Words{"/bin/sh", "-c", ":"});
      processes.push_back(runs.back().command.start());
      const Process first = Command({mayfly_path(), "gc"}).start();
      told += Command({mayfly_path(), "gc"}).run().out;
    }
    std::size_t i = 0;
    for (const Run& each : runs)
      CHECK(each.end(std::move(processes[i++])).code == 0);
  }
  for (const std::string& id : ids) {
    CAPTURE(told);
    CHECK_FALSE(contains(told, id + ": removed"));
    CHECK_FALSE(contains(told, id + ": kept"));
  }
}

TEST_CASE("gc removes what a killed supervisor left, and nothing that lives") {
  const std::string dead = "dead-" + new_marker(), alive = "alive-" + new_marker();
  const Run living({"--name", alive, "--ttl", paced_text(20'000)}, {kProbe, "hold"});
  Process living_process = living.command.start();
  living_process.await_output("ready");

  const Run killed({"--name", dead}, {kProbe, "hold", dead});
  Process process = killed.command.start();
  process.await_output("ready");
  process.send(SIGKILL);
  static_cast<void>(process.finish());
  CHECK(within(paced(1000), [&] { return processes_with(dead).empty(); }));

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
