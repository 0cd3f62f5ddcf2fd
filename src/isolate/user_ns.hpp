// User namespace: the task's ids.
//
// Threat: a task that keeps the caller's (or root's) id outside. Kernel: user namespaces (3.8),
// id-mapped mounts (5.12). Order: the parent writes the maps before the child builds anything
// (a tmpfs made by an unmapped id fails with EOVERFLOW); the child changes its ids before it sets
// PDEATHSIG, which an id change clears. Does not stop: what an id may do to its own files; an
// ordinary caller's supplementary groups, which cannot be dropped (setgroups is denied).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "isolate/fault.hpp"
#include "plan/plan.hpp"

namespace mayfly::isolate::user_ns {

// A throwaway range of host ids that no other sandbox of this host uses while `lock` is open.
struct Range {
  Fd lock;
  std::uint32_t base = 0;
};

// Locks a free range, clear of `taken`: one byte of `lock_file` stands for each 64 Ki-aligned
// range. The file is made (0600) if it is missing, opened without following links. The kernel drops
// the lock with the descriptor, whatever ends the process.
[[nodiscard]] Result<Range> lock_range(const std::string& lock_file,
                                       const std::vector<plan::IdRange>& taken);

// Writes setgroups, uid_map and gid_map of `pid`.
[[nodiscard]] Result<void> from_parent(const plan::Ids& ids, std::uint32_t base, pid_t pid);

// Ids during the set-up, inside: root of a mapped range, or the one mapped id.
struct Prepared {
  bool change = false;       // a range is mapped: become its id 0
  bool drop_groups = false;  // where setgroups is not denied
};

[[nodiscard]] Fault enter(const Prepared& prepared) noexcept;

}  // namespace mayfly::isolate::user_ns
