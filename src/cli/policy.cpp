// `mayfly policy`: what policies there are, what they come to, what is wrong with one.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json_writer.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/named_file.hpp"
#include "cli/say.hpp"
#include "cli/store.hpp"
#include "cli/verbs.hpp"
#include "host/facts.hpp"
#include "plan/filter.hpp"
#include "policy/effective.hpp"
#include "policy/programs.hpp"
#include "policy/store.hpp"

namespace mayfly::cli {
namespace {

using policy::Policy;
using policy::Value;
using Words = std::vector<std::string>;

constexpr int kDifferent = 1;

struct Answer {
  std::string text;
  bool differs = false;
  std::optional<Error> fault = std::nullopt;  // which the text has, too
};

struct Read {
  Policy policy;
  spec::Draft draft;
  std::vector<Value> values;
};

Result<Read> read(const Request& request, const std::string& name) {
  Read read;
  read.policy = TRY(policy::load_policy(caller_store(request), name));
  read.draft.read_file = read_named_file;
  read.values = TRY(policy::effective(read.draft, read.policy));
  return read;
}

// A member that is null where there is no text.
void add_text(JsonWriter& json, const char* key, const std::string& text) {
  json.key(key);
  text.empty() ? json.null() : json.value(text);
}

// What is wrong with a policy that a name leads to; empty: nothing.
std::string fault_of(const Request& request, const policy::Found& found) {
  const Result<Read> read = cli::read(request, found.name);
  return read ? std::string() : describe(read.error());
}

Result<std::string> list_text(const Request& request) {
  const std::vector<policy::Found> all = policy::list_policies(caller_store(request));
  std::size_t width = 0;
  for (const policy::Found& found : all)
    width = std::max(width, found.name.size());
  std::string text;
  JsonWriter json;
  json.begin_object().member("v", 1).key("policies").begin_array();
  for (const policy::Found& found : all) {
    text += found.name + std::string(width + 2 - found.name.size(), ' ') + printable(found.file);
    if (!found.shadows.empty()) text += ", before " + printable(found.shadows);
    const std::string fault = fault_of(request, found);
    if (!fault.empty()) text += " (BROKEN: " + fault + ")";
    text += "\n";
    json.begin_object().member("name", found.name);
    add_text(json, "file", found.file.starts_with('/') ? found.file : "");  // or a stock policy
    add_text(json, "shadows", found.shadows);
    add_text(json, "error", fault);
    json.end_object();
  }
  json.end_array().end_object();
  return request.json ? json.take() + "\n" : text;
}

void add_value(JsonWriter& json, const Value& value) {
  json.begin_object();
  json.member("key", value.setting->document_key());
  const std::string item =
      !value.name.empty()
          ? value.name
          : std::string(value.setting->text != nullptr ? "" : value.setting->item_key());
  add_text(json, "item", item);
  json.member("value", value.text);
  add_text(json, "from", value.origin);
  json.member("weakens", value.setting->isolation == Isolation::Weakened && value.text != "false");
  json.end_object();
}

Result<std::string> show_text(const Request& request, const std::string& name) {
  const Read read = TRY(cli::read(request, name));
  if (!request.json) return policy::write_toml(read.policy, read.values);
  JsonWriter json;
  json.begin_object().member("v", 1).member("name", name).key("chain").begin_array();
  for (const policy::Layer& layer : read.policy.layers)
    json.value(layer.file);
  json.end_array().key("values").begin_array();
  for (const Value& value : read.values)
    add_value(json, value);
  json.end_array().end_object();
  return json.take() + "\n";
}

// Everything that a run would find wrong before it looks at the host. What it would do and nobody
// can mean.
Result<std::vector<std::string>> check(const Request& request, const std::string& name) {
  const Read read = TRY(cli::read(request, name));
  const spec::Spec& spec = read.draft.spec;
  std::vector<std::string> missed;
  for (std::size_t variant = 0; variant < policy::kVariants; ++variant)
    missed = TRY(policy::programs_for(spec.syscalls, static_cast<policy::Stock>(variant))).missed;
  host::HostFacts facts;
  if (!spec.seccomp_file.empty()) {
    Result<std::string> profile = about({.key = "seccomp"}, read_named_file(spec.seccomp_file));
    if (!profile) return spec::with_place(read.draft, std::move(profile).error());
    facts.seccomp_profile = std::move(*profile);
  }
  plan::Plan plan;
  const Result<void> filtered = plan::choose_filter(spec, facts, plan);
  if (!filtered) return spec::with_place(read.draft, filtered.error());
  std::vector<std::string> warnings;
  for (const std::string& group : missed)
    warnings.push_back(policy::missed_words(group));
  return warnings;
}

Result<Answer> check_text(const Request& request, const std::string& name) {
  const Result<std::vector<std::string>> checked = check(request, name);
  if (!checked && !request.json) return checked.error();
  const std::vector<std::string> warnings = checked ? *checked : std::vector<std::string>();
  Answer answer{.text = shown(name) + ": good\n"};
  if (!checked) answer.fault = checked.error();
  JsonWriter json;
  json.begin_object().member("v", 1).member("name", name).member("good", !answer.fault);
  add_text(json, "error", answer.fault ? describe(*answer.fault) : "");
  add_text(json, "hint", answer.fault ? answer.fault->hint : "");
  json.key("warnings").begin_array();
  for (const std::string& warning : warnings) {
    answer.text += "warning: " + warning + "\n";
    json.value(warning);
  }
  json.end_array().end_object();
  if (request.json) answer.text = json.take() + "\n";
  return answer;
}

// The values of `a` that `b` does not have.
std::vector<Value> missing_in(const std::vector<Value>& a, const std::vector<Value>& b) {
  std::vector<Value> missing;
  for (const Value& value : a) {
    const auto same = [&](const Value& other) { return value.says_the_same(other); };
    if (std::none_of(b.begin(), b.end(), same)) missing.push_back(value);
  }
  return missing;
}

Result<Answer> difference(const Request& request, const std::string& first,
                          const std::string& second) {
  const Read a = TRY(read(request, first));
  const Read b = TRY(read(request, second));
  const std::vector<Value> removed = missing_in(a.values, b.values);
  const std::vector<Value> added = missing_in(b.values, a.values);
  Answer result{.text = {}, .differs = !removed.empty() || !added.empty()};
  if (request.json) {
    JsonWriter json;
    json.begin_object().member("v", 1);
    for (const auto& [key, values] : {std::pair{"removed", &removed}, {"added", &added}}) {
      json.key(key).begin_array();
      for (const Value& value : *values)
        add_value(json, value);
      json.end_array();
    }
    json.end_object();
    result.text = json.take() + "\n";
    return result;
  }
  for (const auto& [sign, values] : {std::pair{"- ", &removed}, {"+ ", &added}}) {
    for (const Value& value : *values) {
      const std::string list = policy::array_of(value);
      result.text += sign + (list.empty() ? "" : list + ": ") + policy::toml_of(value) + "\n";
    }
  }
  return result;
}

Error misused(const Words& words) {
  const std::vector<std::string_view> verbs(kPolicyVerb.first.begin(), kPolicyVerb.first.end());
  constexpr const char* kTakes[] = {"it takes no name", "it takes one name", "it takes one name",
                                    "it takes two names"};
  const char* hint = "mayfly policy list, show NAME, check NAME, or diff NAME NAME";
  if (words.empty()) return usage_error("do something with policies: no word says what", hint);
  const auto at = std::find(verbs.begin(), verbs.end(), words[0]) - verbs.begin();
  if (static_cast<std::size_t>(at) < std::size(kTakes)) {
    const std::size_t given = words.size() - 1;
    return usage_error(words[0] + " policies: " + kTakes[at] + ", and " +
                           (given == 0   ? "none was given"
                            : given == 1 ? "one was given"
                                         : std::to_string(given) + " were given"),
                       hint);
  }
  const std::string_view meant = nearest(words[0], verbs);
  return usage_error("do " + shown(words[0]) + " with policies: there is no such thing",
                     meant.empty() ? hint : "did you mean " + std::string(meant) + "?");
}

Result<Answer> done(const Request& request) {
  const Words& words = request.spec.argv;
  const auto text = [](Result<std::string> made) -> Result<Answer> {
    return Answer{.text = TRY(std::move(made))};
  };
  const std::string verb = words.empty() ? "" : words[0];
  if (verb == "list" && words.size() == 1) return text(list_text(request));
  if (verb == "show" && words.size() == 2) return text(show_text(request, words[1]));
  if (verb == "check" && words.size() == 2) return check_text(request, words[1]);
  if (verb == "diff" && words.size() == 3) return difference(request, words[1], words[2]);
  return misused(words);
}

}  // namespace

int policy(const Request& request) {
  const Result<Answer> answer = done(request);
  const int printed = answer ? print(answer->text) : 0;
  if (!answer || answer->fault) {
    say(complaint(answer ? *answer->fault : answer.error()));
    return kFailed;
  }
  return printed == 0 && answer->differs ? kDifferent : printed;
}

}  // namespace mayfly::cli
