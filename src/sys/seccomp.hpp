// Thin wrappers for seccomp user notification (kernel 5.0). Each error names the call.
#pragma once

#include <linux/seccomp.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace mayfly::sys {

// A call that waits for an answer.
struct Notification {
  std::uint64_t id = 0;
  pid_t pid = 0;  // of the thread that calls, in our pid namespace; 0: not to be seen from it
  seccomp_data data = {};
};

// The next one; nullopt if none waits, or its caller is gone. Does not block.
[[nodiscard]] Result<std::optional<Notification>> receive_notification(const Fd& listener);

// Lets the call fail with this errno. A caller that is gone is no error.
[[nodiscard]] Result<void> answer_notification(const Fd& listener, std::uint64_t id, int error);

// The name of the program that a thread runs, as its process chose to be called. Empty: unknown.
[[nodiscard]] std::string program_of(pid_t pid);

}  // namespace mayfly::sys
