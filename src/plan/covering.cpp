#include "plan/covering.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace mayfly::plan {

const MountStep* mount_over(std::span<const MountStep> steps, std::string_view target) {
  const auto covers = [&](const MountStep& step) {
    if (step.kind == MountKind::Nodes || step.optional) return false;
    return step.target.empty() || is_within(target, step.target);
  };
  const auto found = std::find_if(steps.rbegin(), steps.rend(), covers);
  return found == steps.rend() ? nullptr : &*found;
}

bool is_live(const MountStep& step) {
  return step.kind == MountKind::Bind && step.access == Access::ReadWrite && !step.devices;
}

}  // namespace mayfly::plan
