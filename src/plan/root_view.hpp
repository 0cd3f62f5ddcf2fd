// The root as the task sees it: which trees, which writes go where, what is hidden. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "plan/plan.hpp"
#include "plan/project.hpp"

namespace mayfly::plan {

struct RootView {
  std::vector<Node> etc_files;  // the sandbox's own passwd, hosts, …, paths relative to /etc
  Project project;
};

// Fills in plan.mounts and plan.seals, and a note for each tree that is not what was asked for.
// plan.ids and the spec's root and fs decide. Refuses what cannot be shown: a directory whose
// mounts hide something, an overlay where the kernel takes none.
[[nodiscard]] Result<void> plan_root(const spec::Spec& spec, const host::HostFacts& facts,
                                     const RootView& view, Plan& plan);

}  // namespace mayfly::plan
