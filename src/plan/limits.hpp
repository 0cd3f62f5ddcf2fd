// Limits: by which means this host holds a sandbox to each, or why it cannot.
#pragma once

#include <string>

#include "base/result.hpp"
#include "host/facts.hpp"
#include "plan/plan.hpp"
#include "spec/spec.hpp"

namespace mayfly::plan {

// The controllers without which a limit of the request cannot be held, as far as the request alone
// tells. Those of a request that has none need no look at the cgroup tree.
[[nodiscard]] host::Controllers wanted_controllers(const spec::Limits& limits);

// After the ids. Fills in what the plan says of the layer, rlimits and cgroup. Refuses a limit that
// cannot be held here, unless the request says that it may be.
[[nodiscard]] Result<void> add_limits(const spec::Spec& spec, const host::HostFacts& facts,
                                      Plan& plan);

// The plan as it is where these controllers turn out to be out of reach: for best_effort.
void drop_controllers(Plan& plan, host::Controllers lost, const std::string& why);

// What is said of a layer that is in `place`, a directory on disk.
[[nodiscard]] Note disk_layer_note(const Plan& plan, const std::string& place);

// The words for a strict request whose controllers cannot be had.
[[nodiscard]] Error no_controllers(host::Controllers missing, const std::string& why,
                                   const host::HostFacts& facts);

}  // namespace mayfly::plan
