// Ground: the cgroup below which one with limits is made, made ready for it and given back.
//
// Kernel: a controller is given to children by cgroup.subtree_control, and memory and io only where
// no process lives directly. Order: before the sandbox's cgroup is made; released after that is
// removed. Any number of runs use one ground at a time: each holds a shared lock of the directory
// (flock) as long as it does, and what the first has enabled, and written down in an xattr, is
// undone by whoever finds itself alone. A run that is killed lets go of its lock, and the next one,
// or gc, undoes. Does not stop: others who write there, too.
#pragma once

#include <string>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "host/facts.hpp"
#include "plan/plan.hpp"

namespace mayfly::isolate::cgroup {

class Ground {
 public:
  // Enables what the plan's knobs need below its cgroup_parent, after moving ourselves to a leaf
  // where we live there. `id` names that leaf. Undone on failure. Where the parent is to come from
  // systemd, it is asked for it, and cgroup_parent filled in.
  [[nodiscard]] static Result<Ground> take(plan::Plan& plan, const host::CgroupFacts& facts,
                                           const std::string& id);

  Ground() = default;
  Ground(Ground&&) noexcept = default;
  Ground& operator=(Ground&&) noexcept;
  Ground(const Ground&) = delete;
  Ground& operator=(const Ground&) = delete;
  ~Ground() { release(); }

  // Gives it back: controllers off if nobody else uses them, ourselves back where we were. What
  // fails is left to gc.
  void release();

 private:
  Result<void> lock();
  Result<void> leave(const std::string& id);
  Result<void> enable(host::Controllers needed);

  std::string path_;
  Fd directory_;
  std::string leaf_;       // where we moved, or empty
  bool is_scope_ = false;  // it goes with us: nothing is to be undone
};

// Undoes what a killed run has left enabled at `path`, if nobody uses it, and removes the leaf that
// a supervisor of this id had.
void give_back(const std::string& path, const std::string& id);

}  // namespace mayfly::isolate::cgroup
