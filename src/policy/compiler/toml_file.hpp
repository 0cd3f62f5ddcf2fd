// TomlFile: a TOML document whose errors say file, line and column.
#pragma once

#include <toml++/toml.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace mayfly::policy {

// A string of the document and where it stands.
struct Word {
  std::string text;
  toml::source_position at;
};

class TomlFile {
 public:
  [[nodiscard]] static Result<TomlFile> read(const std::string& path);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const toml::table& root() const { return root_; }

  // "path:line:column: reason" as the whole of the action: compilers speak so, and editors jump
  // there.
  [[nodiscard]] Error error(toml::source_position at, std::string_view reason) const;
  [[nodiscard]] Error error(const toml::node& at, std::string_view reason) const {
    return error(at.source().begin, reason);
  }

  // An error for the first key that is not among those known.
  [[nodiscard]] Result<void> only(const toml::table& table,
                                  std::initializer_list<std::string_view> known) const;

  // The value of a key that must be there and have this type.
  [[nodiscard]] Result<const toml::array*> array(const toml::table& table,
                                                 std::string_view key) const;
  [[nodiscard]] Result<Word> word(const toml::table& table, std::string_view key) const;
  [[nodiscard]] Result<Word> word(const toml::node& node) const;
  [[nodiscard]] Result<const toml::table*> table(const toml::table& table,
                                                 std::string_view key) const;
  [[nodiscard]] Result<std::vector<const toml::table*>> tables(const toml::table& table,
                                                               std::string_view key) const;

  // An array of strings; none if the key is missing.
  [[nodiscard]] Result<std::vector<Word>> words(const toml::table& table,
                                                std::string_view key) const;

 private:
  TomlFile(std::string path, toml::table root) : path_(std::move(path)), root_(std::move(root)) {}

  std::string path_;
  toml::table root_;
};

}  // namespace mayfly::policy
