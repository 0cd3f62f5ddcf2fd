// Covering: which mount of a plan a place inside lies on. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "plan/plan.hpp"

namespace mayfly::plan {

// The last of these steps on whose mount `target` (relative to the new root) lies: its own or one
// above it. Null before the root. A mask that may find nothing to hide does not count.
[[nodiscard]] const MountStep* mount_over(std::span<const MountStep> steps,
                                          std::string_view target);

// What is written there is written to the host.
[[nodiscard]] bool is_live(const MountStep& step);

// The path on the host of what that mount shows at `target`, or empty.
[[nodiscard]] std::string on_host(const MountStep& over, const std::string& target);

}  // namespace mayfly::plan
