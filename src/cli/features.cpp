// `mayfly features` and `mayfly doctor`: what this host can do, and what to do about the rest.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.hpp"
#include "cli/say.hpp"
#include "host/facts.hpp"
#include "host/probe.hpp"
#include "report/status.hpp"
#include "supervise/supervisor.hpp"

namespace mayfly::cli {
namespace {

using host::ProbeRow;
using host::Verdict;

nlohmann::json as_json(const ProbeRow& row) {
  nlohmann::json object = {{"name", row.name},
                           {"verdict", host::verdict_name(row.verdict)},
                           {"needed", row.need == host::Need::Always},
                           {"detail", row.detail}};
  if (row.error != 0) object["errno"] = errno_name(row.error);
  if (!row.cause.empty()) object["cause"] = row.cause;
  if (!row.remedy.empty()) object["remedy"] = row.remedy;
  return object;
}

nlohmann::json as_json(const std::vector<ProbeRow>& rows) {
  nlohmann::json list = nlohmann::json::array();
  for (const ProbeRow& row : rows)
    list.push_back(as_json(row));
  return list;
}

std::string line(const nlohmann::json& document) {
  return document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string as_text(const ProbeRow& row) {
  std::string text =
      fmt::format("{:<10} {:<24} {}\n", host::verdict_name(row.verdict), row.name, row.detail);
  if (row.verdict != Verdict::Fails) return text;
  if (!row.cause.empty()) text += fmt::format("{:<10} cause: {}\n", "", row.cause);
  if (!row.remedy.empty()) text += fmt::format("{:<10} hint: {}\n", "", row.remedy);
  return text;
}

// A real sandbox, by the very plan and steps of `mayfly run`: what the rows say is worth nothing
// where this fails.
supervise::Outcome trial(const host::HostFacts& facts) {
  spec::Spec spec;
  spec.argv = {"true"};
  spec.project = spec::ProjectMode::None;
  spec.stdin_kind = spec::StdinKind::Null;
  spec.ttl = std::chrono::seconds(30);
  report::Reporter nobody;
  return supervise::run(spec, facts, {}, nobody);
}

bool succeeded(const supervise::Outcome& outcome) {
  return outcome.reason == supervise::Reason::Exited && outcome.code == 0 && outcome.clean;
}

std::string trial_detail(const supervise::Outcome& outcome) {
  if (outcome.error) return describe(*outcome.error);
  if (!outcome.clean) return outcome.unclean_why;
  return fmt::format("{} ({})", supervise::reason_name(outcome.reason), outcome.code);
}

nlohmann::json trial_json(const supervise::Outcome& outcome) {
  nlohmann::json object = {{"works", succeeded(outcome)}, {"detail", trial_detail(outcome)}};
  if (outcome.error && !outcome.error->hint.empty()) object["hint"] = outcome.error->hint;
  nlohmann::json notes = nlohmann::json::array();
  for (const plan::Note& note : outcome.notes) {
    notes.push_back({{"what", note.what},
                     {"enforced", note.enforcement == plan::Enforcement::Enforced},
                     {"how", note.how}});
  }
  object["notes"] = std::move(notes);
  return object;
}

std::string doctor_text(const supervise::Outcome& outcome, const std::vector<ProbeRow>& rows) {
  std::string text;
  for (const ProbeRow& row : rows)
    text += as_text(row);
  for (const plan::Note& note : outcome.notes) {
    const bool enforced = note.enforcement == plan::Enforcement::Enforced;
    text +=
        fmt::format("{:<10} {:<24} {}\n", enforced ? "enforced" : "weaker", note.what, note.how);
  }
  text += succeeded(outcome) ? "mayfly run works here: a sandbox was made, used and removed\n"
                             : "mayfly run does not work here: " + trial_detail(outcome) + "\n";
  if (outcome.error && !outcome.error->hint.empty()) text += "hint: " + outcome.error->hint + "\n";
  return text;
}

}  // namespace

int features(const Request& request) {
  const Result<host::HostFacts> facts = host::gather();
  if (!facts) {
    say(complaint(facts.error()));
    return kFailed;
  }
  const std::vector<ProbeRow> rows = host::probe(*facts);
  if (request.json) {
    return print(line({{"v", 1}, {"version", MAYFLY_VERSION}, {"features", as_json(rows)}}));
  }
  std::string text;
  for (const ProbeRow& row : rows)
    text += as_text(row);
  return print(text);
}

int doctor(const Request& request) {
  const Result<host::HostFacts> facts = host::gather();
  if (!facts) {
    say(complaint(facts.error()));
    return kFailed;
  }
  const std::vector<ProbeRow> rows = host::probe(*facts);
  const supervise::Outcome outcome = trial(*facts);
  const int printed = print(
      request.json ? line({{"v", 1}, {"run", trial_json(outcome)}, {"features", as_json(rows)}})
                   : doctor_text(outcome, rows));
  if (printed != 0) return printed;
  return succeeded(outcome) ? 0 : kFailed;
}

}  // namespace mayfly::cli
