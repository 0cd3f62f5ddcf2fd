// `mayfly gc`: removes what crashed sandboxes left behind.
#include <string>
#include <string_view>
#include <vector>

#include "base/json_writer.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/say.hpp"
#include "host/facts.hpp"
#include "supervise/janitor.hpp"

namespace mayfly::cli {
namespace {

using supervise::Fate;
using supervise::Verdict;

struct FateWords {
  std::string_view name;  // in JSON
  std::string_view text;
};

FateWords words_for(Fate fate) {
  switch (fate) {
    case Fate::Removed:
      return {"removed", "removed"};
    case Fate::WouldRemove:
      return {"would_remove", "would be removed"};
    case Fate::InUse:
      return {"in_use", "in use"};
    case Fate::Kept:
    case Fate::Gone:
      break;
  }
  return {"kept", "kept"};
}

std::string as_text(const std::vector<Verdict>& verdicts) {
  std::string text;
  for (const Verdict& verdict : verdicts) {
    text += shown(verdict.what) + ": " + std::string(words_for(verdict.fate).text);
    if (!verdict.why.empty()) text += ": " + verdict.why;
    text += '\n';
  }
  return text.empty() ? "nothing is left to remove\n" : text;
}

std::string as_json(const std::vector<Verdict>& verdicts) {
  JsonWriter json;
  json.begin_object().member("v", 1).key("entries").begin_array();
  for (const Verdict& verdict : verdicts) {
    json.begin_object().member("what", verdict.what);
    json.member("fate", words_for(verdict.fate).name).member("why", verdict.why).end_object();
  }
  return json.end_array().end_object().take() + "\n";
}

Result<std::vector<Verdict>> collect_all(supervise::GcMode mode) {
  const host::HostFacts facts = TRY(host::gather());
  const supervise::RuntimeDir directory = TRY(supervise::RuntimeDir::open(facts.runtime_dir));
  supervise::GcRequest request;
  request.mode = mode;
  request.cgroup_mount = facts.cgroup.mount;
  if (facts.cgroup.writable) {
    const bool top = facts.cgroup.own == "/";
    request.cgroup_parents = {facts.cgroup.mount + (top ? "" : facts.cgroup.own)};
  }
  if (!facts.cache_dir.empty()) request.layer_parent = facts.cache_dir + "/layers";
  return supervise::collect(directory, request);
}

}  // namespace

int gc(const Request& request) {
  const Result<std::vector<Verdict>> verdicts =
      collect_all(request.dry_run ? supervise::GcMode::DryRun : supervise::GcMode::Remove);
  if (!verdicts) {
    say(complaint(verdicts.error()));
    return kFailed;
  }
  const int printed = print(request.json ? as_json(*verdicts) : as_text(*verdicts));
  for (const Verdict& verdict : *verdicts) {
    if (verdict.fate == Fate::Kept) return kFailed;
  }
  return printed;
}

}  // namespace mayfly::cli
