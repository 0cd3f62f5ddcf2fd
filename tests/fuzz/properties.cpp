#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>

#include "base/text.hpp"
#include "fuzz.hpp"

namespace mayfly::fuzz {
namespace {

using spec::Node;
using spec::Position;

bool has_control_character(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7F;
  });
}

// One character behind the last of a line is where something is missing.
bool is_inside(Position at, std::string_view text) {
  const std::vector<std::string_view> lines = split(text, '\n');
  if (at.line < 1 || at.line > lines.size() || at.column < 1) return false;
  const std::string_view line = lines[at.line - 1];
  const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
  return at.column <= 1 + static_cast<std::size_t>(std::count_if(line.begin(), line.end(), begins));
}

// Takes "12:" off the front.
std::size_t take_number(std::string_view& text) {
  std::size_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop == end || *stop != ':') return 0;
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()) + 1);
  return number;
}

void check_node(const Node& node, std::string_view text) {
  require(is_inside(node.at, text), "a value stands inside the text");
  for (const Node& item : node.items)
    check_node(item, text);
  std::set<std::string_view> keys;
  for (const spec::Member& member : node.members) {
    require(is_inside(member.at, text), "a key stands inside the text", member.key);
    require(keys.insert(member.key).second, "a key is there once", member.key);
    check_node(member.value, text);
  }
}

}  // namespace

void require(bool holds, std::string_view property, std::string_view about) {
  if (holds) return;
  std::fprintf(stderr, "fuzz: it does not hold that %.*s: %s\n", static_cast<int>(property.size()),
               property.data(), shown(about).c_str());
  std::abort();
}

void check_message(const Error& error) {
  require(error.kind == ErrorKind::Usage, "the input is what is wrong", error.action);
  require(!error.action.empty(), "an error says something");
  for (const std::string& part : {error.action, error.call, error.hint}) {
    require(is_utf8(part), "a message is UTF-8", part);
    require(!has_control_character(part), "a message has no control characters", part);
  }
}

void check_placed_message(const Error& error, std::span<const Text> texts) {
  check_message(error);
  for (const Text& one : texts) {
    std::string_view rest = error.action;
    const std::string beginning = "read " + std::string(one.name) + ":";
    if (!rest.starts_with(beginning)) continue;
    rest.remove_prefix(beginning.size());
    const std::size_t line = take_number(rest);
    const Position at{.line = line, .column = take_number(rest)};
    require(is_inside(at, one.text), "an error's place is inside the text", error.action);
    require(rest.size() > 1, "an error says something behind its place", error.action);
    return;
  }
  require(false, "an error says where", error.action);
}

void check_document(const spec::Document& document, std::string_view text) {
  check_node(document.root, text);
}

}  // namespace mayfly::fuzz
