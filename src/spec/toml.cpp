// The only file that knows toml++, which nothing on the way of a plain start touches.
//
// Version 3.3 of it asks of each character outside ASCII whether it is a blank, and says of most
// that the question is never asked of them: undefined, for any document with an umlaut in the wrong
// place. They are no blanks.
#include <toml++/impl/forward_declarations.h>
#undef TOML_UNREACHABLE
#define TOML_UNREACHABLE return false
#include <toml++/impl/unicode.h>
#undef TOML_UNREACHABLE
#define TOML_UNREACHABLE __builtin_unreachable()
#include <toml++/toml.h>

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "spec/document.hpp"

namespace mayfly::spec {
namespace {

Position position(const toml::source_region& region) {
  return {.line = region.begin.line, .column = region.begin.column};
}

// Where an error is. What is missing at the end of a text that ends in a newline is, to the
// library, behind that.
Position position(const toml::parse_error& error, std::string_view text) {
  Position at = position(error.source());
  const std::vector<std::string_view> lines = split(text, '\n');
  if (at.line > lines.size()) return position_of(text, text.size());
  const std::string_view line = lines[at.line - 1];
  at.column = std::min(at.column, position_of(line, line.size()).column);
  return at;
}

// What the library says, without the names of its own macros.
std::string problem(std::string_view said) {
  if (said.find("TOML_MAX") != said.npos) return "this is nested too deeply";
  return std::string(said);
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
    case toml::node_type::floating_point:
      to.text = "a number with a fraction";
      break;
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
    return document.error(position_of(text, deep), "tables are nested too deeply here");
  }
  toml::parse_result parsed = toml::parse(text, document.name);
  if (!parsed) {
    const toml::parse_error& what = parsed.error();
    return document.error(position(what, text), problem(what.description()));
  }
  document.root = node_of(parsed.table());
  document.root.at = {.line = 1, .column = 1};
  return document;
}

}  // namespace mayfly::spec
