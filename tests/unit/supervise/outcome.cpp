#include "supervise/outcome.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cerrno>

using namespace mayfly::supervise;

TEST_CASE("reasons: one table for names and exit codes") {
  struct Case {
    Reason reason;
    const char* name;
    int detail;
    int code;
  };
  const std::array cases = {
      Case{Reason::Exited, "exited", 0, 0},
      Case{Reason::Exited, "exited", 125, 125},
      Case{Reason::Signaled, "signaled", 9, 137},
      Case{Reason::Signaled, "signaled", 64, 192},
      Case{Reason::ExecFailed, "exec_failed", ENOENT, 127},
      Case{Reason::ExecFailed, "exec_failed", EACCES, 126},
      Case{Reason::ExecFailed, "exec_failed", 0, 126},
      Case{Reason::Ttl, "ttl", 0, 124},
      Case{Reason::Idle, "idle", 0, 124},
      Case{Reason::CpuLimit, "cpu_limit", 0, 124},
      Case{Reason::OutputLimit, "output_limit", 0, 124},
      Case{Reason::MemoryLimit, "memory_limit", 0, 137},
      Case{Reason::SyscallDenied, "syscall_denied", 0, 159},
      Case{Reason::Cancelled, "cancelled", 15, 143},
      Case{Reason::Cancelled, "cancelled", 2, 130},
      Case{Reason::Cancelled, "cancelled", 0, 143},
      Case{Reason::SetupFailed, "setup_failed", 0, 125},
      Case{Reason::HostUnsupported, "host_unsupported", 0, 125},
      Case{Reason::SupervisorLost, "supervisor_lost", 0, 125},
  };
  for (const Case& one : cases) {
    CAPTURE(one.name);
    CAPTURE(one.detail);
    CHECK(exit_code(one.reason, one.detail) == one.code);
    CHECK(reason_name(one.reason) == one.name);
    CHECK(reason_named(one.name) == one.reason);
  }
  CHECK_FALSE(reason_named("finished"));
}
