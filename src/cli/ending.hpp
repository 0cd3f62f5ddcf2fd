// Ending: what `mayfly run` tells people after a command that did not simply end by itself.
#pragma once

#include <string>

#include "spec/spec.hpp"
#include "supervise/outcome.hpp"

namespace mayfly::cli {

// What a hint about a command that was not found may look at, on the host.
struct HostView {
  std::string search_path;  // the caller's PATH
  std::string working_dir;  // of the caller, absolute or empty
  bool (*is_program)(const std::string& path) = nullptr;
};

// Lines for standard error, or nothing: a command that exits or dies by itself speaks for itself.
[[nodiscard]] std::string ending_text(const spec::Spec& spec, const supervise::Outcome& outcome,
                                      const HostView& host);

// A time as people read it: "0.3s", "12.0s", "4m05s", "2h03m".
[[nodiscard]] std::string time_text(std::uint64_t nanoseconds);

}  // namespace mayfly::cli
