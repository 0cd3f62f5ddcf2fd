#include "spec/env_file.hpp"

#include <cstddef>
#include <string>
#include <utility>

#include "base/text.hpp"

namespace mayfly::spec {
bool is_variable_name(std::string_view name) {
  bool first = true;
  for (char c : name) {
    const bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
    const bool other = (c >= '0' && c <= '9') || c == '.' || c == '-';
    if (!letter && (first || !other)) return false;
    first = false;
  }
  return !name.empty();
}

Result<std::vector<EnvRule>> parse_env_file(std::string_view file, std::string_view text) {
  std::vector<EnvRule> rules;
  std::size_t number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    const auto refuse = [&](std::string why, std::string hint) {
      return usage_error("read the environment file: " + shown(file) + ":" +
                             std::to_string(number) + ": " + std::move(why),
                         std::move(hint));
    };
    const std::size_t start = line.find_first_not_of(" \t\r");
    if (start == std::string_view::npos || line[start] == '#') continue;
    if (line.find('\0') != std::string_view::npos) {
      return refuse("there is a NUL byte in this line", "no variable can hold one");
    }
    if (line.back() == '\r') {
      return refuse("the line ends in CR LF", "save the file with Unix line ends");
    }
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) {
      return refuse("there is no '='", "each line is NAME=VALUE, or a comment that begins with #");
    }
    const std::string_view name = line.substr(0, equals);
    if (!is_variable_name(name)) {
      return refuse(shown(name) + " is not a name", std::string(kVariableNames));
    }
    rules.push_back({.kind = EnvKind::Set,
                     .name = std::string(name),
                     .value = std::string(line.substr(equals + 1))});
  }
  return rules;
}

}  // namespace mayfly::spec
