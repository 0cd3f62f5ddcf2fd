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

std::string on_host(const MountStep& over, const std::string& target) {
  const std::string source = !over.source.empty()      ? over.source
                             : over.lowers.size() == 1 ? over.lowers[0]
                                                       : std::string();
  if (source.empty() || over.target.empty()) return source;
  if (target.size() <= over.target.size()) return source;
  return entry_path(source, target.substr(over.target.size() + 1));
}

}  // namespace mayfly::plan
