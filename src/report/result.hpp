// The result of a sandbox as JSON: the same object on the status descriptor and in --result FILE.
#pragma once

#include <string>

#include "base/result.hpp"
#include "supervise/outcome.hpp"

namespace mayfly::report {

// The version of events and results; readers ignore members that they do not know.
inline constexpr int kVersion = 1;

// One line, without a newline. Numbers end in their unit; what was not measured is null, and
// "<name>_why" says why.
[[nodiscard]] std::string result_json(const supervise::Outcome& outcome);

// Whether `path` can be written at the end: its directory is there and lets us, and it is itself no
// directory. To be asked before the start, so that a typing error does not cost a run.
[[nodiscard]] Result<void> check_result_file(const std::string& path);

// Writes a file beside `path` and renames it over it: a reader sees the whole result or none.
[[nodiscard]] Result<void> write_result_file(const std::string& path,
                                             const supervise::Outcome& outcome);

}  // namespace mayfly::report
