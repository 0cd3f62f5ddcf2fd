// Docs: man pages and shell completion from the tables, when the program is built. The program
// itself does not contain this.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "cli/options.hpp"

namespace mayfly::cli {

// The options of a verb as an mdoc(7) list, with a subsection for each group if they are many.
[[nodiscard]] std::string man_options(const Verb& verb);

// The verbs as an mdoc(7) list.
[[nodiscard]] std::string man_verbs();

// Why sandboxes end and with which exit codes, as an mdoc(7) table.
[[nodiscard]] std::string man_reasons();

// The keys of policies, and the groups of system calls, as mdoc(7) lists.
[[nodiscard]] std::string man_keys();
[[nodiscard]] std::string man_groups();

// What a bash completion script needs to know: sets verbs to all names and, for $verb, flags to its
// options, taking to those with an argument ("|--root|-e|"), choices to the words that some of them
// take ("|--tty auto yes no|") and first to those that its first word is one of.
[[nodiscard]] std::string bash_table();

// A template with its marks replaced. A mark is a line of its own: "@OPTIONS run@", "@VERBS@",
// "@REASONS@", "@KEYS@", "@GROUPS@", "@BASH_TABLE@", in schemas "@REASON_NAMES@" and
// "@SPEC_PROPERTIES@", and "@MEMBERS result@" for what the schema result.json in the directory
// `schemas` describes. One that is not known is an error.
[[nodiscard]] Result<std::string> fill_template(std::string_view text,
                                                const std::string& schemas = {});

}  // namespace mayfly::cli
