// Which system calls a sandbox may make, and what becomes of those that it may not.
#pragma once

#include "base/result.hpp"
#include "host/facts.hpp"
#include "plan/plan.hpp"
#include "spec/spec.hpp"

namespace mayfly::plan {

// Sets the plan's filter, programs and refusals, and adds notes. Its mounts and capabilities are
// there already. Of the facts it takes the profile's text and the kernel's release.
[[nodiscard]] Result<void> choose_filter(const spec::Spec& spec, const host::HostFacts& facts,
                                         Plan& plan);

}  // namespace mayfly::plan
