// Dialogue: what the parent hears from the child half, and what its silence means.
//
// The socket alone cannot tell "init was executed" from "the child died": both are its end. So a
// pidfd of the child is looked at with it, and how the child ended is asked of the kernel.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <functional>
#include <span>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "isolate/disk_layer.hpp"
#include "launch/messages.hpp"
#include "plan/plan.hpp"

namespace mayfly::launch {

// The child, while it is not yet handed over.
struct Child {
  pid_t pid = 0;  // 0: there is none; else not reaped, so that the number is its own
  Fd pidfd;
  Fd socket;  // our end
};

class Dialogue {
 public:
  // cgroup: the child's own, empty if it has none. layer: empty if it is in memory. is_cancelled:
  // see StartRequest. All are borrowed.
  Dialogue(const plan::Plan& plan, const Child& child, const Fd& cgroup,
           const isolate::disk_layer::Made& layer, const std::function<bool()>& is_cancelled)
      : plan_(plan), child_(child), cgroup_(cgroup), layer_(layer), is_cancelled_(is_cancelled) {}

  // The next message, which must be of this kind; else why the child gave up.
  [[nodiscard]] Result<Received> expect(Kind kind);

  // If nobody is there to hear it: why.
  [[nodiscard]] Result<void> send(const Message& message, std::span<const int> descriptors);

  // Why something could not be done to the child: it may be on its way out, and then why it ends
  // counts.
  [[nodiscard]] Error cause_of(Error error);

  // The child was killed before it said a word: on some kernels a child that is cloned into a
  // cgroup is killed at birth if cgroup.kill was ever used on one of the two cgroups.
  [[nodiscard]] bool born_dead() const { return born_dead_; }

  // The kernel's tmpfs cannot be a layer, which was found out before anything was mounted.
  [[nodiscard]] bool needs_disk() const { return needs_disk_; }

 private:
  Result<Received> receive();
  Result<void> await(std::span<pollfd> watched);
  Error told(const Message& failed);
  Error last_words();
  Error death();

  const plan::Plan& plan_;
  const Child& child_;
  const Fd& cgroup_;
  const isolate::disk_layer::Made& layer_;
  const std::function<bool()>& is_cancelled_;
  bool has_spoken_ = false;
  bool born_dead_ = false;
  bool needs_disk_ = false;
};

}  // namespace mayfly::launch
