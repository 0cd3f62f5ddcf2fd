// The end of a sandbox's cgroup: is anybody left in it, kill them, remove it.
#pragma once

#include <cstdint>
#include <string>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace mayfly::supervise {

// cgroup.events, opened once: it answers reads, and poll (POLLPRI) when it changes.
[[nodiscard]] Result<Fd> open_events(const Fd& cgroup);

// `populated` of cgroup.events: 1 as long as a process that is not a zombie is in it or below.
[[nodiscard]] Result<std::uint64_t> read_populated(const Fd& events);

// SIGKILL to everybody in it and below (5.14). The cgroup is not to be used again: on some kernels
// a child that is cloned into it is then killed at birth.
[[nodiscard]] Result<void> kill_cgroup(const Fd& cgroup);

}  // namespace mayfly::supervise
