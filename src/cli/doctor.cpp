// `mayfly doctor`: tries each mechanism, then a whole sandbox by the very plan and steps of `run`.
#include <string>
#include <utility>
#include <vector>

#include "cli/caller.hpp"
#include "cli/commands.hpp"
#include "cli/gather.hpp"
#include "cli/probe_rows.hpp"
#include "cli/say.hpp"
#include "host/facts.hpp"
#include "supervise/supervisor.hpp"

namespace mayfly::cli {
namespace {

using supervise::Outcome;
using supervise::Reason;

class Silent final : public supervise::Observer {
 public:
  void created(const Outcome&, const plan::Plan&) override {}
  void started(int) override {}
  void ending(Reason) override {}
  void ended(const Outcome&) override {}
};

struct Findings {
  std::vector<host::ProbeRow> rows;
  Outcome trial;
};

spec::Spec trial_spec() {
  spec::Spec spec;
  spec.argv = {"true"};
  spec.stdin_kind = spec::StdinKind::Null;
  spec.ttl = std::chrono::seconds(10);
  return spec;
}

Outcome try_a_sandbox(const spec::Spec& spec, const host::HostFacts& facts,
                      const supervise::Beginning& beginning) {
  Silent observer;
  return supervise::run(spec, facts, caller_environment(), beginning, observer);
}

bool works(const Outcome& trial) {
  return trial.reason == Reason::Exited && trial.code == 0 && trial.clean;
}

bool is_well(const Findings& findings) {
  for (const host::ProbeRow& row : findings.rows) {
    if (row.verdict == host::Verdict::Fails && row.need == host::Need::Always) return false;
  }
  return works(findings.trial);
}

std::string trial_problem(const Outcome& trial) {
  if (trial.error) return describe(*trial.error);
  if (!trial.clean) return trial.unclean_why;
  return std::string(supervise::reason_name(trial.reason)) + ", code " + std::to_string(trial.code);
}

host::ProbeRow trial_row(const Outcome& trial) {
  host::ProbeRow row;
  row.name = "sandbox";
  row.verdict = works(trial) ? host::Verdict::Works : host::Verdict::Fails;
  row.detail = works(trial) ? "one was made, ran true and is gone" : trial_problem(trial);
  if (trial.error) row.remedy = trial.error->hint;
  return row;
}

std::string as_text(const Findings& findings) {
  std::string text;
  for (const host::ProbeRow& row : findings.rows)
    text += row_text(row);
  text += row_text(trial_row(findings.trial));
  if (!findings.trial.notes.empty()) text += "\nOf a sandbox with the stock options:\n";
  for (const plan::Note& note : findings.trial.notes)
    text += "  " + note.what + ": " + note.how + "\n";
  text += is_well(findings) ? "\nSandboxes can be run here.\n"
                            : "\nSandboxes cannot be run here as they should.\n";
  return text;
}

std::string as_json(const Findings& findings) {
  JsonWriter json;
  json.begin_object().member("v", 1).member("ok", is_well(findings)).key("checks").begin_array();
  for (const host::ProbeRow& row : findings.rows)
    write_row(json, row);
  write_row(json, trial_row(findings.trial));
  json.end_array().key("notes").begin_array();
  for (const plan::Note& note : findings.trial.notes)
    json.begin_object().member("what", note.what).member("how", note.how).end_object();
  return json.end_array().end_object().take() + "\n";
}

}  // namespace

int doctor(const Request& request) {
  spec::Spec spec = trial_spec();
  const Result<host::HostFacts> facts = gather_facts(spec, request.working_dir);
  if (!facts) {
    say(complaint(facts.error()));
    return kFailed;
  }
  Findings findings;
  findings.rows = host::probe(*facts);
  findings.trial = try_a_sandbox(spec, *facts, *request.beginning);
  const int printed = print(request.json ? as_json(findings) : as_text(findings));
  return is_well(findings) ? printed : kFailed;
}

}  // namespace mayfly::cli
