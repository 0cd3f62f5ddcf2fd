// Why a host refuses what a sandbox needs, in words: the setting that does it, and the remedy.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "host/facts.hpp"

namespace mayfly::host {

// What decides about user namespaces besides the kernel itself. nullopt: no such setting here.
struct Surroundings {
  std::optional<std::int64_t> unprivileged_userns_clone;  // kernel.*, a patch of Debian's
  std::optional<std::int64_t> apparmor_restrict_userns;   // kernel.apparmor_restrict_unprivileged_*
  std::optional<std::int64_t> max_user_namespaces;        // user.*
  std::optional<std::int64_t> max_other_namespaces;       // the smallest of user.max_*_namespaces
  std::string exhausted;  // the name of that smallest one: "user.max_net_namespaces"
  std::optional<std::uint64_t> process_limit;  // the caller's, where it holds for it (ulimit -u)
  std::string full_cgroup;      // has as many processes as its pids.max allows: our own, or above
  bool no_controllers = false;  // the cgroup v2 tree has none at all
  bool in_chroot = false;       // the root directory is not a mount point
  bool filtered = false;        // a seccomp filter is loaded already (a container's)
  bool masked_proc = false;     // something is mounted over parts of /proc
  bool read_only_proc = false;  // /proc or /proc/sys is mounted read-only
};

[[nodiscard]] Surroundings look_around(const HostFacts& facts);

struct Cause {
  std::string why;     // a clause: "kernel.unprivileged_userns_clone is 0"
  std::string remedy;  // what to do, one line
};

// Pure. error: errno of a fork, or of clone3 or unshare(CLONE_NEWUSER), or of writing its id maps.
[[nodiscard]] Cause why_no_user_namespace(int error, const Surroundings& around);
// error: errno of another namespace or a mount inside a user namespace.
[[nodiscard]] Cause why_not_inside(int error, const Surroundings& around);
// error: errno of mounting proc in a pid namespace of its own.
[[nodiscard]] Cause why_no_proc(int error, const Surroundings& around);

}  // namespace mayfly::host
