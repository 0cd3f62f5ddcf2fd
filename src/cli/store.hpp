// Where this caller's policies are.
#pragma once

#include "cli/options.hpp"
#include "policy/store.hpp"

namespace mayfly::cli {

// $XDG_CONFIG_HOME/mayfly/policies, or ~/.config/mayfly/policies, then /etc/mayfly/policies.
[[nodiscard]] policy::Store caller_store(const spec::Draft& request);

}  // namespace mayfly::cli
