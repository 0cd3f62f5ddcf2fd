#include "supervise/usage.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>

#include "support.hpp"

using namespace mayfly;
using namespace mayfly::test;
using supervise::Measured;

namespace {

supervise::End natural_end() {
  supervise::End end;
  end.init = sys::Reaped{};
  end.init->usage.ru_utime = {.tv_sec = 1, .tv_usec = 500};
  end.init->usage.ru_stime = {.tv_sec = 0, .tv_usec = 7};
  end.init->usage.ru_maxrss = 3;
  end.init_gone_ns = 1'000'500;
  end.main_task_ended = true;
  return end;
}

// What is told of an end for this reason, with these counts; of a layer of 1 MiB and 100 files.
std::vector<std::string> hit(supervise::Reason reason, const supervise::Usage& usage = {}) {
  plan::Plan plan;
  plan.layer_bytes = (1u << 20) + 5;
  plan.layer_inodes = 100;
  supervise::End end;
  end.reason = reason;
  return supervise::limits_hit(plan, end, usage);
}

Measured counted(std::uint64_t value) {
  return {.value = value, .why_not = {}};
}

Fd open_dir(const std::string& path) {
  return Fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

}  // namespace

TEST_CASE("usage: from the cgroup's files, and why not where one is missing") {
  const TempDir dir;
  write_text(dir / "cpu.stat", "usage_usec 99\nuser_usec 42\nsystem_usec 8\nnr_periods 0\n");
  write_text(dir / "memory.peak", "1048576\n");
  const Fd cgroup = open_dir(dir.path());
  const supervise::End end = natural_end();
  const supervise::Usage usage = supervise::measure_usage({.end = &end,
                                                           .spawned_ns = 500,
                                                           .cgroup = &cgroup,
                                                           .layer = &cgroup,
                                                           .no_cgroup_why = "unused"});
  CHECK(usage.wall_ns.value == 1'000'000u);
  CHECK(usage.user_ns == Measured{.value = 42'000, .why_not = {}});
  CHECK(usage.system_ns == Measured{.value = 8'000, .why_not = {}});
  CHECK(usage.peak_memory_bytes == Measured{.value = 1'048'576, .why_not = {}});
  CHECK(usage.max_rss_bytes.value == 3072u);
  CHECK_FALSE(usage.peak_pids.value);
  CHECK(usage.peak_pids.why_not ==
        "its cgroup has no pids.peak: the controller is not delegated, or the kernel is older");
  CHECK(usage.layer_bytes.value > 0u);
  CHECK(usage.layer_inodes.value > 0u);
}

TEST_CASE("usage: nonsense in a file is no number") {
  const TempDir dir;
  write_text(dir / "cpu.stat", "user_usecs 42\nsystem_usec -\n");
  write_text(dir / "memory.peak", "max\n");
  write_text(dir / "pids.peak", "");
  const Fd cgroup = open_dir(dir.path());
  supervise::End end = natural_end();
  end.main_task_ended = false;
  const supervise::Usage usage = supervise::measure_usage(
      {.end = &end, .spawned_ns = 0, .cgroup = &cgroup, .layer = nullptr, .no_cgroup_why = {}});
  CHECK_FALSE(usage.user_ns.value);
  CHECK_FALSE(usage.system_ns.value);
  CHECK(usage.peak_memory_bytes == Measured{.value = {}, .why_not = "memory.peak does not say"});
  CHECK(usage.peak_pids == Measured{.value = {}, .why_not = "pids.peak does not say"});
  CHECK(usage.layer_bytes == Measured{.value = {}, .why_not = "there is no layer"});
}

TEST_CASE(
    "usage: without a cgroup a natural end tells what init waited for, a forced one nothing") {
  const Fd none;
  supervise::End end = natural_end();
  const auto measure = [&] {
    return supervise::measure_usage({.end = &end,
                                     .spawned_ns = 0,
                                     .cgroup = &none,
                                     .layer = &none,
                                     .no_cgroup_why = "v1 only"});
  };
  CHECK(
      measure().user_ns ==
      Measured{.value = 1'000'500'000,
               .why_not = "no cgroup: without what was still running when the main process ended"});
  CHECK(measure().system_ns.value == 7'000u);
  CHECK(measure().peak_memory_bytes == Measured{.value = {}, .why_not = "v1 only"});

  end.main_task_ended = false;
  CHECK_FALSE(measure().user_ns.value);
  CHECK(measure().user_ns.why_not ==
        "no cgroup, and the time of processes that are killed with their sandbox is not told "
        "otherwise: v1 only");

  end.init.reset();
  CHECK(measure().wall_ns == Measured{.value = {}, .why_not = "init was not reaped"});
  CHECK(measure().max_rss_bytes == Measured{.value = {}, .why_not = "init was not reaped"});
  CHECK(measure().user_ns == Measured{.value = {}, .why_not = "v1 only"});
}

TEST_CASE("limits_hit: a limit that ended the sandbox, by the name of its option") {
  using supervise::Reason;
  using Names = std::vector<std::string>;
  CHECK(hit(Reason::Ttl) == Names{"ttl"});
  CHECK(hit(Reason::Idle) == Names{"idle"});
  CHECK(hit(Reason::CpuLimit) == Names{"cpu-time"});
  CHECK(hit(Reason::OutputLimit) == Names{"max-output"});
  CHECK(hit(Reason::MemoryLimit) == Names{"memory"});
  CHECK(hit(Reason::LayerLimit) == Names{"layer"});
  for (const Reason reason : {Reason::Exited, Reason::Signaled, Reason::Cancelled})
    CHECK(hit(reason).empty());
}

TEST_CASE("limits_hit: limits that were met on the way, whatever ended the sandbox") {
  using supervise::Reason;
  using Names = std::vector<std::string>;
  CHECK(hit(Reason::Exited, {.oom_kills = counted(1)}) == Names{"memory"});
  CHECK(hit(Reason::Exited, {.pids_refused = counted(1)}) == Names{"pids"});
  CHECK(hit(Reason::Exited, {.cpu_throttled_ns = counted(1)}) == Names{"cpus"});
  CHECK(hit(Reason::Ttl, {.pids_refused = counted(7)}) == Names{"ttl", "pids"});
  CHECK(hit(Reason::Exited,
            {.oom_kills = counted(0), .pids_refused = counted(0), .cpu_throttled_ns = counted(0)})
            .empty());
  // Full is what no further page, or file, goes into.
  CHECK(hit(Reason::Exited, {.layer_bytes = counted(1u << 20)}) == Names{"layer-size"});
  CHECK(hit(Reason::Exited, {.layer_bytes = counted((1u << 20) - 4096)}).empty());
  CHECK(hit(Reason::Exited, {.layer_inodes = counted(100)}) == Names{"layer-inodes"});
  CHECK(hit(Reason::Exited, {.layer_inodes = counted(99)}).empty());
}
