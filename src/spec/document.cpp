#include "spec/document.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace mayfly::spec {
namespace {

std::string named(Node::Kind kind) {
  switch (kind) {
    case Node::Kind::Text:
      return "a string";
    case Node::Kind::Integer:
      return "an integer";
    case Node::Kind::Fraction:
      return "a number with a fraction";
    case Node::Kind::Boolean:
      return "true or false";
    case Node::Kind::Array:
      return "an array";
    case Node::Kind::Table:
      return "a table";
    case Node::Kind::Other:
      break;
  }
  return "something else";
}

// The words of a text, each in quotes, as nobody means a list of one text with blanks.
std::string listed(std::string_view text) {
  std::string words;
  for (std::string_view word : split(text, ' ')) {
    if (!word.empty()) words += (words.empty() ? "\"" : ", \"") + printable(word) + "\"";
  }
  return words;
}

}  // namespace

const Node* Node::find(std::string_view key) const {
  for (const Member& member : members) {
    if (member.key == key) return &member.value;
  }
  return nullptr;
}

Node number_node(Position at, std::string decimals) {
  const bool is_whole = decimals.find('.') == decimals.npos;
  return {.kind = is_whole ? Node::Kind::Integer : Node::Kind::Fraction,
          .at = at,
          .text = std::move(decimals)};
}

std::string kind_of(const Node& node) {
  const bool says_itself = node.kind == Node::Kind::Other || node.kind == Node::Kind::Boolean;
  return says_itself ? node.text : named(node.kind);
}

std::string remedy(Node::Kind kind, const Node& is) {
  using Kind = Node::Kind;
  // What is long may be anything, and says nothing more in a hint.
  constexpr std::size_t kMostShownBytes = 40;
  const bool is_short = is.text.find_first_not_of(' ') != is.text.npos &&
                        is.text.find_first_of("\"\\") == is.text.npos &&
                        is.text.size() <= kMostShownBytes;
  const bool is_bare =
      is.kind == Kind::Integer || is.kind == Kind::Fraction || is.kind == Kind::Boolean;
  const std::string quoted = "\"" + printable(is.text) + "\"";
  switch (kind) {
    case Kind::Text:
      return is_bare && is_short ? "write it in quotes: " + quoted : "write one text, in quotes";
    case Kind::Array:
      if (is.kind == Kind::Table) return "write it as a list: [ { … } ]";
      if (is.kind == Kind::Text && is_short) return "write it as a list: [" + listed(is.text) + "]";
      return "write it as a list, in brackets";
    case Kind::Table:
      return "write it as names with their values, in braces";
    case Kind::Boolean:
      return "write true or false, without quotes";
    default:
      return "write a whole number, without quotes";
  }
}

std::string Document::place(Position at) const {
  std::string place = printable(name);
  if (at.line != 0) place += ":" + std::to_string(at.line) + ":" + std::to_string(at.column);
  return place;
}

Error Document::error(Position at, std::string_view reason, std::string hint) const {
  // What a reader says of a text may repeat any part of it.
  constexpr std::size_t kMostReasonBytes = 1000;
  return usage_error("read " + place(at) + ": " + printable(reason, kMostReasonBytes),
                     std::move(hint));
}

Result<void> Document::only(const Node& table,
                            std::initializer_list<std::string_view> known) const {
  for (const Member& member : table.members) {
    if (std::find(known.begin(), known.end(), member.key) != known.end()) continue;
    const std::string_view meant = nearest(member.key, {known.begin(), known.size()});
    std::string list;
    for (const std::string_view key : known)
      list += (list.empty() ? "" : ", ") + std::string(key);
    return error(
        member.at, "unknown key " + shown(member.key),
        meant.empty() ? "known here: " + list : "did you mean " + std::string(meant) + "?");
  }
  return {};
}

Result<const Node*> Document::get(const Node& table, std::string_view key, Node::Kind kind) const {
  const Node* node = TRY(get_if(table, key, kind));
  if (node == nullptr)
    return error(table.at, "the key " + std::string(key) + " is missing",
                 "it must be there: add it, with " + named(kind));
  return node;
}

Result<const Node*> Document::get_if(const Node& table, std::string_view key,
                                     Node::Kind kind) const {
  const Node* node = table.find(key);
  if (node == nullptr || node->kind == kind) return node;
  return error(node->at, std::string(key) + " must be " + named(kind) + " and is " + kind_of(*node),
               remedy(kind, *node));
}

Result<std::vector<const Node*>> Document::items(const Node& table, std::string_view key,
                                                 Node::Kind kind) const {
  std::vector<const Node*> found;
  const Node* array = TRY(get_if(table, key, Node::Kind::Array));
  if (array == nullptr) return found;
  for (const Node& item : array->items) {
    if (item.kind != kind) {
      return error(item.at,
                   "in " + std::string(key) + ", each item must be " + named(kind) +
                       ", and this is " + kind_of(item),
                   remedy(kind, item));
    }
    found.push_back(&item);
  }
  return found;
}

Position position_of(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const std::size_t newline = before.rfind('\n');
  const std::string_view line = newline == before.npos ? before : before.substr(newline + 1);
  const auto is_start = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
  return {
      .line = 1 + static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')),
      .column = 1 + static_cast<std::size_t>(std::count_if(line.begin(), line.end(), is_start))};
}

Result<Document> parse_document(std::string name, std::string_view text) {
  // Some editors begin a file in UTF-8 with a mark.
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool is_json =
      std::string_view(name).ends_with(".json") || (first != text.npos && text[first] == '{');
  return parse_document(std::move(name), text, is_json ? Syntax::Json : Syntax::Toml);
}

Result<Document> parse_document(std::string name, std::string_view text, Syntax syntax) {
  const Document unread{.name = name, .root = {}};
  if (text.size() > kMostDocumentBytes) {
    return unread.error({}, "it is longer than 1 MiB",
                        "a shorter file; data goes into files of "
                        "its own");
  }
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_sequence(text.substr(at));
    if (length == 0) {
      return unread.error(position_of(text, at), "this byte is not UTF-8",
                          "save the file in UTF-8");
    }
    at += length;
  }
  return syntax == Syntax::Json ? parse_json(std::move(name), text)
                                : parse_toml(std::move(name), text);
}

}  // namespace mayfly::spec
