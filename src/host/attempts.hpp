// The single attempts of probe(), each run in a child of its own (see attempt.hpp).
#pragma once

#include "host/attempt.hpp"

namespace mayfly::host::attempts {

// In a user namespace (World::UserNamespace).
[[nodiscard]] Finding user_namespace(const HostFacts& facts);
[[nodiscard]] Finding mount_namespace(const HostFacts& facts);
[[nodiscard]] Finding pid_namespace(const HostFacts& facts);
[[nodiscard]] Finding net_namespace(const HostFacts& facts);  // and its loopback
[[nodiscard]] Finding ipc_namespace(const HostFacts& facts);
[[nodiscard]] Finding uts_namespace(const HostFacts& facts);  // and a host name in it
[[nodiscard]] Finding cgroup_namespace(const HostFacts& facts);
[[nodiscard]] Finding namespace_ban(const HostFacts& facts);
[[nodiscard]] Finding process_limit(const HostFacts& facts);
[[nodiscard]] Finding tmpfs(const HostFacts& facts);
[[nodiscard]] Finding user_xattrs(const HostFacts& facts);  // on a tmpfs
[[nodiscard]] Finding overlay(const HostFacts& facts);
[[nodiscard]] Finding proc(const HostFacts& facts);
[[nodiscard]] Finding devpts(const HostFacts& facts);
[[nodiscard]] Finding read_only_tree(const HostFacts& facts);

// As the caller is (World::Here).
[[nodiscard]] Finding id_mapped_mount(const HostFacts& facts);
[[nodiscard]] Finding landlock(const HostFacts& facts);
[[nodiscard]] Finding seccomp_filter(const HostFacts& facts);
[[nodiscard]] Finding seccomp_notify(const HostFacts& facts);
[[nodiscard]] Finding pidfd(const HostFacts& facts);
[[nodiscard]] Finding cgroup_clone(const HostFacts& facts);
[[nodiscard]] Finding cgroup_kill(const HostFacts& facts);
[[nodiscard]] Finding cgroup_memory_peak(const HostFacts& facts);
[[nodiscard]] Finding cgroup_controllers(const HostFacts& facts);

}  // namespace mayfly::host::attempts
