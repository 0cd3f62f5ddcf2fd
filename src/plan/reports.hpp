// What the task must not reach of its caller's own files: its result and what it is told and told
// by. Pure.
#pragma once

#include "base/result.hpp"
#include "plan/plan.hpp"

namespace mayfly::plan {

// Refuses a result, status or control file that lies in a tree which the task has live: it could
// write there what it likes. plan.mounts is complete.
[[nodiscard]] Result<void> check_reports(const spec::Spec& spec, const host::HostFacts& facts,
                                         const Plan& plan);

}  // namespace mayfly::plan
