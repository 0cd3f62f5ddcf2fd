// The child half of the launch: from clone3 to the execution of init.
//
// It shares the supervisor's memory (CLONE_VM), so it allocates nothing, calls no libc and reads
// only what was prepared. The lists in parent.cpp and child.cpp name the same steps in the same
// order.
#pragma once

#include <cstddef>

#include "isolate/landlock.hpp"
#include "isolate/layer.hpp"
#include "isolate/mounts.hpp"
#include "isolate/rights.hpp"
#include "isolate/terminal.hpp"
#include "isolate/user_ns.hpp"
#include "launch/test_hooks.hpp"
#include "plan/plan.hpp"

namespace mayfly::launch {

struct Prepared {
  // descriptors of the parent; the child has copies of them
  int socket_parent = -1;  // the supervisor's end: closed first thing, so that its death is EOF
  int socket_child = -1;
  int supervisor = -1;  // pidfd

  bool unshare_cgroup = false;  // the retry path: the namespace after the move
  isolate::user_ns::Prepared user_ns;
  isolate::layer::Prepared layer;
  isolate::mounts::Prepared mounts;
  isolate::terminal::Prepared terminal;
  bool hand_out_proc = false;
  const char* hostname = "";
  std::size_t hostname_size = 0;
  const std::vector<plan::Rlimit>* rlimits = nullptr;
  bool ban_user_namespaces = true;
  bool new_session_keyring = false;
  isolate::rights::Capabilities capabilities;
  isolate::landlock::Prepared landlock;
  TestHooks hooks;
};

// clone3's function. argument: const Prepared*. Returns only on failure, after it was reported.
int child_half(void* argument);

}  // namespace mayfly::launch
