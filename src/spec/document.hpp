// Document: a TOML or JSON text as a tree that knows where everything stands.
//
// Policies, specs, the catalogue of system calls and foreign seccomp profiles are read through it,
// so that what is wrong in any of them is said as file:line:column, the way compilers speak.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace mayfly::spec {

// More than this is refused unread: no policy of people is as long.
inline constexpr std::size_t kMostDocumentBytes = 1u << 20;

// What to do about a document that is nested too deeply.
inline constexpr const char* kFlatter = "nothing here takes so many levels: leave out brackets";

// Both count from 1; the column counts characters.
struct Position {
  std::size_t line = 0, column = 0;
};

struct Member;

struct Node {
  enum class Kind { Text, Integer, Fraction, Boolean, Array, Table, Other };
  Kind kind = Kind::Other;
  Position at = {};
  // Text as it is; a number as plain_number() has it; true or false; of anything else, what it is
  // ("null").
  std::string text = {};
  std::vector<Node> items;      // Array
  std::vector<Member> members;  // Table, in the order of the text; no key is there twice

  // The value of a key, or null.
  [[nodiscard]] const Node* find(std::string_view key) const;
};

struct Member {
  std::string key;
  Position at = {};
  Node value;
};

// A number in decimals, as plain_number() has it: an Integer unless it has a fraction.
[[nodiscard]] Node number_node(Position at, std::string decimals);

// "a string", "an array", "true" …, for messages.
[[nodiscard]] std::string kind_of(const Node& node);

// How a value of this kind is written instead of `is`, for hints.
[[nodiscard]] std::string remedy(Node::Kind kind, const Node& is);

struct Document {
  std::string name;  // of the file, for messages
  Node root;         // a Table

  // "NAME:LINE:COLUMN", or the name alone.
  [[nodiscard]] std::string place(Position at) const;

  // "read NAME:LINE:COLUMN: reason"
  [[nodiscard]] Error error(Position at, std::string_view reason, std::string hint = {}) const;

  // An error for the first key that is not among those known.
  [[nodiscard]] Result<void> only(const Node& table,
                                  std::initializer_list<std::string_view> known) const;

  // The value of a key that must be there and be of this kind.
  [[nodiscard]] Result<const Node*> get(const Node& table, std::string_view key,
                                        Node::Kind kind) const;
  // The same, but null where the key is missing.
  [[nodiscard]] Result<const Node*> get_if(const Node& table, std::string_view key,
                                           Node::Kind kind) const;
  // The items of an array, each of this kind; none where the key is missing.
  [[nodiscard]] Result<std::vector<const Node*>> items(const Node& table, std::string_view key,
                                                       Node::Kind kind) const;
};

enum class Syntax { Toml, Json };

// JSON if the name ends in .json or the text begins with a brace, else TOML. Errors: what is no
// well-formed document, a key that is there twice, what is not UTF-8, more than kMostDocumentBytes.
[[nodiscard]] Result<Document> parse_document(std::string name, std::string_view text);
[[nodiscard]] Result<Document> parse_document(std::string name, std::string_view text,
                                              Syntax syntax);

// The two readers behind it; the text is UTF-8 and not too long.
[[nodiscard]] Result<Document> parse_toml(std::string name, std::string_view text);
[[nodiscard]] Result<Document> parse_json(std::string name, std::string_view text);

// Where a byte of a text stands.
[[nodiscard]] Position position_of(std::string_view text, std::size_t offset);

}  // namespace mayfly::spec
