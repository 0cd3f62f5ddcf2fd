#include "supervise/outcome.hpp"

#include <array>
#include <cerrno>

namespace mayfly::supervise {
namespace {

constexpr int kOwnCode = -1;     // the task's own exit code
constexpr int kSignalCode = -2;  // 128 + the signal; SIGTERM's where there is none
constexpr int kExecCode = -3;    // 127: no such program; 126: it cannot be run

struct Row {
  Reason reason;
  std::string_view name;
  int code;
};

// DESIGN 5. In the order of the enumerators, so that the table is also an index.
constexpr std::array kRows = {
    Row{Reason::Exited, "exited", kOwnCode},
    Row{Reason::Signaled, "signaled", kSignalCode},
    Row{Reason::ExecFailed, "exec_failed", kExecCode},
    Row{Reason::Ttl, "ttl", 124},
    Row{Reason::Idle, "idle", 124},
    Row{Reason::CpuLimit, "cpu_limit", 124},
    Row{Reason::OutputLimit, "output_limit", 124},
    Row{Reason::MemoryLimit, "memory_limit", 137},
    Row{Reason::LayerLimit, "layer_limit", 124},
    Row{Reason::SyscallDenied, "syscall_denied", 159},
    Row{Reason::Cancelled, "cancelled", kSignalCode},
    Row{Reason::SetupFailed, "setup_failed", 125},
    Row{Reason::HostUnsupported, "host_unsupported", 125},
    Row{Reason::SupervisorLost, "supervisor_lost", 125},
};

constexpr bool rows_are_in_order() {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (static_cast<std::size_t>(kRows[i].reason) != i) return false;
  }
  return true;
}
static_assert(rows_are_in_order());

const Row& row_of(Reason reason) {
  return kRows[static_cast<std::size_t>(reason)];
}

}  // namespace

std::string_view reason_name(Reason reason) {
  return row_of(reason).name;
}

std::optional<Reason> reason_named(std::string_view name) {
  for (const Row& row : kRows) {
    if (row.name == name) return row.reason;
  }
  return std::nullopt;
}

const char* canceller_name(Canceller canceller) {
  switch (canceller) {
    case Canceller::Nobody:
      return "";
    case Canceller::Signal:
      return "signal";
    case Canceller::Caller:
      return "caller";
    case Canceller::Control:
      return "control";
  }
  return "";
}

int exit_code(Reason reason, int detail) {
  constexpr int kSigterm = 15;
  switch (const int code = row_of(reason).code) {
    case kOwnCode:
      return detail & 0xff;
    case kSignalCode:
      return 128 + (detail == 0 ? kSigterm : detail);
    case kExecCode:
      return detail == ENOENT ? 127 : 126;
    default:
      return code;
  }
}

}  // namespace mayfly::supervise
