// JSON Schemas (man/schema), when the program is built: what the tables put into them, and what the
// man pages say of them. The program itself does not contain this.
#pragma once

#include <string>

#include "base/result.hpp"

namespace mayfly::cli {

// The keys of a spec as the members of an object's "properties", a line each.
[[nodiscard]] std::string schema_settings();

// The names of the reasons as the members of an "enum".
[[nodiscard]] std::string schema_reasons();

// What the schema in that file of the directory describes, as mdoc(7): each member with its type,
// its unit, and whether it is always there. Of one with "oneOf" each kind with its title.
[[nodiscard]] Result<std::string> man_members(const std::string& directory,
                                              const std::string& file);

}  // namespace mayfly::cli
