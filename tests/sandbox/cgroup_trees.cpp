// Limits against the kernel's own files, and the shapes of cgroup tree that a caller may have:
// controllers missing, processes in the way, full, threaded. Needs a cgroup v2 tree with all
// controllers, delegated to whoever runs this: the machines of tests/vm have one. Elsewhere the
// same case shows that the limit is refused by name.
#include <doctest/doctest.h>

#include <csignal>
#include <fstream>

#include "harness/host.hpp"
#include "harness/limits.hpp"
#include "harness/sandbox.hpp"
#include "harness/suite.hpp"

using namespace harness;

namespace {

constexpr std::uint64_t kMiB = 1u << 20;

bool without_memory_controller() {
  return refused_for_want_of("memory", {"--memory", "64M"});
}

Words in_parent(const std::string& cgroup, Words options) {
  options.insert(options.end(), {"--cgroup-parent", cgroup});
  return options;
}

// A sandbox that says so once it runs, and goes on when it is told to.
class Paced {
 public:
  Paced(const Words& options, const std::string& then)
      : marker_(new_marker()),
        run_(options,
             {"sh", "-c", "touch ready; until [ -e go ]; do sleep 0.05; done; " + then, marker_}),
        process_(run_.command.start()) {
    REQUIRE(within(paced(10'000), [&] { return exists(run_.project() / "ready"); }));
    for (const pid_t pid : processes_with(marker_))
      if (pid != process_.pid()) cgroup_ = cgroup_of(pid);
  }

  [[nodiscard]] const std::string& cgroup() const { return cgroup_; }
  [[nodiscard]] Ended go_on() {
    run_.project().file("go", "");
    return run_.end(std::move(process_));
  }

 private:
  std::string marker_;
  Run run_;
  Process process_;
  std::string cgroup_;
};

const std::string kHog = "exec python3 -c 'x = bytearray(200 << 20)'";

}  // namespace

TEST_CASE("tree: what the limits say is what the kernel's files say") {
  if (without_memory_controller()) return;
  const OwnCgroup tree;
  Paced sandbox(in_parent(tree.path(), {"--memory", "96M", "--pids", "40", "--cpus", "0.5",
                                        "--swap", "8M", "--project", "rw"}),
                "true");
  const std::string cgroup = sandbox.cgroup();
  REQUIRE(cgroup.starts_with(tree.path() + "/mayfly-"));
  CHECK(cgroup_value(cgroup, "memory.max") == std::to_string(96 * kMiB));
  CHECK(cgroup_value(cgroup, "memory.oom.group") == "1");
  if (exists(cgroup + "/memory.swap.max")) {
    CHECK(cgroup_value(cgroup, "memory.swap.max") == std::to_string(8 * kMiB));
  }
  CHECK(cgroup_value(cgroup, "pids.max") == "40");
  CHECK(cgroup_value(cgroup, "cpu.max") == "50000 100000");
  CHECK(sandbox.go_on().code == 0);
  CHECK(tree.children().empty());
  CHECK(cgroup_value(tree.path(), "cgroup.subtree_control").empty());
}

TEST_CASE("tree: peaks and counts of the result are those of the kernel's files") {
  if (without_memory_controller()) return;
  const OwnCgroup tree;
  Paced sandbox(in_parent(tree.path(), {"--memory", "96M", "--project", "rw"}), "true");
  const std::string cgroup = sandbox.cgroup();
  const std::uint64_t now = std::stoull(cgroup_value(cgroup, "memory.current"));
  const std::uint64_t processes = std::stoull(cgroup_value(cgroup, "pids.current"));
  const bool has_peak = exists(cgroup + "/memory.peak");
  const Ended ended = sandbox.go_on();
  const auto& usage = ended.result.at("usage");
  if (has_peak) {
    // Pages of the host's files that were charged to it may have been given back meanwhile.
    CHECK(usage.at("peak_memory_bytes").get<std::uint64_t>() >= now);
    CHECK(usage.at("peak_memory_bytes").get<std::uint64_t>() <= 96 * kMiB);
  } else {
    CHECK(usage.at("peak_memory_bytes").is_null());
    CHECK(contains(usage.at("peak_memory_bytes_why").get<std::string>(), "memory.peak"));
  }
  if (!usage.at("peak_pids").is_null()) {
    CHECK(usage.at("peak_pids").get<std::uint64_t>() >= processes);
  }
  CHECK(usage.at("oom_kills") == 0);
  CHECK(usage.at("pids_refused") == 0);
}

TEST_CASE("tree: without a limit of swap a sandbox with a limit of memory has none") {
  if (without_memory_controller()) return;
  const OwnCgroup tree;
  Paced sandbox(in_parent(tree.path(), {"--memory", "96M", "--project", "rw"}), "true");
  const std::string file = sandbox.cgroup() + "/memory.swap.max";
  if (exists(file)) CHECK(cgroup_value(sandbox.cgroup(), "memory.swap.max") == "0");
  CHECK(sandbox.go_on().code == 0);
}

TEST_CASE("tree: one process too greedy ends all of its sandbox, and no other") {
  if (without_memory_controller()) return;
  const OwnCgroup tree;
  Paced bystander(in_parent(tree.path(), {"--memory", "96M", "--project", "rw"}), "exit 5");
  const std::string marker = new_marker();
  const Ended ended = sh("for i in 1 2 3; do sh -c 'sleep 1000; : '" + marker +
                             " & done; sleep 0.2; (" + kHog + "); sleep 1000",
                         in_parent(tree.path(), {"--memory", "64M"}));
  CHECK(ended.reason() == "memory_limit");
  CHECK(ended.code == 137);
  CHECK(processes_with(marker).empty());
  CHECK(ended.result.at("clean") == true);
  CHECK(ended.result.at("usage").at("oom_kills").get<int>() >= 1);
  CHECK(bystander.go_on().code == 5);
}

TEST_CASE("tree: a limit that the host changes meanwhile holds, and the result tells of it") {
  if (without_memory_controller()) return;
  const OwnCgroup tree;
  Paced lowered(in_parent(tree.path(), {"--memory", "512M", "--project", "rw"}), kHog);
  set_cgroup_value(lowered.cgroup(), "memory.max", std::to_string(48 * kMiB));
  const Ended ended = lowered.go_on();
  CHECK(ended.reason() == "memory_limit");
  CHECK(was_hit(ended, "memory"));
  Paced raised(in_parent(tree.path(), {"--memory", "64M", "--project", "rw"}), kHog);
  set_cgroup_value(raised.cgroup(), "memory.max", std::to_string(512 * kMiB));
  CHECK(raised.go_on().code == 0);
}

TEST_CASE("tree: a cgroup that is removed, emptied or frozen meanwhile is no hang") {
  if (without_memory_controller()) return;
  const OwnCgroup tree;
  Paced killed(in_parent(tree.path(), {"--memory", "96M", "--project", "rw"}), "sleep 1000");
  set_cgroup_value(killed.cgroup(), "cgroup.kill", "1");
  const Ended by_host = killed.go_on();
  CHECK(by_host.code != 0);
  CHECK(by_host.result.at("clean") == true);
  Paced frozen(
      in_parent(tree.path(), {"--memory", "96M", "--project", "rw", "--ttl", "3s", "--grace", "0"}),
      "sleep 1000");
  set_cgroup_value(frozen.cgroup(), "cgroup.freeze", "1");
  const Ended ended = frozen.go_on();
  CHECK(ended.reason() == "ttl");
  CHECK(ended.result.at("clean") == true);
  CHECK(tree.children().empty());
}

TEST_CASE("tree: only some controllers: strict refuses the others by name, best effort tells") {
  if (without_memory_controller()) return;
  const OwnCgroup tree;
  const std::string poor = tree.make("poor");
  set_cgroup_value(tree.path(), "cgroup.subtree_control", "+pids");
  const Ended strict = run(in_parent(poor, {"--memory", "96M", "--pids", "20"}), {"true"});
  CHECK(strict.code == 125);
  CHECK(strict.reason() == "host_unsupported");
  CHECK_MESSAGE(contains(strict.err, "the memory controller is out of reach"), strict.err);
  const Ended lax = run(in_parent(poor, {"--memory", "96M", "--pids", "20", "--cpus", "1",
                                         "--limits", "best-effort"}),
                        {"true"});
  CHECK(lax.code == 0);
  CHECK(note_of(lax, "memory") == "not_enforced");
  CHECK(note_of(lax, "cpus") == "not_enforced");
  CHECK(note_of(lax, "pids") == "enforced");
  CHECK(cgroup_value(poor, "cgroup.subtree_control").empty());
}

TEST_CASE("tree: where other processes live no controller can be enabled: refused, or one up") {
  if (without_memory_controller()) return;
  const OwnCgroup tree;
  const std::string shared = tree.make("shared");
  set_cgroup_value(tree.path(), "cgroup.subtree_control", "+memory +pids");
  Words resident = inside_cgroup(shared);
  resident.insert(resident.end(), {"sleep", "1000"});
  Process sleeper = Command(resident).start();
  REQUIRE(within(milliseconds(10'000), [&] { return cgroup_of(sleeper.pid()) == shared; }));
  const Ended named = run(in_parent(shared, {"--memory", "96M"}), {"true"});
  CHECK(named.code == 125);
  CHECK_MESSAGE(contains(named.err, "other processes live in " + shared), named.err);
  // Without a name the chain leads up, to where all processes are ours and none is in the way.
  const Ended above = Run({"--memory", "96M"}, {"true"}, inside_cgroup(shared)).end();
  CHECK_MESSAGE(above.code == 0, above.err);
  CHECK(note_of(above, "memory") == "enforced");
  CHECK(cgroup_of(sleeper.pid()) == shared);
  sleeper.send(SIGKILL);
  sleeper.finish();
  CHECK(cgroup_value(tree.path(), "cgroup.subtree_control") == "memory pids");
}

TEST_CASE("tree: alone in its cgroup mayfly makes room for itself, and leaves nothing of it") {
  if (without_memory_controller()) return;
  const OwnCgroup tree;
  const std::string alone = tree.make("alone");
  const Ended ended = Run({"--memory", "96M"}, {"true"}, inside_cgroup(alone)).end();
  CHECK_MESSAGE(ended.code == 0, ended.err);
  CHECK(note_of(ended, "memory") == "enforced");
  CHECK(tree.children() == Words{alone});
  CHECK(cgroup_value(alone, "cgroup.subtree_control").empty());
  CHECK(cgroup_value(alone, "cgroup.procs").empty());
}

TEST_CASE("tree: a full tree is told by name, and a start that it stops leaves nothing") {
  if (without_memory_controller()) return;
  const OwnCgroup tree;
  set_cgroup_value(tree.path(), "cgroup.max.descendants", "0");
  const Ended full = run(in_parent(tree.path(), {"--memory", "96M"}), {"true"});
  CHECK(full.code == 125);
  CHECK(full.result.at("clean") == true);
  CHECK_MESSAGE(contains(full.err, "cgroup.max.descendants"), full.err);
  CHECK(cgroup_value(tree.path(), "cgroup.subtree_control").empty());
  set_cgroup_value(tree.path(), "cgroup.max.descendants", "max");
  set_cgroup_value(tree.path(), "cgroup.max.depth", "0");
  const Ended deep = run(in_parent(tree.path(), {"--memory", "96M"}), {"true"});
  CHECK(deep.code == 125);
  CHECK_MESSAGE(contains(deep.err, "cgroup.max.depth"), deep.err);
  CHECK(tree.children().empty());
}

TEST_CASE("tree: a threaded cgroup, a missing one and a file are no place for a sandbox") {
  if (without_memory_controller()) return;
  const OwnCgroup tree;
  const std::string threaded = tree.make("threaded");
  set_cgroup_value(threaded, "cgroup.type", "threaded");
  for (const std::string& place :
       {threaded, tree.path() + "/none", tree.path() + "/cgroup.procs"}) {
    CAPTURE(place);
    const Ended ended = run(in_parent(place, {"--memory", "96M"}), {"true"});
    CHECK(ended.code == 125);
    CHECK_MESSAGE(contains(ended.err, place), ended.err);
    CHECK(contains(ended.err, "\nhint: "));
  }
}

TEST_CASE("tree: --io holds writes to a disk layer to its rate") {
  if (without_memory_controller()) return;
  if (refused_for_want_of("io", {"--io", "/:wbps=1M"})) return;
  const OwnCgroup tree;
  const Ended ended =
      sh("cat /proc/uptime; dd if=/dev/zero of=/tmp/x bs=1M count=4 conv=fsync; cat /proc/uptime",
         in_parent(tree.path(), {"--io", "/:wbps=1M", "--layer", "disk", "--ttl", "120s"}));
  CHECK_MESSAGE(ended.code == 0, ended.err);
  CHECK(note_of(ended, "io") == "enforced");
  const std::vector<std::string> out = lines(ended.out);
  REQUIRE(out.size() == 2);
  CHECK(std::stod(out[1]) - std::stod(out[0]) > 2.0);
}
