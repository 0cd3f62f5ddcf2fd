#include "cli/docs.hpp"

#include <cstddef>
#include <vector>

#include "base/text.hpp"
#include "cli/docs_schema.hpp"
#include "cli/roff.hpp"
#include "cli/verbs.hpp"
#include "policy/groups.hpp"
#include "policy/stock.hpp"
#include "spec/choices.hpp"
#include "spec/setting_table.hpp"
#include "supervise/outcome.hpp"

namespace mayfly::cli {
namespace {

void add_option(std::string& out, const Option& option) {
  out += ".It";
  if (option.letter != 0) out += std::string(" Fl ") + option.letter + " ,";
  out += " Fl " + roff("-" + std::string(option.name));
  if (option.argument != nullptr) out += " Ar \\&" + roff(option.argument);
  out += "\n" + roff_paragraphs(option.man);
  if (option.isolation == Isolation::Weakened) out += "This weakens the isolation.\n";
}

using supervise::Reason;

struct ReasonWords {
  Reason reason;
  const char* code;  // null: always the same one
  const char* words;
};

constexpr ReasonWords kReasonWords[] = {
    {Reason::Exited, "its own", "the command exited"},
    {Reason::Signaled, "128 + N", "the command was killed by signal N"},
    {Reason::ExecFailed, "126 or 127", "the command could not be executed"},
    {Reason::Ttl, nullptr, "its time to live was over"},
    {Reason::Idle, nullptr, "it did nothing for too long"},
    {Reason::CpuLimit, nullptr, "it used too much processor time"},
    {Reason::OutputLimit, nullptr, "it wrote too much output"},
    {Reason::MemoryLimit, nullptr, "it used too much memory"},
    {Reason::LayerLimit, nullptr, "its layer on disk held more than it may"},
    {Reason::SyscallDenied, nullptr, "it was killed for a system call"},
    {Reason::Cancelled, "128 + N", "it was told to end by signal N, or without one (143)"},
    {Reason::SetupFailed, nullptr, "the sandbox could not be made"},
    {Reason::HostUnsupported, nullptr, "the host lacks what every sandbox needs"},
    {Reason::SupervisorLost, nullptr, "its init or its supervisor was lost"},
};

}  // namespace

std::string man_options(const Verb& verb) {
  constexpr std::size_t kMostWithoutHeadings = 5;
  const bool grouped = verb.options.size() > kMostWithoutHeadings;
  std::string out;
  std::string_view group;
  for (const Option& option : verb.options) {
    if (group != option.group) {
      if (!group.empty() && grouped) out += ".El\n";
      if (grouped) out += ".Ss " + roff(option.group) + "\n";
      if (group.empty() || grouped) out += ".Bl -tag -width Ds\n";
      group = option.group;
    }
    add_option(out, option);
  }
  return out + ".El\n";
}

std::string man_verbs() {
  std::string out = ".Bl -tag -width features\n";
  for (const Verb* verb : verbs()) {
    out += ".It Cm " + std::string(verb->name) + "\n" + roff(verb->summary) + ".\n";
  }
  return out + ".El\n";
}

std::string man_reasons() {
  std::string out =
      ".Bl -column host_unsupported \"126 or 127\"\n.It Sy reason Ta Sy code Ta Sy meaning\n";
  for (const ReasonWords& row : kReasonWords) {
    const std::string code =
        row.code != nullptr ? row.code : std::to_string(supervise::exit_code(row.reason, 0));
    out += ".It " + std::string(supervise::reason_name(row.reason)) + " Ta " + code + " Ta " +
           row.words + "\n";
  }
  return out + ".El\n";
}

std::string man_keys() {
  std::string out = ".Bl -tag -width Ds\n";
  for (const spec::Setting& setting : spec::kSettings) {
    if (setting.where != spec::Where::Anywhere) continue;
    const std::string key = roff(setting.document_key());
    const std::string item = roff(setting.item_key());
    const std::string argument =
        setting.argument != nullptr ? roff(setting.argument) : std::string("true|false");
    out += ".It Ic " + key;
    if (setting.form == spec::Form::Item) out += " No {" + item + " = Ar \\&" + argument + " No }";
    if (setting.form == spec::Form::Strings && setting.item != nullptr) out += " Ic ." + item;
    if (setting.form != spec::Form::Item) out += " Ar \\&" + argument;
    out += "\n" + roff(setting.help) + ".\n";
  }
  return out + ".El\n";
}

std::string man_groups() {
  std::string out = ".Bl -tag -width Ds\n";
  for (const policy::Group& group : policy::all_groups()) {
    bool allowed = false;
    for (const policy::StockRule& rule : policy::stock_rules()) {
      if (group.name == rule.group) allowed = rule.stand == spec::Stand::Allow;
    }
    out += ".It Cm " + roff(group.name) + " Pq " + (allowed ? "allowed" : "refused") + "\n" +
           roff_paragraphs(group.reason);
  }
  return out + ".El\n";
}

namespace {

// The words that may follow an option, or begin what does.
std::vector<std::string> words_after(const Option& option) {
  std::vector<std::string> words;
  for (const std::string_view word : spec::choices_of(option.argument).words)
    words.emplace_back(word);
  const std::string_view key = option.setting != nullptr ? option.setting->document_key() : "";
  if (key == "syscalls") {
    for (const policy::Group& group : policy::all_groups())
      words.emplace_back(group.name);
  }
  if (key == "rlimits") {
    for (const spec::Resource& resource : spec::resources())
      words.push_back(std::string(resource.name) + "=");
  }
  return words;
}

}  // namespace

std::string bash_table() {
  std::string names;
  std::string cases;
  for (const Verb* verb : verbs()) {
    names += (names.empty() ? "" : " ") + std::string(verb->name);
    std::string flags, choices, first;
    std::string taking = "|";
    for (const Option& option : verb->options) {
      flags += (flags.empty() ? "--" : " --") + std::string(option.name);
      if (option.argument == nullptr) continue;
      taking += "--" + std::string(option.name) + "|";
      if (option.letter != 0) taking += std::string("-") + option.letter + "|";
      const std::vector<std::string> words = words_after(option);
      if (!words.empty()) choices += "|--" + std::string(option.name);
      for (const std::string& word : words)
        choices += " " + word;
    }
    for (const char* word : verb->first)
      first += (first.empty() ? "" : " ") + std::string(word);
    cases += "    " + std::string(verb->name) + ")\n      flags='" + flags + "'\n      taking='" +
             taking + "'\n      choices='" + choices + "|'\n      first='" + first +
             "'\n      ;;\n";
  }
  return "  verbs='" + names + "'\n  case $verb in\n" + cases + "  esac\n";
}

namespace {

struct Mark {
  std::string_view name;
  std::string (*text)();
};

constexpr Mark kMarks[] = {
    {"VERBS", man_verbs},
    {"REASONS", man_reasons},
    {"KEYS", man_keys},
    {"GROUPS", man_groups},
    {"BASH_TABLE", bash_table},
    {"REASON_NAMES", schema_reasons},
    {"SPEC_PROPERTIES", schema_settings},
};

Result<std::string> fill_mark(std::string_view line, const std::string& schemas) {
  const auto words = split(line.substr(1, line.size() - 2), ' ');
  if (words.size() == 1) {
    for (const Mark& mark : kMarks) {
      if (words[0] == mark.name) return mark.text();
    }
  }
  if (words.size() == 2 && words[0] == "MEMBERS") {
    return man_members(schemas, std::string(words[1]) + ".json");
  }
  const Verb* verb = words.size() == 2 && words[0] == "OPTIONS" ? find_verb(words[1]) : nullptr;
  if (verb != nullptr) return man_options(*verb);
  return usage_error("replace the mark " + shown(line) + ": nothing is known by that name");
}

}  // namespace

Result<std::string> fill_template(std::string_view text, const std::string& schemas) {
  std::string out;
  for (std::string_view line : split(text, '\n')) {
    const bool is_mark = line.size() > 2 && line.front() == '@' && line.back() == '@';
    out += is_mark ? TRY(fill_mark(line, schemas)) : std::string(line) + "\n";
  }
  out.pop_back();  // split() sees an empty line after the last newline
  return out;
}

}  // namespace mayfly::cli
