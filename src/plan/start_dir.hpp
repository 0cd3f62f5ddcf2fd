// Where the task starts.
#pragma once

#include <string>

#include "base/result.hpp"
#include "host/facts.hpp"
#include "plan/plan.hpp"
#include "spec/spec.hpp"

namespace mayfly::plan {

// spec.chdir, else the caller's working directory if the sandbox shows it at its own path or has a
// directory of the request's exactly there, else HOME. The sandbox's own /, /tmp, /run, /dev and
// /proc are not what the caller's are.
//   project  the one that is shown, or empty
//   plan     its ids and mounts
[[nodiscard]] Result<std::string> start_dir(const spec::Spec& spec, const host::HostFacts& facts,
                                            const std::string& project, const Plan& plan);

}  // namespace mayfly::plan
