// The sandbox's own /etc/passwd, group, hosts and so on: pure functions from facts to text.
//
// People of the host are not shown to a task, its system accounts are: programs look up "www-data"
// or "games", and an account list of a distribution tells nothing about anybody.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "host/facts.hpp"
#include "plan/plan.hpp"

namespace mayfly::plan {

// root, the host's system accounts (ids below 1000), the task's user, nobody. An entry of the host
// with a ':' or a line end in a field is left out; in the task's own fields it is an error.
[[nodiscard]] Result<std::string> passwd_file(const host::HostFacts& facts, const Ids& ids);
// Likewise. No group has members: what the caller is a member of cannot be used inside.
[[nodiscard]] Result<std::string> group_file(const host::HostFacts& facts, const Ids& ids);

// localhost and the sandbox's own name, on the loopback addresses. The name must be a host name.
[[nodiscard]] Result<std::string> hosts_file(std::string_view hostname);

// For a sandbox without a network: a name server that refuses at once, so that a resolver which
// ignores nsswitch.conf fails in no time instead of waiting for an answer.
[[nodiscard]] std::string resolv_conf();

// Files only: no lookup leaves the sandbox or waits for a daemon that is not there.
[[nodiscard]] std::string nsswitch_conf();

// All of the above and `hostname`, as files of /etc (paths relative to it), mode 0644.
[[nodiscard]] Result<std::vector<Node>> etc_files(const host::HostFacts& facts, const Ids& ids,
                                                  const std::string& hostname);

}  // namespace mayfly::plan
