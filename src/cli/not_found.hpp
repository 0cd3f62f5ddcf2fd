// Not found: why a command could not be executed, in words that know the host and what was typed.
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
  bool (*is_on_noexec)(const std::string& path) = nullptr;  // … of a file that may be executed
};

// Gives the error of an outcome with Reason::ExecFailed a hint, unless it has one: before the
// outcome is reported, so that people and programs are told the same.
void explain_exec(const spec::Spec& spec, const HostView& host, supervise::Outcome& outcome);

}  // namespace mayfly::cli
