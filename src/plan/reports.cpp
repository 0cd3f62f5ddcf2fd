#include "plan/reports.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/text.hpp"
#include "plan/covering.hpp"

namespace mayfly::plan {
namespace {

using host::ReportPlace;

// What is mounted over a part of it protects nothing: the directories above can be moved away.
const MountStep* live_tree_around(const ReportPlace& place, const host::HostFacts& facts,
                                  const Plan& plan) {
  for (const MountStep& step : plan.mounts) {
    if (!is_live(step)) continue;
    if (is_within(place.path, host::real_path(facts.sources, step.source))) return &step;
    const bool is_above = step.inode && std::find(place.above.begin(), place.above.end(),
                                                  *step.inode) != place.above.end();
    if (is_above) return &step;
  }
  return nullptr;
}

std::string option_of(const MountStep& step, const spec::Spec& spec) {
  if (!step.entry) return "--project rw";
  return std::string(spec::option_of(spec.fs[*step.entry].kind));
}

struct Words {
  const char* key;
  std::string action;
  std::string remedy;
};

Words words_of(const ReportPlace& place, const spec::Spec& spec) {
  const std::string path = shown(place.path);
  switch (place.kind) {
    case ReportPlace::Kind::Result:
      return {"result", "write the result to " + path, "name a file outside of it"};
    case ReportPlace::Kind::Status:
      return {
          "status-fd",
          "write the status to descriptor " + std::to_string(spec.status_fd) + ", which is " + path,
          "open a pipe or a file outside of it there"};
    case ReportPlace::Kind::Control:
      break;
  }
  return {"control-fd",
          "read commands from descriptor " + std::to_string(spec.control_fd) + ", which is " + path,
          "open a pipe or a FIFO outside of it there"};
}

}  // namespace

Result<void> check_reports(const spec::Spec& spec, const host::HostFacts& facts, const Plan& plan) {
  for (const ReportPlace& place : facts.report_places) {
    const MountStep* tree = live_tree_around(place, facts, plan);
    if (tree == nullptr) continue;
    Words words = words_of(place, spec);
    return about({.key = words.key},
                 Result<void>(usage_error(
                     words.action + ": the command could write there, too, since it has " +
                         shown(tree->source) + " live (" + option_of(*tree, spec) + ")",
                     words.remedy + ", or show the tree copy-on-write or read-only")));
  }
  return {};
}

}  // namespace mayfly::plan
