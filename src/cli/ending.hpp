// Ending: what `mayfly run` tells people after a command that did not simply end by itself.
#pragma once

#include <string>

#include "supervise/outcome.hpp"

namespace mayfly::cli {

// Lines for standard error, or nothing: a command that exits or dies by itself speaks for itself.
[[nodiscard]] std::string ending_text(const supervise::Outcome& outcome);

// A time as people read it: "0.3s", "12.0s", "4m05s", "2h03m".
[[nodiscard]] std::string time_text(std::uint64_t nanoseconds);

}  // namespace mayfly::cli
