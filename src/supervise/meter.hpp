// Meter: what a living sandbox has used so far, for --cpu-time and --progress.
//
// From its cgroup where it has one: exact, the whole tree. Else from its own /proc, process by
// process: the time of each and of the children that it has waited for. What that cannot see is the
// last moments of a process whose parent ignores SIGCHLD, since the kernel adds them to nobody's;
// and the kernel tells in hundredths of a second. So there it is approximated, and said so.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace mayfly::supervise {

// One line of /proc/PID/stat, as far as it counts here. In clock ticks, and pages.
struct ProcessUse {
  std::uint64_t own_ticks = 0;     // its user and system time
  std::uint64_t waited_ticks = 0;  // of the children that it has waited for
  std::uint64_t start = 0;         // tells processes with the same number apart
  std::uint64_t resident_pages = 0;
  bool operator==(const ProcessUse&) const = default;
};
[[nodiscard]] std::optional<ProcessUse> parse_process_stat(std::string_view line);

class Meter {
 public:
  struct Reading {
    std::int64_t cpu_ns = 0;  // never less than at the last reading
    std::optional<std::uint64_t> memory_bytes;
  };

  // cgroup: the sandbox's, borrowed. proc: its own /proc. Either may be empty; the first counts.
  Meter(const Fd* cgroup, Fd proc) : cgroup_(cgroup), proc_(std::move(proc)) {}

  [[nodiscard]] Result<Reading> read();

 private:
  [[nodiscard]] Result<Reading> read_cgroup();
  [[nodiscard]] Result<Reading> read_processes();

  struct Seen {
    std::uint64_t start = 0;
    std::uint64_t ticks = 0;
  };

  const Fd* cgroup_;
  Fd proc_;
  std::string buffer_;
  std::map<pid_t, Seen> seen_;
  std::uint64_t seen_ticks_ = 0;  // of all that were ever seen
  std::uint64_t most_ticks_ = 0;
};

}  // namespace mayfly::supervise
