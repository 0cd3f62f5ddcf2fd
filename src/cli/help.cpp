#include "cli/help.hpp"

#include <cstddef>
#include <string_view>

#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/say.hpp"
#include "cli/verbs.hpp"

namespace mayfly::cli {
namespace {

constexpr std::size_t kHelpColumn = 30;
constexpr std::size_t kVerbColumn = 12;

// `left` in its column, then `right` beside it, or below it where `left` is too long.
void add_row(std::string& text, std::string_view left, std::size_t column, std::string_view right) {
  const std::size_t start = text.size();
  text += left;
  if (text.size() - start + 2 > column) {
    text += '\n';
    text.append(column, ' ');
  } else {
    text.append(column - (text.size() - start), ' ');
  }
  text += right;
  text += '\n';
}

}  // namespace

std::string option_form(const Option& option) {
  std::string form;
  if (option.letter != 0) form += std::string("-") + option.letter + ", ";
  form += "--";
  form += option.name;
  if (option.argument != nullptr) form += std::string(" ") + option.argument;
  return form;
}

std::string verb_help(const Verb& verb) {
  std::string text = "Usage: mayfly " + std::string(verb.name) + " " + verb.synopsis + "\n\n";
  text += "mayfly " + std::string(verb.name) + ": " + verb.summary + ".\n";
  std::string_view group;
  for (const Option& option : verb.options) {
    if (group != option.group) {
      group = option.group;
      text += "\n" + std::string(group) + "\n";
    }
    const std::string indent = option.letter != 0 ? "  " : "      ";
    add_row(text, indent + option_form(option), kHelpColumn, option.help);
  }
  return text;
}

std::string overview() {
  std::string text =
      "Usage: mayfly VERB [OPTION...]\n\n"
      "Run one task in a throwaway Linux sandbox. When it ends, nothing of it is left.\n\nVerbs\n";
  for (const Verb* verb : verbs()) {
    add_row(text, std::string("  ") + verb->name, kVerbColumn, verb->summary);
  }
  text +=
      "\nExamples\n"
      "  mayfly run make test\n"
      "      in a copy-on-write view of this project, without network\n"
      "  mayfly run --project ro --ttl 5m -- ./script.sh\n"
      "      the project read-only, ended after five minutes\n\n"
      "mayfly VERB --help lists a verb's options; the man pages say more.\n";
  return text;
}

int help(const Request& request) {
  if (request.spec.argv.empty()) return print(overview());
  const std::string& name = request.spec.argv[0];
  if (const Verb* verb = find_verb(name)) return print(verb_help(*verb));
  say(complaint(usage_error("explain " + shown(name) + ": there is no such verb",
                            "mayfly help lists the verbs")));
  return kFailed;
}

}  // namespace mayfly::cli
