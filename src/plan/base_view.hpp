// What every root has, whatever it is made from: devices, /proc and what is closed in it, /tmp, the
// task's home.
#pragma once

#include "plan/plan.hpp"
#include "plan/skeleton.hpp"

namespace mayfly::plan {

void add_base(Skeleton& root, const Ids& ids);

[[nodiscard]] MountStep proc_step();

void add_devices(Plan& plan);

// True if somebody inside has the id of the host's root.
[[nodiscard]] bool maps_host_root(const Ids& ids);

void add_proc_seals(Plan& plan);

}  // namespace mayfly::plan
