#include "spec/checks.hpp"

#include <climits>
#include <utility>

#include "base/text.hpp"
#include "spec/env_file.hpp"

namespace mayfly::spec {
namespace {

constexpr const char* kShorter = "the kernel takes no longer one: choose a shorter path";

bool has_dot_dot(std::string_view path) {
  for (std::string_view piece : split(path, '/')) {
    if (piece == "..") return true;
  }
  return false;
}

}  // namespace

Error refused(std::string_view what, std::string_view value, std::string_view why,
              std::string hint) {
  return usage_error("use " + shown(value) + " as " + std::string(what) + ": " + std::string(why),
                     std::move(hint));
}

bool has_nul(std::string_view text) {
  return text.find('\0') != std::string_view::npos;
}

Result<void> check_path(std::string_view what, std::string_view path) {
  if (path.empty()) return refused(what, path, "it is empty", "write it from / on");
  if (has_nul(path)) return refused(what, path, "it has a NUL byte", std::string(kNoNul));
  if (path[0] != '/') return refused(what, path, "it is not absolute", "write it from / on");
  if (has_dot_dot(path)) return refused(what, path, "it has a '..'", "write the path without it");
  if (path != normal_path(path)) {
    return refused(what, path, "it is not in its normal form", "write it " + normal_path(path));
  }
  if (path.size() >= PATH_MAX) {
    return refused(what, path, "it is longer than 4095 bytes", kShorter);
  }
  for (std::string_view piece : split(path, '/')) {
    if (piece.size() > NAME_MAX) {
      return refused(what, path, "a name in it is longer than 255 bytes", kShorter);
    }
  }
  return {};
}

Result<void> check_env(const EnvRule& rule) {
  const std::string_view what =
      rule.kind == EnvKind::PassPattern ? "an environment pattern" : "an environment name";
  if (rule.name.empty()) {
    return refused(
        what, rule.name, "it is empty",
        "write NAME=VALUE, or NAME for the caller's; a variable in its place may be unset");
  }
  if (has_nul(rule.name)) {
    return refused(what, rule.name, "it has a NUL byte", std::string(kNoNul));
  }
  if (rule.name.find('=') != std::string::npos) {
    return refused(what, rule.name, "it has a '='", "the value comes after the first '='");
  }
  if (rule.kind != EnvKind::PassPattern && !is_variable_name(rule.name)) {
    return refused(what, rule.name, "no variable is called so", std::string(kVariableNames));
  }
  if (has_nul(rule.value)) {
    return refused(what, rule.name, "its value has a NUL byte", std::string(kNoNul));
  }
  return {};
}

}  // namespace mayfly::spec
