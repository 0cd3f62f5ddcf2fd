// Help: what --help prints, made from the tables. Lines have fewer than 80 columns.
#pragma once

#include <string>

#include "cli/options.hpp"

namespace mayfly::cli {

// What an option looks like on the left: "-e, --env NAME[=VALUE]".
[[nodiscard]] std::string option_form(const Option& option);

// `mayfly VERB --help`
[[nodiscard]] std::string verb_help(const Verb& verb);

// `mayfly --help`: the verbs.
[[nodiscard]] std::string overview();

}  // namespace mayfly::cli
