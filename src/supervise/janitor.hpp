// Janitor: removes what killed supervisors left behind: registry entries that nobody holds, and
// their cgroups. `mayfly gc`, and a short sweep in runs that live long enough.
//
// Threat: registry content that makes us kill or remove what is not ours. A cgroup is touched only
// if the entry's lock is free, its record names this boot, its path lies below the cgroup v2 mount
// and ends in mayfly-<id>, no link or mount leads there, and its inode is the recorded one. Without
// a recorded inode (a start that was killed half-way) it is only removed if it is empty, which is
// for the kernel to decide.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "supervise/registry.hpp"

namespace mayfly::supervise {

// Gone: its owner or another janitor was faster; no word is said about it.
enum class Fate { Removed, WouldRemove, InUse, Kept, Gone };

struct Verdict {
  std::string what;  // an id, or the path of a cgroup
  Fate fate = Fate::Kept;
  std::string why;  // why it is kept; for a removed one what was special about it, or empty
};

enum class GcMode { Remove, DryRun };

struct GcRequest {
  GcMode mode = GcMode::Remove;
  std::string cgroup_mount;                  // of the v2 tree; empty: cgroups are left alone
  std::vector<std::string> cgroup_parents;   // where cgroups without an entry are looked for
  std::string layer_parent;                  // where layers on disk without one are, or empty
  std::size_t most = SIZE_MAX;               // entries, and cgroups of each parent, looked at
  std::int64_t patience_ns = 2'000'000'000;  // for killed processes to be gone, per cgroup
  // A younger cgroup may belong to a start that has not come to lock it.
  std::int64_t orphan_age_ns = 1'000'000'000;
  // A younger entry without a state is one that is being made, or removed by its owner.
  std::int64_t unfinished_age_ns = 10'000'000'000;
};

// A layer on disk is removed if nobody holds its lock and it is the one that its record names, or,
// of those without an entry, if it has the mark of one (src/isolate/disk_layer.hpp).
//
// Goes through all entries, then through the parents: in its first 100 ms a run has no entry (see
// supervisor.cpp), so one that is killed then leaves an empty cgroup with a random name. The
// cgroup's own lock (src/isolate/cgroup.cpp) tells it from one that is in use.
[[nodiscard]] Result<std::vector<Verdict>> collect(const RuntimeDir& directory,
                                                   const GcRequest& request);

// One entry, for a start that wants its name: one that is being made is taken, too, and whoever
// made it sees that it lost.
[[nodiscard]] Verdict remove_stale(const RuntimeDir& directory, const std::string& id,
                                   const std::string& cgroup_mount);

// The sweep of a run: at most 16 entries, at most once a minute for all runs together, waits for
// nothing, leaves layers on disk alone. What goes wrong is left to gc.
void sweep(const RuntimeDir& directory, const std::string& cgroup_mount,
           const std::string& cgroup_parent);

// What `ps` shows.
struct Listed {
  std::string id;
  bool live = false;  // somebody holds its lock
  std::optional<Record> record;
  std::string problem;  // why there is no record
};
[[nodiscard]] Result<std::vector<Listed>> list(const RuntimeDir& directory);

}  // namespace mayfly::supervise
