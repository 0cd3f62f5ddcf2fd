// The process that called us: when it dies, the sandbox ends (DESIGN 3).
#pragma once

#include "base/fd.hpp"
#include "base/result.hpp"

namespace mayfly::supervise {

struct Caller {
  Fd pidfd;           // readable once the caller is dead; empty where it cannot be named
  bool gone = false;  // it died before we could watch it
};

// First thing in a run: the earlier, the smaller the chance that the caller is gone already. No
// PDEATHSIG: that fires when the *thread* that forked us ends, which breaks Go, Rust and nohup.
// A caller outside of our pid namespace has no number here (getppid() is 0) and is not watched.
[[nodiscard]] Result<Caller> watch_caller();

}  // namespace mayfly::supervise
