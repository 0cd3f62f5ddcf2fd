#include "policy/compiler/toml_file.hpp"

#include <utility>

#include "base/text.hpp"

namespace mayfly::policy {
namespace {

std::string type_of(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "an array";
    case toml::node_type::string:
      return "a string";
    case toml::node_type::integer:
      return "an integer";
    case toml::node_type::boolean:
      return "a boolean";
    default:
      return "something else";
  }
}

}  // namespace

Result<TomlFile> TomlFile::read(const std::string& path) {
  toml::parse_result parsed = toml::parse_file(path);
  if (parsed) return TomlFile(path, std::move(parsed).table());
  const toml::parse_error& what = parsed.error();
  const TomlFile unread(path, {});
  return unread.error(what.source().begin, what.description());
}

Error TomlFile::error(toml::source_position at, std::string_view reason) const {
  // A file that cannot be opened has no position.
  std::string place = path_ + ":";
  if (at.line != 0) place += std::to_string(at.line) + ":" + std::to_string(at.column) + ":";
  return usage_error(place + " " + std::string(reason));
}

Result<void> TomlFile::only(const toml::table& table,
                            std::initializer_list<std::string_view> known) const {
  for (const auto& [key, value] : table) {
    bool found = false;
    std::string list;
    for (const std::string_view name : known) {
      found = found || name == key.str();
      list += (list.empty() ? "" : ", ") + std::string(name);
    }
    if (!found)
      return error(key.source().begin, "unknown key " + shown(key.str()) + "; known here: " + list);
  }
  return {};
}

Result<const toml::array*> TomlFile::array(const toml::table& table, std::string_view key) const {
  const toml::node* node = table.get(key);
  if (node == nullptr) return error(table, "missing key " + std::string(key));
  if (const toml::array* found = node->as_array()) return found;
  return error(*node, std::string(key) + " must be an array, and is " + type_of(*node));
}

Result<Word> TomlFile::word(const toml::node& node) const {
  const toml::value<std::string>* text = node.as_string();
  if (text == nullptr) return error(node, "a string must be here, and it is " + type_of(node));
  return Word{.text = text->get(), .at = node.source().begin};
}

Result<Word> TomlFile::word(const toml::table& table, std::string_view key) const {
  const toml::node* node = table.get(key);
  if (node == nullptr) return error(table, "missing key " + std::string(key));
  return word(*node);
}

Result<const toml::table*> TomlFile::table(const toml::table& table, std::string_view key) const {
  const toml::node* node = table.get(key);
  if (node == nullptr) return error(table, "missing table [" + std::string(key) + "]");
  if (const toml::table* found = node->as_table()) return found;
  return error(*node, std::string(key) + " must be a table, and is " + type_of(*node));
}

Result<std::vector<const toml::table*>> TomlFile::tables(const toml::table& table,
                                                         std::string_view key) const {
  std::vector<const toml::table*> found;
  for (const toml::node& node : *TRY(array(table, key))) {
    if (!node.is_table()) return error(node, "a table must be here, and it is " + type_of(node));
    found.push_back(node.as_table());
  }
  return found;
}

Result<std::vector<Word>> TomlFile::words(const toml::table& table, std::string_view key) const {
  std::vector<Word> found;
  if (!table.contains(key)) return found;
  const toml::array& nodes = *TRY(array(table, key));
  for (const toml::node& node : nodes)
    found.push_back(TRY(word(node)));
  return found;
}

}  // namespace mayfly::policy
