// Lookups in a plan, for its tests.
#pragma once

#include <algorithm>
#include <string>

#include "plan/plan.hpp"

namespace mayfly::test {

// The first step at a target, or null.
inline const plan::MountStep* at(const plan::Plan& plan, const std::string& target) {
  const auto found = std::find_if(plan.mounts.begin(), plan.mounts.end(),
                                  [&](const auto& step) { return step.target == target; });
  return found == plan.mounts.end() ? nullptr : &*found;
}

inline const plan::Node* node(const plan::MountStep& step, const std::string& path) {
  const auto found = std::find_if(step.skeleton.begin(), step.skeleton.end(),
                                  [&](const auto& each) { return each.path == path; });
  return found == step.skeleton.end() ? nullptr : &*found;
}

}  // namespace mayfly::test
