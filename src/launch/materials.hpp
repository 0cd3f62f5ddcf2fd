// Materials: everything that is made for one attempt at a start before the child exists.
#pragma once

#include "base/fd.hpp"
#include "base/result.hpp"
#include "isolate/cgroup.hpp"
#include "isolate/disk_layer.hpp"
#include "isolate/mounts.hpp"
#include "isolate/user_ns.hpp"
#include "launch/child.hpp"
#include "launch/dialogue.hpp"
#include "launch/launch.hpp"

namespace mayfly::launch {

enum class CgroupEntry { ByClone, ByMove };

// How an attempt is made.
struct Way {
  CgroupEntry entry = CgroupEntry::ByClone;
  isolate::mounts::Upper layer = isolate::mounts::Upper::InMemory;
};

struct Materials {
  Prepared prepared;  // what the child half reads
  isolate::user_ns::Range range;
  isolate::cgroup::Made cgroup;
  isolate::disk_layer::Made disk_layer;
  Fd socket_child, supervisor;
  Child child;  // its socket; the process comes later
};

// Fills `made`; what was made before a failure is there for discard().
[[nodiscard]] Result<void> prepare(const plan::Plan& plan, const StartRequest& request, Way way,
                                   Materials& made);

// That the child half, which goes by its path, came to this layer.
[[nodiscard]] Result<void> check_disk_layer(const isolate::disk_layer::Made& layer,
                                            const Fd& entered);

// Removes the cgroup and the layer on disk that were not handed over. What cannot be removed, the
// next start or gc removes.
void discard(Materials& made);

}  // namespace mayfly::launch
