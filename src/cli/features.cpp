// `mayfly features`: what this host and this program can do, as a list for other programs.
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/probe_rows.hpp"
#include "cli/say.hpp"
#include "cli/verbs.hpp"
#include "host/facts.hpp"

namespace mayfly::cli {
namespace {

std::string as_text(const std::vector<host::ProbeRow>& rows) {
  std::string text;
  for (const host::ProbeRow& row : rows)
    text += row_text(row);
  return text;
}

std::string as_json(const std::vector<host::ProbeRow>& rows) {
  JsonWriter json;
  json.begin_object().member("v", 1).member("version", MAYFLY_VERSION).key("host").begin_array();
  for (const host::ProbeRow& row : rows)
    write_row(json, row);
  json.end_array().key("verbs").begin_object();
  for (const Verb* verb : verbs()) {
    json.key(verb->name).begin_array();
    for (const Option& option : verb->options)
      json.value(option.name);
    json.end_array();
  }
  return json.end_object().end_object().take() + "\n";
}

}  // namespace

int features(const Request& request) {
  const Result<host::HostFacts> facts = host::gather();
  if (!facts) {
    say(complaint(facts.error()));
    return kFailed;
  }
  const std::vector<host::ProbeRow> rows = host::probe(*facts);
  return print(request.json ? as_json(rows) : as_text(rows));
}

}  // namespace mayfly::cli
