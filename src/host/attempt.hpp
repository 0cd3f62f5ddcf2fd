// Trying a mechanism for real: in a forked child that may fail, hang or die without harm.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "host/facts.hpp"

namespace mayfly::host {

struct Finding {
  bool works = false;
  int error = 0;       // errno of the call that failed; 0 if there is none to name
  std::string detail;  // what was found, or the call that failed with its arguments
};

[[nodiscard]] Finding found(std::string_view detail = {});
// answer: what the kernel returned, -errno.
[[nodiscard]] Finding failed(long answer, std::string_view call);

enum class World {
  Here,           // as the caller is
  UserNamespace,  // in a user namespace of its own, with the ids that a sandbox would get and all
                  // capabilities in it
};

// Runs the function in a child and gives back what it returned. The child and the processes that it
// starts are dead when this returns; it gets 10 s.
[[nodiscard]] Finding attempt(World world, const HostFacts& facts,
                              Finding (*function)(const HostFacts&));

// For functions that need a process of their own: forks, runs the function as the child, waits and
// returns its exit code, or -errno (-EINTR if it was killed). The child dies with its parent.
[[nodiscard]] long in_child(int (*function)());

// Writes the id maps of `pid`, as attempt() does for World::UserNamespace.
[[nodiscard]] Result<void> write_maps(pid_t pid, const HostFacts& facts);

}  // namespace mayfly::host
