// What of the machine a sandbox may use. Where the host has no controller for a limit (as a cgroup
// v2 tree beside v1 has none), the same case shows that it is refused by name; the machines of
// tests/vm have them all.
#include "harness/limits.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "harness/host.hpp"
#include "harness/sandbox.hpp"
#include "harness/suite.hpp"

using namespace harness;

namespace {

// What is enabled in the cgroups around us, sorted: "/sys/fs/cgroup/user pids". systemd changes
// those that it manages as it likes.
std::vector<std::string> enabled_around_us() {
  std::vector<std::string> texts;
  if (exists("/run/systemd/system")) return texts;
  for (std::string path = cgroup_of(::getpid()); path.size() >= cgroup_tree().size();
       path.resize(path.rfind('/'))) {
    std::ifstream file(path + "/cgroup.subtree_control");
    for (std::string controller; file >> controller;)
      texts.push_back(path + " " + controller);
  }
  std::sort(texts.begin(), texts.end());
  return texts;
}

}  // namespace

TEST_CASE("memory: what goes beyond ends the sandbox, and nobody else") {
  const Words options = {"--memory", "64M"};
  if (refused_for_want_of("memory", options)) return;
  const Ended ended = run(options, {"python3", "-c", "x = bytearray(200 << 20)"});
  CHECK(ended.reason() == "memory_limit");
  CHECK(ended.code == 137);
  CHECK(ended.result.at("started") == true);
  CHECK(ended.result.at("clean") == true);
  CHECK(was_hit(ended, "memory"));
  const auto& usage = ended.result.at("usage");
  CHECK(usage.at("oom_kills").get<int>() >= 1);
  const auto peak = usage.at("peak_memory_bytes").get<std::uint64_t>();
  CHECK(peak > 40u << 20);
  CHECK(peak <= 64u << 20);
  CHECK(note_of(ended, "memory") == "enforced");
}

TEST_CASE("memory: what stays within is left alone") {
  if (refused_for_want_of("memory", {"--memory", "128M"})) return;
  const Ended ended = run({"--memory", "128M"}, {"python3", "-c", "x = bytearray(40 << 20)"});
  CHECK(ended.code == 0);
  CHECK(ended.result.at("limits_hit").empty());
  CHECK(ended.result.at("usage").at("oom_kills") == 0);
}

TEST_CASE("memory: a full layer is an error to the task, not its end") {
  const Words options = {"--memory", "64M", "--layer", "memory"};
  if (refused_for_want_of("memory", options)) return;
  const Ended ended = sh("dd if=/dev/zero of=/tmp/x bs=1M count=64; echo then", options);
  if (contains(ended.err, "tmpfs holds no user xattrs")) return;  // before 6.6: it is on disk
  CHECK(ended.code == 0);
  CHECK(contains(ended.out, "then"));
  CHECK(contains(ended.err, "No space left"));
}

TEST_CASE("memory: the least that is allowed starts, or says that it is too little") {
  if (refused_for_want_of("memory", {"--memory", "4M"})) return;
  const Ended ended = run({"--memory", "4M"}, {"true"});
  if (ended.code == 0) return;
  CHECK(ended.result.at("clean") == true);
  const bool told = ended.reason() == "memory_limit" || contains(ended.err, "raise --memory");
  CHECK_MESSAGE(told, ended.reason() << ": " << ended.err);
}

TEST_CASE("pids: a fork bomb is contained, and the result says so") {
  const Words options = {"--pids", "32", "--cpus", "8", "--ttl", "60s"};
  const bool controlled = !refused_for_want_of("cpu", options) && has_controller("pids");
  const Ended ended = run(controlled ? options : Words{"--pids", "32", "--ttl", "60s"},
                          {"python3", "-c",
                           "import os, time\n"
                           "n = 0\n"
                           "for i in range(100):\n"
                           "  try:\n"
                           "    if os.fork() == 0: time.sleep(60); os._exit(0)\n"
                           "    n += 1\n"
                           "  except BlockingIOError: pass\n"
                           "print('forked', n)\n"});
  CHECK(ended.code == 0);
  const int forked = std::stoi(value_of(ended.out, "forked"));
  CHECK(forked >= 28);
  CHECK(forked <= 31);
  CHECK(note_of(ended, "pids") == "enforced");
  if (!controlled) return;
  CHECK(was_hit(ended, "pids"));
  CHECK(ended.result.at("usage").at("pids_refused").get<int>() >= 60);
  CHECK(ended.result.at("usage").at("peak_pids").get<int>() <= 32);
}

TEST_CASE("cpus: a tenth of a processor holds two busy loops") {
  const Words options = {"--cpus", "0.1", "--ttl", "4s", "--grace", "0"};
  if (refused_for_want_of("cpu", options)) return;
  const Ended ended = sh("(while :; do :; done) & while :; do :; done", options);
  CHECK(ended.reason() == "ttl");
  const auto& usage = ended.result.at("usage");
  const double wall = usage.at("wall_ns").get<double>();
  const double cpu = usage.at("user_ns").get<double>() + usage.at("system_ns").get<double>();
  CHECK(cpu / wall < 0.2);
  CHECK(cpu / wall > 0.03);
  CHECK(was_hit(ended, "cpus"));
  CHECK(was_hit(ended, "ttl"));
}

TEST_CASE("io: a limit of a file system without a disk is refused by name") {
  const Ended ended = run({"--io", "/proc:rbps=1M"}, {"true"});
  CHECK(ended.code == 125);
  CHECK(contains(ended.err, "cannot limit the disk of /proc (--io): its file system lies on none"));
}

TEST_CASE("best effort: the task runs, and each limit says how it is held") {
  const Ended ended = run({"--memory", "64M", "--cpus", "1", "--limits", "best-effort"}, {"true"});
  CHECK(ended.code == 0);
  CHECK(note_of(ended, "memory") == (has_controller("memory") ? "enforced" : "not_enforced"));
  CHECK(note_of(ended, "cpus") == (has_controller("cpu") ? "enforced" : "not_enforced"));
  CHECK(note_of(ended, "pids") == "enforced");
}

TEST_CASE("limits: where systemd's scope cannot be had there is no start, or no such limit") {
  const TempDir place;
  const std::string mayfly = place / "mayfly";
  std::filesystem::copy_file(mayfly_path(), mayfly);
  const std::string helper = place.file("mayfly-scope", "#!/bin/sh\nkill -9 $$\n");
  REQUIRE(::chmod(helper.c_str(), 0755) == 0);
  const auto asked = [&](Words words) {
    words.insert(words.begin(), mayfly);
    words.insert(words.end(), {"--memory", "64M", "--project", "none", "--", "true"});
    return Command(words).run();
  };
  const Finished plan = asked({"explain", "--json", "run"});
  if (plan.code != 0 || !contains(plan.out, "\"from_systemd\":true")) return;
  const Finished strict = asked({"run"});
  CHECK(strict.code == 125);
  CHECK(contains(strict.err, "systemd: the helper was killed by signal 9"));
  CHECK(asked({"run", "--limits", "best-effort"}).code == 0);
}

TEST_CASE("limits: nothing is left of the cgroups, and controllers are off again") {
  const std::vector<std::string> before = enabled_around_us();
  const Words options = {"--memory", "64M", "--limits", "best-effort"};
  std::vector<std::thread> runs;
  for (int i = 0; i < 8; ++i) {
    runs.emplace_back([&] {
      const Ended ended = run(options, {"sleep", "0.5"});
      CHECK(ended.code == 0);
      CHECK(note_of(ended, "memory") == (has_controller("memory") ? "enforced" : "not_enforced"));
      // A scope of systemd's goes when systemd has seen that it is empty.
      CHECK(within(milliseconds(10'000), [&] { return leftovers_of(ended.id()).empty(); }));
    });
  }
  for (std::thread& each : runs)
    each.join();
  // Other tests beside this one turn them on and off, too.
  CHECK(within(paced(10'000), [&] {
    const std::vector<std::string> now = enabled_around_us();
    return std::includes(before.begin(), before.end(), now.begin(), now.end());
  }));
}

TEST_CASE("rlimit: soft and hard arrive at the task, and at nothing else of the sandbox") {
  const Ended ended = sh("ulimit -Sn; ulimit -Hn; ulimit -Sf; ulimit -s; cat /proc/1/limits",
                         {"--rlimit", "nofile=64:128", "--rlimit", "fsize=1M", "--rlimit",
                          "stack=2M:4M", "--rlimit", "nofile=60:120"});
  CHECK(ended.code == 0);
  const std::vector<std::string> out = lines(ended.out);
  REQUIRE(out.size() > 4);
  CHECK(out[0] == "60");
  CHECK(out[1] == "120");
  CHECK(out[2] == "2048");  // blocks of 512 bytes
  CHECK(out[3] == "2048");  // KiB
  CHECK_FALSE(contains(ended.out, "Max open files            60"));
}

TEST_CASE("limits that contradict each other are refused with words") {
  struct Bad {
    Words options;
    const char* words;
  };
  const Bad all[] = {
      {{"--memory", "64M", "--layer-size", "64M"}, "which are memory, could hold 64M"},
      {{"--memory", "64M", "--tmpfs", "/x:size=64M"}, "raise --memory, or lower --layer-size"},
      {{"--swap", "1M"}, "limit swap without a limit of memory"},
      {{"--memory", "1M"}, "use 1048576 as a memory limit: the least is 4M"},
      {{"--cpus", "0"}, "the least is 0.01"},
      {{"--cpus", "0.0001"}, "it has more than three decimals"},
      {{"--rlimit", "core=0"}, "set the limit core: no dump may leave the sandbox"},
      {{"--rlimit", "nproc=5"}, "--pids N limits processes and threads"},
      {{"--rlimit", "nofile=5:4"}, "its soft limit is above its hard limit"},
      {{"--rlimit", "nofile=unlimited"}, "the caller's own hard limit is"},
      {{"--rlimit", "cookies=4"}, "there is none of that name"},
      {{"--io", "rbps=0"}, "a rate of 0 would stop it"},
      {{"--io", "speed=1"}, "speed=1 is not a rate"},
      {{"--cgroup-parent", "/tmp"}, "it is not in the cgroup v2 tree"},
  };
  for (const Bad& bad : all) {
    CAPTURE(joined(bad.options));
    const Ended ended = run(bad.options, {"true"});
    CHECK(ended.code == 125);
    CHECK_MESSAGE(contains(ended.err, bad.words), ended.err);
    CHECK(contains(ended.err, "\nhint: "));
  }
}

TEST_CASE("limits: after a SIGKILL of the supervisor, gc gives the parent cgroup back") {
  if (!has_controller("memory")) return;
  const std::vector<std::string> before = enabled_around_us();
  const std::string marker = new_marker();
  const Run started({"--memory", "64M"}, {"sh", "-c", "sleep 60; : " + marker});
  Process process = started.command.start();
  await_processes(marker, 1);
  process.send(SIGKILL);
  process.finish();
  CHECK(within(milliseconds(10'000), [&] { return processes_with(marker).empty(); }));
  CHECK(within(paced(20'000), [&] {  // other tests' sandboxes ask for controllers here, too
    CHECK(Command({mayfly_path(), "gc"}).run().code == 0);
    return enabled_around_us() == before;
  }));
}
