// The only file that knows toml++, which nothing on the way of a plain start touches.
//
// Version 3.3 of it asks of each character outside ASCII whether it is a blank, and says of most
// that the question is never asked of them: undefined, for any document with an umlaut in the wrong
// place. They are no blanks. And it asserts, or lets the compiler assume, that a table's name
// begins like one before it looks: after that it tells the error itself, as of "[{".
#include <toml++/impl/forward_declarations.h>
#undef TOML_UNREACHABLE
#define TOML_UNREACHABLE return false
#include <toml++/impl/unicode.h>
#undef TOML_UNREACHABLE
#define TOML_UNREACHABLE __builtin_unreachable()
#undef TOML_ASSERT_ASSUME
#define TOML_ASSERT_ASSUME(expr) static_assert(true)
#include <toml++/toml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>

#include "base/text.hpp"
#include "spec/bare_word.hpp"
#include "spec/document.hpp"
#include "spec/number.hpp"

namespace mayfly::spec {
namespace {

Position position(const toml::source_region& region) {
  return {.line = region.begin.line, .column = region.begin.column};
}

// Behind the last character of a line, or of the whole text where there is none of this number.
Position end_of_line(std::string_view text, std::size_t number) {
  const std::vector<std::string_view> lines = split(text, '\n');
  if (number > lines.size()) return position_of(text, text.size());
  const std::string_view line = lines[number - 1];
  return {.line = number, .column = position_of(line, line.size()).column};
}

// Where an error is. What is missing at the end of a text that ends in a newline is, to the
// library, behind that.
Position position(const toml::parse_error& error, std::string_view text) {
  Position at = position(error.source());
  const Position end = end_of_line(text, at.line);
  if (end.line != at.line) return end;
  at.column = std::min(at.column, end.column);
  return at;
}

struct Words {
  std::string_view theirs;
  const char* ours;  // null: what the library says is clear
  const char* remedy;
};

constexpr const char* kText = "a text is in quotes; numbers, true and false are not";

// The first whose words are in what the library says.
constexpr Words kWords[] = {
    {"TOML_MAX", "this is nested too deeply", kFlatter},
    {"unescaped control characters", "a control character in a text must be escaped",
     "write it as \\n, \\t or \\u0001"},
    {"unknown escape", nullptr, "write a backslash twice, or the text in single quotes"},
    {"string: encountered end-of-file", "a text is not closed",
     "end it with the quotes it begins with"},
    {"array: encountered end-of-file", "a list is not closed", "end it with ]"},
    {"inline table: encountered end-of-file", "a table is not closed", "end it with }"},
    {"inline table: expected key or closing '}', saw '\n'", nullptr,
     "a table in braces is written on one line"},
    {"dangling comma", nullptr, "leave out the comma before the brace"},
    {"could not determine value type", "no value begins so", kText},
    {"leading zeroes", "a number has no leading zero", "leave it out; a mode is a text: \"022\""},
    {"integer:", nullptr, "a number with a unit is a text: \"5m\""},
    {"float", nullptr, "a number with a unit is a text: \"1.5h\""},
    {"key-value pair: encountered end-of-file", "a value must be here", kText},
    {"expected a comment or whitespace", nullptr, "begin a new line for each key"},
    {"table header", nullptr, "a table begins with its name in brackets, as in [syscalls]"},
    {"boolean", nullptr, "write true or false, in small letters"},
};

// The byte at a place.
std::size_t offset_of(std::string_view text, Position at) {
  std::size_t offset = 0;
  for (; at.line > 1 && offset < text.size(); --at.line)
    offset = std::min(text.find('\n', offset), text.size() - 1) + 1;
  for (; at.column > 1 && offset < text.size(); --at.column)
    offset += std::max<std::size_t>(utf8_sequence(text.substr(offset)), 1);
  return std::min(offset, text.size());
}

// The library is at the name of a table, at a dotted key, or behind the '=' of any other; and what
// it repeats of a key in quotes is garbled.
Error twice(const Document& document, std::string_view text, std::size_t offset,
            std::string_view said) {
  constexpr const char* kOnce =
      "each key and each [table] is there once: leave one out, or join them";
  if (said.find("table header") != said.npos) {
    const std::string_view line = text.substr(offset, text.find('\n', offset) - offset);
    const std::size_t end = line.find_first_not_of(']', std::min(line.find(']'), line.size()));
    return document.error(position_of(text, offset),
                          "the name in " + shown(line.substr(0, end)) + " is there already", kOnce);
  }
  std::size_t end = offset;
  if (said.find("dotted") == said.npos) {
    end = text.substr(0, offset).find_last_not_of("= \t");
    end = end == text.npos ? 0 : end + 1;
  } else {
    end = std::min(text.find_first_of("= \t", offset), text.size());
  }
  BareWord key = bare_word(text, end);
  const char quote = end > 0 && key.text.empty() ? text[end - 1] : '\0';
  if (end > 1 && (quote == '"' || quote == '\'')) {
    const std::size_t open = text.rfind(quote, end - 2);
    // Where it has escapes it may hold quotes, too.
    if (open != text.npos && text.substr(open, end - open).find('\\') == text.npos)
      key = {.at = open, .text = text.substr(open + 1, end - open - 2)};
  }
  if (key.text.empty())
    return document.error(position_of(text, offset), "this key is there already", kOnce);
  return document.error(position_of(text, key.at),
                        "the key " + shown(key.text) + " is there already", kOnce);
}

// What the library says, without the names of its own macros, and what to do about it.
Error problem(const Document& document, std::string_view text, const toml::parse_error& error) {
  const std::string_view said = error.description();
  const Position at = position(error, text);
  const bool at_end_of_line = end_of_line(text, at.line).column <= at.column;
  if (at_end_of_line && said.find("unescaped control characters") != said.npos) {
    return document.error(at, "a text is not closed on this line",
                          "end it with its quote; one of several lines is in three quotes each");
  }
  // An array of JSON, too, comes here, since it begins like a table.
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != text.npos && text[first] == '[' && at.line == position_of(text, first).line) {
    return document.error(at, "no table begins so",
                          "a table begins with its name in brackets, as in [syscalls]; JSON is one "
                          "object in braces: { \"name\": … }");
  }
  const std::size_t offset = offset_of(text, at);
  if (said.find("cannot redefine") != said.npos) return twice(document, text, offset, said);
  const BareWord word = bare_word(text, offset);
  if (said.find("not representable") != said.npos) {
    return document.error(position_of(text, word.at), "this number is too large",
                          "write a smaller one");
  }
  const bool is_number = said.find("integer:") != said.npos || said.find("float") != said.npos ||
                         said.find("leading zeroes") != said.npos ||
                         said.find("value type") != said.npos;
  if (is_number && is_value(text, word)) {
    if (const std::optional<WordProblem> own = word_problem(word.text))
      return document.error(position_of(text, word.at), own->what, own->remedy);
  }
  for (const Words& words : kWords) {
    if (said.find(words.theirs) == said.npos) continue;
    return document.error(at, words.ours != nullptr ? words.ours : said, words.remedy);
  }
  return document.error(at, said, "write key = value, each on its own line, with texts in quotes");
}

// To TOML a number with a fraction is a double: the shortest text that is read as this one.
std::string decimal(double value) {
  char text[512];  // the largest and the smallest have some 330 digits
  const auto end = std::to_chars(std::begin(text), std::end(text), value, std::chars_format::fixed);
  return {std::begin(text), end.ptr};
}

Node node_of(const toml::node& from);

void add_members(const toml::table& table, Node& to) {
  for (const auto& [key, value] : table) {
    to.members.push_back(
        {.key = std::string(key.str()), .at = position(key.source()), .value = node_of(value)});
  }
  // The library sorts by name.
  std::stable_sort(to.members.begin(), to.members.end(), [](const Member& a, const Member& b) {
    return std::pair(a.at.line, a.at.column) < std::pair(b.at.line, b.at.column);
  });
}

Node node_of(const toml::node& from) {
  Node to{.kind = Node::Kind::Other, .at = position(from.source()), .text = "a date or time"};
  switch (from.type()) {
    case toml::node_type::table:
      to.kind = Node::Kind::Table;
      to.text.clear();
      add_members(*from.as_table(), to);
      break;
    case toml::node_type::array:
      to.kind = Node::Kind::Array;
      to.text.clear();
      for (const toml::node& item : *from.as_array())
        to.items.push_back(node_of(item));
      break;
    case toml::node_type::string:
      to.kind = Node::Kind::Text;
      to.text = from.as_string()->get();
      break;
    case toml::node_type::integer:
      to.kind = Node::Kind::Integer;
      to.text = std::to_string(from.as_integer()->get());
      break;
    case toml::node_type::boolean:
      to.kind = Node::Kind::Boolean;
      to.text = from.as_boolean()->get() ? "true" : "false";
      break;
    case toml::node_type::floating_point: {
      const double value = from.as_floating_point()->get();
      if (std::isfinite(value)) return number_node(to.at, *plain_number(decimal(value)));
      to.text = std::isnan(value) ? "nan" : "inf";
      break;
    }
    default:
      break;
  }
  return to;
}

// A long text may itself end in one or two of its quotes.
std::size_t behind_quotes(std::string_view text, std::size_t at) {
  const std::size_t most = std::min(at + 2, text.size());
  while (at < most && text[at] == text[at - 1])
    ++at;
  return at;
}

// Past a quoted text, which may hold anything, or a comment.
std::size_t skip_opaque(std::string_view text, std::size_t at) {
  const char quote = text[at];
  if (quote == '#') return std::min(text.find('\n', at), text.size());
  const std::string three(3, quote);
  const bool is_long = text.substr(at, 3) == three;
  for (at += is_long ? 3 : 1; at < text.size(); ++at) {
    if (text[at] == '\\' && quote == '"') {
      ++at;
    } else if (is_long && text.substr(at, 3) == three) {
      return behind_quotes(text, at + 3);
    } else if (!is_long && (text[at] == quote || text[at] == '\n')) {
      return at + 1;
    }
  }
  return text.size();
}

// A key such as a.a.a.a, each dot of which is a table in a table: the library follows it, and later
// frees it, by recursion, and has a bound only for brackets. Where such a key begins, or npos.
std::size_t find_deep_key(std::string_view text) {
  constexpr std::size_t kMostDots = 32;
  std::size_t dots = 0;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '"' || c == '\'' || c == '#') {
      at = skip_opaque(text, at);
      continue;
    }
    if (std::string_view("=,[]{}\n").find(c) != std::string_view::npos) dots = 0;
    if (c == '.' && ++dots > kMostDots) return at;
    ++at;
  }
  return std::string_view::npos;
}

}  // namespace

Result<Document> parse_toml(std::string name, std::string_view text) {
  Document document{.name = std::move(name), .root = {}};
  if (const std::size_t deep = find_deep_key(text); deep != std::string_view::npos) {
    return document.error(position_of(text, deep), "tables are nested too deeply here", kFlatter);
  }
  toml::parse_result parsed = toml::parse(text, document.name);
  if (!parsed) {
    return problem(document, text, parsed.error());
  }
  document.root = node_of(parsed.table());
  document.root.at = {.line = 1, .column = 1};
  return document;
}

}  // namespace mayfly::spec
