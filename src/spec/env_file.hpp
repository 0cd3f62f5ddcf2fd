// Environment files: one NAME=VALUE on each line.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "spec/spec.hpp"

namespace mayfly::spec {

// True for what a variable of --env or of a file may be called: a letter or '_', then letters,
// digits, '_', '.' and '-'. No shell sets a name with the last two, but programs read some.
[[nodiscard]] bool is_variable_name(std::string_view name);
inline constexpr std::string_view kVariableNames =
    "a letter or '_', then letters, digits, '_', '.' and '-', with no blank around it";

// The rules that the text of an environment file spells, in its order.
//
// Empty lines and lines whose first character other than a blank is '#' are skipped. The value is
// everything after the first '=', quotes, blanks and backslashes included; it may be empty and need
// not be UTF-8. Anything else than a name before the '=' is an error that begins with `file` and
// the line's number.
[[nodiscard]] Result<std::vector<EnvRule>> parse_env_file(std::string_view file,
                                                          std::string_view text);

}  // namespace mayfly::spec
