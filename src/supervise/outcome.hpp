// How a sandbox ended: one value, filled in on every path, and the one table of reasons.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "plan/plan.hpp"

namespace mayfly::supervise {

enum class Reason {
  Exited,
  Signaled,
  ExecFailed,
  Ttl,
  Idle,
  CpuLimit,
  OutputLimit,
  MemoryLimit,
  LayerLimit,
  SyscallDenied,
  Cancelled,
  SetupFailed,
  HostUnsupported,
  SupervisorLost,
};

// "exited", "exec_failed", … as results and events spell it. One table, used in both directions.
[[nodiscard]] std::string_view reason_name(Reason reason);
[[nodiscard]] std::optional<Reason> reason_named(std::string_view name);

// A measured number, or why there is none. Never 0 for "unknown", never a guess. Where both are
// set, why_not says what the number leaves out.
struct Measured {
  std::optional<std::uint64_t> value;
  std::string why_not;
  bool operator==(const Measured&) const = default;
};

struct Usage {
  Measured wall_ns;             // CLOCK_BOOTTIME, from the spawn request until init was reaped
  Measured user_ns, system_ns;  // of the whole tree, init included
  Measured peak_memory_bytes;   // memory.peak
  // The largest single process, by wait4. Never below what the supervisor itself held at the start:
  // the child half shares its memory, and the kernel hands that peak on at execve.
  Measured max_rss_bytes;
  Measured peak_pids;
  Measured read_bytes, written_bytes;   // by io.stat: of disks, all of them together
  Measured oom_kills;                   // processes that the memory limit ended
  Measured pids_refused;                // forks that pids.max refused
  Measured cpu_throttled_ns;            // time in which cpu.max kept the tree from running
  Measured layer_bytes, layer_inodes;   // what the layer held when the last process was gone
  Measured stdout_bytes, stderr_bytes;  // delivered to the caller, where we relay them
  bool operator==(const Usage&) const = default;
};

// Each field comes from the read that the code acted on.
struct Proof {
  bool init_reaped = false;
  Measured populated;  // cgroup.events: 0, or null with a reason where there is no cgroup
  bool layer_closed = false;
  bool operator==(const Proof&) const = default;
};

// A system call that the filter refused.
struct Denial {
  std::string call;                        // "mount"; "call 999" where nobody knows its name
  int number = 0;                          // of this architecture
  int error = 0;                           // what it was answered, an errno
  std::uint64_t count = 0;                 // how often, up to now
  std::array<std::uint64_t, 6> args = {};  // of the last one that was told
  std::string program;                     // that called it then; empty: unknown
  bool operator==(const Denial&) const = default;
};

// Who ended a sandbox that was cancelled.
enum class Canceller {
  Nobody,
  Signal,   // a signal to us
  Caller,   // it ended
  Control,  // a command on the control descriptor, or its end
};
// "signal", "caller", "control"; "" for nobody.
[[nodiscard]] const char* canceller_name(Canceller canceller);

struct Outcome {
  Reason reason = Reason::SetupFailed;
  int code = 125;             // what the program exits with
  std::optional<int> signal;  // Signaled: what killed the task; Cancelled: what we were sent
  Canceller cancelled_by = Canceller::Nobody;
  bool started = false;  // the task's execve succeeded
  bool clean = true;     // teardown finished in time and its proof is complete
  std::string unclean_why;
  bool lost_output = false;    // of the command's, on the way to the caller
  std::optional<Error> error;  // SetupFailed, HostUnsupported, ExecFailed, SupervisorLost
  Usage usage;
  std::vector<std::string> limits_hit;  // "memory", "pids", …: those that were seen to be reached
  Proof proof;
  std::vector<plan::Note> notes;
  std::optional<std::vector<Denial>> denials;  // nullopt: nobody asked to be told
  std::string id, name;
  std::vector<std::pair<std::string, std::string>> labels;
  // The screen that is our standard error, as far as it is relayed to: the cursor is in a line of
  // the command's; nobody takes what is written to it.
  bool screen_in_line = false, screen_stuck = false;
};

// The exit code that belongs to a reason (DESIGN 5). `detail`: the task's own code for Exited, the
// signal number for Signaled and Cancelled (0: none), errno for ExecFailed.
[[nodiscard]] int exit_code(Reason reason, int detail);

}  // namespace mayfly::supervise
