// Rights: what the sandbox's processes may never have again.
//
// Threat: capabilities inside the namespaces (a larger kernel surface), set-user-id programs,
// nested user namespaces, the caller's keyrings, resource limits. Kernel: ambient capabilities
// (4.3), user.max_user_namespaces per namespace (4.9). Order: ban_user_namespaces() while /proc/sys
// is writable and after it prove_ban(); drop_capabilities() last but for no_new_privs and Landlock,
// since everything before needs them. Does not stop: what an id may do without capabilities.
#pragma once

#include <cstdint>
#include <vector>

#include "isolate/fault.hpp"
#include "plan/plan.hpp"

namespace mayfly::isolate::rights {

// Index in the fault: which of the plan's rlimits.
[[nodiscard]] Fault set_rlimits(const std::vector<plan::Rlimit>& limits) noexcept;

// Writes 0 to user.max_user_namespaces of our own namespace, through the new root's /proc.
[[nodiscard]] Fault ban_user_namespaces(int root) noexcept;

// Tries to make a user namespace: EEXIST if that works.
[[nodiscard]] Fault prove_ban() noexcept;

// A session keyring of its own: the caller's is out of reach.
[[nodiscard]] Fault new_session_keyring() noexcept;

struct Capabilities {
  std::uint64_t keep = 0;   // unsafe: what the task keeps
  bool change_ids = false;  // init gets ids of its own, and keeps what it needs to set the task's
  unsigned init_uid = 0, init_gid = 0;
};

// Drops from the bounding set what neither init nor the task keeps. Any time after the clone: what
// the child itself may do until it executes init does not depend on it.
[[nodiscard]] Fault shrink_bounding_set(const Capabilities& wanted) noexcept;

// After shrink_bounding_set(): empties the bounding set and every other one, but for `keep`; with
// change_ids, init also keeps SETUID, SETGID and KILL. What it keeps is ambient; a task's child of
// init drops what is not the task's.
[[nodiscard]] Fault drop_capabilities(const Capabilities& wanted) noexcept;

[[nodiscard]] Fault no_new_privs() noexcept;

}  // namespace mayfly::isolate::rights
