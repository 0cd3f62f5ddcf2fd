// `mayfly gc`.
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/say.hpp"
#include "host/facts.hpp"
#include "supervise/janitor.hpp"

namespace mayfly::cli {
namespace {

using supervise::Fate;
using supervise::Verdict;

struct FateName {
  Fate fate;
  std::string_view json;
  std::string_view words;
};
constexpr FateName kFates[] = {{Fate::Removed, "removed", "removed"},
                               {Fate::WouldRemove, "would_remove", "would remove"},
                               {Fate::InUse, "in_use", "in use"},
                               {Fate::Kept, "kept", "kept"}};

const FateName& name_of(Fate fate) {
  for (const FateName& row : kFates) {
    if (row.fate == fate) return row;
  }
  return kFates[3];
}

std::string as_json(const std::vector<Verdict>& verdicts) {
  nlohmann::json list = nlohmann::json::array();
  for (const Verdict& verdict : verdicts) {
    list.push_back(
        {{"what", verdict.what}, {"fate", name_of(verdict.fate).json}, {"why", verdict.why}});
  }
  const nlohmann::json document = {{"v", 1}, {"entries", list}};
  return document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string as_text(const std::vector<Verdict>& verdicts) {
  std::string text;
  for (const Verdict& verdict : verdicts) {
    text += std::string(name_of(verdict.fate).words) + " " + shown(verdict.what);
    if (!verdict.why.empty()) text += ": " + verdict.why;
    text += "\n";
  }
  return text;
}

Result<std::vector<Verdict>> collect(const Request& request) {
  const host::HostFacts facts = TRY(host::gather());
  const supervise::RuntimeDir directory = TRY(supervise::RuntimeDir::open(facts.runtime_dir));
  supervise::GcRequest gc;
  gc.mode = request.dry_run ? supervise::GcMode::DryRun : supervise::GcMode::Remove;
  gc.cgroup_mount = facts.cgroup.mount;
  if (facts.cgroup.writable) {
    gc.cgroup_parents.push_back(facts.cgroup.own == "/" ? facts.cgroup.mount
                                                        : facts.cgroup.mount + facts.cgroup.own);
  }
  return supervise::collect(directory, gc);
}

}  // namespace

int gc(const Request& request) {
  const Result<std::vector<Verdict>> verdicts = collect(request);
  if (!verdicts) {
    say(complaint(verdicts.error()));
    return kFailed;
  }
  const int printed = print(request.json ? as_json(*verdicts) : as_text(*verdicts));
  if (printed != 0) return printed;
  for (const Verdict& verdict : *verdicts) {
    if (verdict.fate == Fate::Kept) return kFailed;
  }
  return 0;
}

}  // namespace mayfly::cli
