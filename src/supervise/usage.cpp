#include "supervise/usage.hpp"

#include <sys/vfs.h>

#include <cerrno>
#include <optional>
#include <string_view>

#include "base/text.hpp"
#include "sys/files.hpp"

namespace mayfly::supervise {
namespace {

constexpr std::size_t kMostFileBytes = 64 << 10;
constexpr std::uint64_t kPage = 4096;

Measured unknown(std::string why) {
  return {.value = std::nullopt, .why_not = std::move(why)};
}

// A file of the cgroup, or why it cannot be read.
struct CgroupFile {
  const char* name;
  std::string_view text;
  std::string why_not;

  [[nodiscard]] Measured value(std::string_view key, std::uint64_t unit) const {
    if (!why_not.empty()) return unknown(why_not);
    const std::optional<std::uint64_t> number = number_of(text, key);
    if (!number) return unknown(std::string(name) + " does not say");
    return {.value = *number * unit, .why_not = {}};
  }
};

CgroupFile read_cgroup(const UsageRequest& request, const char* name, std::string& buffer) {
  CgroupFile file{.name = name, .text = {}, .why_not = {}};
  if (request.cgroup == nullptr || !*request.cgroup) {
    file.why_not = request.no_cgroup_why;
    return file;
  }
  const Result<std::string_view> text =
      sys::read_whole_file(request.cgroup->get(), name, buffer, kMostFileBytes);
  if (text) {
    file.text = *text;
  } else if (text.error().sys_errno == ENOENT) {
    file.why_not = "its cgroup has no " + std::string(name) +
                   ": the controller is not delegated, or the kernel is older";
  } else {
    file.why_not = describe(text.error());
  }
  return file;
}

// What init had waited for when it died. The kernel lets the processes that die with a pid
// namespace go without adding their time to anybody's: so after a forced end this would leave out
// the very load that was killed, and after a natural one what ran in the background.
Measured from_init(const UsageRequest& request, const timeval& time) {
  if (!request.end->init) return unknown("init was not reaped");
  if (!request.end->main_task_ended) {
    return unknown(
        "no cgroup, and the time of processes that are killed with their sandbox is not "
        "told otherwise: " +
        request.no_cgroup_why);
  }
  const std::uint64_t ns = static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
                           static_cast<std::uint64_t>(time.tv_usec) * 1000;
  return {.value = ns,
          .why_not = "no cgroup: without what was still running when the main process ended"};
}

Measured max_rss(const End& end) {
  if (!end.init) return unknown("init was not reaped");
  return {.value = static_cast<std::uint64_t>(end.init->usage.ru_maxrss) * 1024, .why_not = {}};
}

Measured delivered(const UsageRequest& request, std::string_view name) {
  const std::optional<std::uint64_t> bytes =
      request.relay != nullptr ? request.relay->delivered(name) : std::nullopt;
  if (bytes) return {.value = *bytes, .why_not = {}};
  const std::optional<std::uint64_t> both =
      request.relay != nullptr ? request.relay->delivered(kBothOutputs) : std::nullopt;
  if (both && name == "stdout") return {.value = *both, .why_not = {}};
  if (both) return unknown("in one file with standard output, and counted there");
  return unknown("passed to the task as it is, where nobody counts");
}

void measure_layer(const UsageRequest& request, Usage& usage) {
  struct statfs info {};
  if (request.meter != nullptr) {
    const LayerMeter::Size size = request.meter->measure();
    const std::string& missing = request.meter->why_not_all();
    const std::string why = missing.empty() ? "" : "there is more, which was not found: " + missing;
    usage.layer_bytes = {.value = size.bytes, .why_not = why};
    usage.layer_inodes = {.value = size.inodes, .why_not = why};
  } else if (request.layer == nullptr || !*request.layer) {
    usage.layer_bytes = usage.layer_inodes = unknown("there is no layer");
  } else if (::fstatfs(request.layer->get(), &info) != 0) {
    usage.layer_bytes = usage.layer_inodes = unknown("fstatfs: " + errno_name(errno));
  } else {
    const auto block = static_cast<std::uint64_t>(info.f_bsize);
    usage.layer_bytes = {.value = (info.f_blocks - info.f_bfree) * block, .why_not = {}};
    usage.layer_inodes = {.value = info.f_files - info.f_ffree, .why_not = {}};
  }
}

// io.stat has a line for each disk: "8:0 rbytes=4096 wbytes=0 …". Without one nothing was moved.
void measure_io(const UsageRequest& request, std::string& buffer, Usage& usage) {
  const CgroupFile io = read_cgroup(request, "io.stat", buffer);
  if (!io.why_not.empty()) {
    usage.read_bytes = usage.written_bytes = unknown(io.why_not);
    return;
  }
  const auto sum = [&](std::string_view key) {
    std::uint64_t total = 0;
    for (std::size_t at = io.text.find(key); at != std::string_view::npos;
         at = io.text.find(key, at)) {
      at += key.size();
      total += number_of(io.text.substr(at), {}).value_or(0);
    }
    return Measured{.value = total, .why_not = {}};
  };
  usage.read_bytes = sum(" rbytes=");
  usage.written_bytes = sum(" wbytes=");
}

}  // namespace

Usage unmeasured_usage(const std::string& why) {
  const Measured none = unknown(why);
  return {.wall_ns = none,
          .user_ns = none,
          .system_ns = none,
          .peak_memory_bytes = none,
          .max_rss_bytes = none,
          .peak_pids = none,
          .read_bytes = none,
          .written_bytes = none,
          .oom_kills = none,
          .pids_refused = none,
          .cpu_throttled_ns = none,
          .layer_bytes = none,
          .layer_inodes = none,
          .stdout_bytes = none,
          .stderr_bytes = none};
}

Usage measure_usage(const UsageRequest& request) {
  Usage usage;
  if (!request.is_reported) usage = unmeasured_usage("nobody asked for a report");
  const End& end = *request.end;
  usage.wall_ns =
      end.init
          ? Measured{.value = static_cast<std::uint64_t>(end.init_gone_ns - request.spawned_ns),
                     .why_not = {}}
          : unknown("init was not reaped");
  if (!request.is_reported) return usage;
  constexpr std::uint64_t kMicrosecond = 1000;
  std::string buffer;
  const CgroupFile cpu = read_cgroup(request, "cpu.stat", buffer);
  usage.user_ns = cpu.value("user_usec", kMicrosecond);
  usage.system_ns = cpu.value("system_usec", kMicrosecond);
  if (!usage.user_ns.value && end.init) {
    usage.user_ns = from_init(request, end.init->usage.ru_utime);
    usage.system_ns = from_init(request, end.init->usage.ru_stime);
  }
  usage.cpu_throttled_ns = cpu.value("throttled_usec", kMicrosecond);
  usage.peak_memory_bytes = read_cgroup(request, "memory.peak", buffer).value({}, 1);
  usage.max_rss_bytes = max_rss(end);
  usage.peak_pids = read_cgroup(request, "pids.peak", buffer).value({}, 1);
  usage.pids_refused = read_cgroup(request, "pids.events", buffer).value("max", 1);
  usage.oom_kills = read_cgroup(request, "memory.events", buffer).value("oom_kill", 1);
  measure_io(request, buffer, usage);
  measure_layer(request, usage);
  usage.stdout_bytes = delivered(request, "stdout");
  usage.stderr_bytes = delivered(request, "stderr");
  return usage;
}

std::vector<std::string> limits_hit(const plan::Plan& plan, const End& end, const Usage& usage) {
  std::vector<std::string> hit;
  const auto happened = [](const Measured& count) { return count.value.value_or(0) > 0; };
  if (end.reason == Reason::Ttl) hit.emplace_back("ttl");
  if (end.reason == Reason::Idle) hit.emplace_back("idle");
  if (end.reason == Reason::CpuLimit) hit.emplace_back("cpu-time");
  if (end.reason == Reason::OutputLimit) hit.emplace_back("max-output");
  if (end.reason == Reason::MemoryLimit || happened(usage.oom_kills)) hit.emplace_back("memory");
  if (happened(usage.pids_refused)) hit.emplace_back("pids");
  if (happened(usage.cpu_throttled_ns)) hit.emplace_back("cpus");
  if (plan.layer_bytes == 0) return hit;
  // Full at the end: what was full before and made room again is not known.
  const bool no_bytes = usage.layer_bytes.value.value_or(0) >= plan.layer_bytes / kPage * kPage;
  const bool no_inodes = usage.layer_inodes.value.value_or(0) >= plan.layer_inodes;
  if (no_bytes) hit.emplace_back("layer-size");
  if (no_inodes) hit.emplace_back("layer-inodes");
  if (end.reason == Reason::LayerLimit && !no_bytes && !no_inodes) hit.emplace_back("layer");
  return hit;
}

}  // namespace mayfly::supervise
