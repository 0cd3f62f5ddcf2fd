#include "supervise/meter.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <utility>

#include "base/text.hpp"
#include "sys/files.hpp"

namespace mayfly::supervise {
namespace {

constexpr std::size_t kMostStatBytes = 4096;
constexpr std::int64_t kMicrosecond = 1000;

// The fields of /proc/PID/stat by proc(5), as they count from behind the name.
enum Field : std::size_t { kUser = 11, kSystem = 12, kWaitedUser = 13, kWaitedSystem = 14 };
enum LateField : std::size_t { kStart = 19, kResident = 21, kFields = 22 };

template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

// The name is in parentheses and may hold anything, parentheses and newlines too; no field behind
// it does.
std::optional<ProcessUse> parse_process_stat(std::string_view line) {
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string_view::npos || name_end + 2 > line.size()) return std::nullopt;
  line.remove_prefix(name_end + 2);
  std::array<std::uint64_t, kFields> values{};
  for (std::size_t i = 0; i < kFields; ++i) {
    const std::string_view word = line.substr(0, line.find_first_of(" \n"));
    line.remove_prefix(std::min(line.size(), word.size() + 1));
    const bool counts = (i >= kUser && i <= kWaitedSystem) || i == kStart || i == kResident;
    if (!counts) continue;
    // Waited-for times are signed in the kernel's format; none is below 0.
    const std::optional<std::uint64_t> value = number_in<std::uint64_t>(word);
    if (!value) return std::nullopt;
    values[i] = *value;
  }
  return ProcessUse{.own_ticks = values[kUser] + values[kSystem],
                    .waited_ticks = values[kWaitedUser] + values[kWaitedSystem],
                    .start = values[kStart],
                    .resident_pages = values[kResident]};
}

Result<Meter::Reading> Meter::read() {
  return cgroup_ != nullptr && *cgroup_ ? read_cgroup() : read_processes();
}

Result<Meter::Reading> Meter::read_cgroup() {
  const std::string_view text =
      TRY(sys::read_whole_file(cgroup_->get(), "cpu.stat", buffer_, kMostStatBytes));
  const std::optional<std::uint64_t> used = number_of(text, "usage_usec");
  if (!used) return internal_error("read the time used by a cgroup: cpu.stat does not say");
  Reading reading{.cpu_ns = static_cast<std::int64_t>(*used) * kMicrosecond,
                  .memory_bytes = std::nullopt};
  if (const auto memory =
          sys::read_whole_file(cgroup_->get(), "memory.current", buffer_, kMostStatBytes)) {
    reading.memory_bytes = number_of(*memory, {});
  }
  return reading;
}

Result<Meter::Reading> Meter::read_processes() {
  const Fd directory = TRY(sys::openat(proc_.get(), ".", O_RDONLY | O_DIRECTORY));
  sys::DirectoryReader entries(directory, "the sandbox's /proc");
  std::uint64_t ticks = 0;
  std::uint64_t pages = 0;
  std::map<pid_t, Seen> alive;
  for (;;) {
    const sys::DirectoryReader::Entry entry = TRY(entries.next());
    if (entry.name == nullptr) break;
    const std::optional<pid_t> pid = number_in<pid_t>(entry.name);
    if (!pid) continue;
    const std::string file = std::string(entry.name) + "/stat";
    const auto text = sys::read_whole_file(directory.get(), file.c_str(), buffer_, kMostStatBytes);
    // It may have ended since.
    const std::optional<ProcessUse> use = text ? parse_process_stat(*text) : std::nullopt;
    if (!use) continue;
    ticks += use->own_ticks + use->waited_ticks;
    pages += use->resident_pages;
    const auto before = seen_.find(*pid);
    const bool same = before != seen_.end() && before->second.start == use->start;
    const std::uint64_t old = same ? before->second.ticks : 0;
    seen_ticks_ += use->own_ticks - std::min(old, use->own_ticks);
    alive[*pid] = {.start = use->start, .ticks = use->own_ticks};
  }
  seen_ = std::move(alive);
  most_ticks_ = std::max({most_ticks_, ticks, seen_ticks_});
  const std::int64_t tick_ns = 1'000'000'000 / ::sysconf(_SC_CLK_TCK);
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return Reading{.cpu_ns = static_cast<std::int64_t>(most_ticks_) * tick_ns,
                 .memory_bytes = pages * page};
}

}  // namespace mayfly::supervise
