// Ending: what `mayfly run` tells people after a command that did not simply end by itself.
#pragma once

#include <string>

#include "supervise/outcome.hpp"

namespace mayfly::cli {

// Lines for standard error, or nothing: a command that exits or dies by itself speaks for itself.
[[nodiscard]] std::string ending_text(const supervise::Outcome& outcome);

}  // namespace mayfly::cli
