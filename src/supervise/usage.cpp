#include "supervise/usage.hpp"

#include <sys/vfs.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <optional>
#include <string_view>

#include "sys/files.hpp"

namespace mayfly::supervise {
namespace {

constexpr std::size_t kMostFileBytes = 64 << 10;

Measured unknown(std::string why) {
  return {.value = std::nullopt, .why_not = std::move(why)};
}

std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return number;
}

// The value of "key value" on a line of its own; of the whole text where key is empty.
std::optional<std::uint64_t> find_value(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (key.empty()) return parse_number(line);
    if (line.starts_with(key) && line.substr(key.size()).starts_with(' ')) {
      return parse_number(line.substr(key.size() + 1));
    }
  }
  return std::nullopt;
}

// A file of the cgroup, or why it cannot be read.
struct CgroupFile {
  const char* name;
  std::string_view text;
  std::string why_not;

  [[nodiscard]] Measured value(std::string_view key, std::uint64_t unit) const {
    if (!why_not.empty()) return unknown(why_not);
    const std::optional<std::uint64_t> number = find_value(text, key);
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

void measure_layer(const UsageRequest& request, Usage& usage) {
  struct statfs info {};
  if (request.layer == nullptr || !*request.layer) {
    usage.layer_bytes = usage.layer_inodes = unknown("there is no layer");
  } else if (::fstatfs(request.layer->get(), &info) != 0) {
    usage.layer_bytes = usage.layer_inodes = unknown("fstatfs: " + errno_name(errno));
  } else {
    const auto block = static_cast<std::uint64_t>(info.f_bsize);
    usage.layer_bytes = {.value = (info.f_blocks - info.f_bfree) * block, .why_not = {}};
    usage.layer_inodes = {.value = info.f_files - info.f_ffree, .why_not = {}};
  }
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
          .layer_bytes = none,
          .layer_inodes = none};
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
  usage.peak_memory_bytes = read_cgroup(request, "memory.peak", buffer).value({}, 1);
  usage.max_rss_bytes = max_rss(end);
  usage.peak_pids = read_cgroup(request, "pids.peak", buffer).value({}, 1);
  measure_layer(request, usage);
  return usage;
}

}  // namespace mayfly::supervise
