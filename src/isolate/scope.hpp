// Scope: a cgroup of its own that systemd makes for us, delegated, with its controllers.
//
// Needs libsystemd and a bus, which the static program has not: a helper of ours is executed
// (libexec/mayfly/mayfly-scope), which asks the user's manager, or for root the system's, for a
// transient scope and waits until we are moved into it. The scope goes when the last process in it
// has ended. Only for runs with limits that nothing else could hold. Does not stop: anything.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"

namespace mayfly::isolate {

// The helper's path, beside this program: in an installation ../libexec/mayfly/, in a build tree
// the same directory. Empty: it is not there.
[[nodiscard]] std::string scope_helper();

// Moves the calling process into a scope named mayfly-<id>.scope.
[[nodiscard]] Result<void> enter_scope(const std::string& id);

// Executes the helper for that and waits for its end, at most so long. Only its exit with 0 means
// that we are in the scope.
[[nodiscard]] Result<void> run_scope_helper(const std::string& helper, const std::string& id,
                                            std::int64_t patience_ns);

}  // namespace mayfly::isolate
