// The words for ends that init reported.
#pragma once

#include "base/result.hpp"
#include "launch/protocol.hpp"
#include "plan/plan.hpp"

namespace mayfly::supervise {

// ExecFailed: names the command and, where that is the cause, the interpreter. The hint is empty
// where only the caller's view of the host can give a good one (a command that is not found).
[[nodiscard]] Error exec_error(const plan::Plan& plan, const launch::Message& failed);

}  // namespace mayfly::supervise
