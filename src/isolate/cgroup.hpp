// Cgroup: a fresh one for each sandbox.
//
// Threat: processes that escape the kill of their tree. Kernel: cgroup v2, CLONE_INTO_CGROUP (5.7),
// cgroup.kill (5.14). Order: made before the clone; removed after `populated 0`. Never used again
// after a kill: some kernels then kill a child at birth. Does not stop: anything by itself; the
// sandbox never sees a cgroup mount.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "plan/plan.hpp"

namespace mayfly::isolate::cgroup {

struct Made {
  Fd directory;  // O_DIRECTORY | O_RDONLY
  std::string path;
};

// Makes one more cgroup, and says which of a tree's own limits stops it.
[[nodiscard]] Result<void> make_directory(const std::string& path);

// Makes <parent>/mayfly-<id>.
[[nodiscard]] Result<Made> make(const std::string& parent, const std::string& id);

// Sets its limits and reads them back, before anybody is in it.
[[nodiscard]] Result<void> limit(const Made& made, const plan::CgroupLimits& limits);

// How many processes the OOM killer ended in it (`oom_kill` of memory.events); nullopt: it has no
// memory controller.
[[nodiscard]] std::optional<std::uint64_t> oom_kills(const Fd& directory);

// No further cgroup can be made in it: before anything inside could try.
[[nodiscard]] Result<void> forbid_below(const Made& made);

// Moves a process into it (where CLONE_INTO_CGROUP cannot be used).
[[nodiscard]] Result<void> add(const Made& made, pid_t pid);

// Removes the directory. Retries for a moment: the last process may still be on its way out.
[[nodiscard]] Result<void> remove(const std::string& path);

// The same for one that is known by its parent; false: it was gone already.
[[nodiscard]] Result<bool> remove_from(const Fd& parent, const std::string& name);

}  // namespace mayfly::isolate::cgroup
