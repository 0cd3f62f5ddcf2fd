#include "cli/options.hpp"

#include <getopt.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "cli/aliases.hpp"

namespace mayfly::cli {
namespace {

constexpr std::size_t kMostOptions = 64;
constexpr int kFirstLong = 256;  // long option i is reported as kFirstLong + i

// The table in the form that getopt_long reads.
class GetoptTable {
 public:
  GetoptTable(std::span<const Option> options, Words words) {
    std::size_t end = 0;
    if (words != Words::Free) letters_[end++] = '+';  // stop at the first word that is no option
    letters_[end++] = ':';  // report a missing argument as ':' and print nothing
    for (std::size_t i = 0; i < options.size(); ++i) {
      const bool has_argument = options[i].argument != nullptr;
      rows_[i] = {.name = options[i].name,
                  .has_arg = has_argument ? required_argument : no_argument,
                  .flag = nullptr,
                  .val = kFirstLong + static_cast<int>(i)};
      if (options[i].letter == 0) continue;
      letters_[end++] = options[i].letter;
      if (has_argument) letters_[end++] = ':';
    }
  }
  [[nodiscard]] const char* letters() const { return letters_.data(); }
  [[nodiscard]] const ::option* rows() const { return rows_.data(); }

 private:
  std::array<char, 2 * kMostOptions + 3> letters_ = {};
  std::array<::option, kMostOptions + 1> rows_ = {};
};

const Option* option_of(std::span<const Option> options, int value) {
  if (value >= kFirstLong) return &options[static_cast<std::size_t>(value - kFirstLong)];
  for (const Option& option : options) {
    if (option.letter != 0 && option.letter == value) return &option;
  }
  return nullptr;
}

Error unreadable(const Verb& verb, std::string why, std::string hint = {}) {
  if (hint.empty()) hint = "mayfly " + std::string(verb.name) + " --help lists the options";
  return usage_error("read the command line: " + std::move(why), std::move(hint));
}

// What an option that does not exist was meant to be.
struct Meant {
  const Option* option = nullptr;  // null: not known
  std::string hint;                // empty: not known
};

Meant meant_by(const Verb& verb, std::string_view typed) {
  typed.remove_prefix(std::min(typed.find_first_not_of('-'), typed.size()));
  if (verb.words == Words::Command) {
    for (const Alias& alias : kAliases) {
      if (alias.typed != typed) continue;
      return {find_option(verb.options, alias.option), std::string(alias.hint)};
    }
  }
  std::vector<std::string_view> names;
  for (const Option& option : verb.options)
    names.emplace_back(option.name);
  const std::string_view name = nearest(typed, names);
  if (name.empty()) return {};
  return {find_option(verb.options, name), "did you mean --" + std::string(name) + "?"};
}

Error unknown_option(const Verb& verb, std::string_view word) {
  const std::string_view typed = word.substr(0, word.find('='));
  return unreadable(verb, "unknown option " + shown(typed), meant_by(verb, typed).hint);
}

// How many words an unknown option takes up at the front of `words`: itself, and what follows if
// that is its value for sure. What may be the command is left: options behind it are the command's.
std::size_t words_of_unknown(const Verb& verb, std::span<char* const> words) {
  const std::string_view word = words[0];
  if (word.find('=') != std::string_view::npos || words.size() < 2 || words[1][0] == '-') return 1;
  const Option* meant = meant_by(verb, word).option;
  if (meant != nullptr) return meant->argument != nullptr ? 2 : 1;
  // A "--" is still to come, so that the command is behind it.
  const auto is_end = [](std::string_view later) { return later == "--"; };
  return std::any_of(words.begin() + 1, words.end(), is_end) ? 2 : 1;
}

std::string misused(const Option& option) {
  const std::string name = "--" + std::string(option.name);
  if (option.argument == nullptr) return name + " takes no argument";
  return name + " needs an argument: " + option.argument;
}

// getopt_long would accept an abbreviation, which breaks scripts on the day an option is added.
bool is_unknown_long(const Verb& verb, std::string_view word) {
  if (word.substr(0, 2) != "--" || word == "--") return false;
  return find_option(verb.options, word.substr(2, word.find('=') - 2)) == nullptr;
}

// A reading of the command line up to now.
struct Reading {
  const Verb& verb;
  GetoptTable table;
  Take take;
  std::span<char* const> rest = {};  // its first word is done with
  std::optional<Error> first = {};   // the first that was wrong
  void refuse(Error error) {
    if (!first) first = std::move(error);
  }
};

// The value of an option that was left out where another option, or the end of them, follows:
// `--ttl -- true`. Getopt would take that for the value.
bool swallowed_option(std::span<char* const> words) {
  return optarg != nullptr && optind >= 2 &&
         optarg == words[static_cast<std::size_t>(optind - 1)] &&
         std::string_view(optarg).substr(0, 2) == "--";
}

Result<void> apply(const Reading& reading, const Option& option, Request& request,
                   std::string_view value) {
  if (option.setting == nullptr) return option.apply(request, value);
  if (reading.take == Take::Choices) return {};
  if (!request.origins.empty())
    request.origins.push_back({.setting = option.setting,
                               .place = {},
                               .name = std::string(spec::pair_name(*option.setting, value))});
  return option.setting->apply(request, value);
}

// Reads options until a word that is none, and answers 0; or until an unknown one, and answers its
// place in `reading.rest`.
std::size_t read_options(Reading& reading, Request& request) {
  const Verb& verb = reading.verb;
  const int count = static_cast<int>(reading.rest.size());
  optind = 0;  // glibc: forget what an earlier call left
  for (;;) {
    const auto next = static_cast<std::size_t>(std::max(optind, 1));
    if (next < reading.rest.size() && is_unknown_long(verb, reading.rest[next])) {
      reading.refuse(unknown_option(verb, reading.rest[next]));
      return next;
    }
    const int found = ::getopt_long(count, reading.rest.data(), reading.table.letters(),
                                    reading.table.rows(), nullptr);
    if (found == -1) return 0;
    const bool failed = found == '?' || found == ':';
    const Option* option = option_of(verb.options, failed ? optopt : found);
    if (option == nullptr) {
      const char letter[] = {'-', static_cast<char>(optopt), '\0'};
      reading.refuse(unknown_option(verb, letter));
      return next;
    }
    if (failed) {
      reading.refuse(unreadable(verb, misused(*option)));
    } else if (swallowed_option(reading.rest)) {
      const std::string behind = "--" + std::string(option->name) + "=" + optarg;
      reading.refuse(
          unreadable(verb, misused(*option),
                     "if " + shown(optarg) + " is meant as its value, write " + shown(behind)));
      --optind;
    } else {
      const std::string_view value = optarg != nullptr ? optarg : "";
      Result<void> applied = apply(reading, *option, request, value);
      if (!applied) {
        applied.error().action += " (--" + std::string(option->name) + ")";
        reading.refuse(std::move(applied).error());
      }
    }
    if (request.help) return 0;
  }
}

Result<void> take_words(const Verb& verb, std::span<char* const> words, Request& request) {
  const std::size_t most = verb.words == Words::None ? 0 : verb.words == Words::VerbName ? 1 : ~0u;
  if (words.size() > most) return unreadable(verb, "unexpected word " + shown(words[most]));
  if (!words.empty()) request.spec.argv.assign(words.begin(), words.end());
  return {};
}

}  // namespace

const Option* find_option(std::span<const Option> options, std::string_view name) {
  for (const Option& option : options) {
    if (name == option.name) return &option;
  }
  return nullptr;
}

Result<void> parse(const Verb& verb, std::span<char* const> args, Request& request, Take take) {
  Reading reading{
      .verb = verb, .table = GetoptTable(verb.options, verb.words), .take = take, .rest = args};
  // Getopt looks behind words for options here, before we could.
  for (const std::string_view word : args) {
    if (verb.words != Words::Free || word == "--") break;
    if (is_unknown_long(verb, word)) return unknown_option(verb, word);
  }
  while (reading.rest.size() > 1 && !request.help) {
    const std::size_t unknown = read_options(reading, request);
    if (unknown == 0) break;
    const std::span<char* const> words = reading.rest.subspan(unknown);
    // Getopt starts anew, behind a word that it takes for the program's name.
    reading.rest = words.subspan(words_of_unknown(verb, words) - 1);
  }
  if (request.help) return {};
  if (reading.first) return *std::move(reading.first);
  const std::size_t end = reading.rest.size() > 1 ? static_cast<std::size_t>(optind) : 1;
  return take_words(verb, reading.rest.subspan(end), request);
}

}  // namespace mayfly::cli
