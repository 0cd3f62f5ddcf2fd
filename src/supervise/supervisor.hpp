// The supervisor: runs one sandbox from plan to proof, in the foreground.
//
// Thread-safety: one supervisor per process, on the main thread (PDEATHSIG follows the forking
// thread). Descriptors: it opens and closes its own; descriptors 0-2 belong to the caller and stay
// open.
#pragma once

#include <string>
#include <vector>

#include "host/facts.hpp"
#include "plan/plan.hpp"
#include "spec/spec.hpp"
#include "supervise/caller.hpp"
#include "supervise/control.hpp"
#include "supervise/outcome.hpp"

namespace mayfly::supervise {

// What happens while a sandbox lives. Implemented by src/report/ (JSON lines) and by tests.
class Observer {
 public:
  Observer() = default;
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;
  virtual ~Observer() = default;
  // There is a sandbox; of the outcome, what the request says is known.
  virtual void created(const Outcome& outcome, const plan::Plan& plan) = 0;
  virtual void started(int pid_inside) = 0;
  // The filter refused a call: the first time, the 10th, the 100th …
  virtual void denied(const Denial&) {}
  // Why the sandbox ends is settled. At most once: a set-up that failed before init ran is only
  // told by ended().
  virtual void ending(Reason reason) = 0;
  // What became of a line of the control descriptor.
  virtual void answered(const ControlAnswer&) {}
  // See WatchListener.
  [[nodiscard]] virtual int backlog() const { return -1; }
  virtual void write_backlog() {}
  // The one outcome, on every path, always last. Every process is gone and the layer is closed; the
  // cgroup's directory and the registry entry go after it.
  virtual void ended(const Outcome& outcome) = 0;
};

// The outcome of a request that cannot be carried out, or was not.
[[nodiscard]] Outcome never_started(const spec::Spec& spec, Error error);

// What must come before everything else in a process that runs a sandbox: descriptors 0-2 are
// filled, or the next one of ours would take a free number among them; then the caller is watched,
// who may die at any moment. A failure is an outcome of run().
struct Beginning {
  Result<void> stdio;
  Result<Caller> caller;
  bool has_stdout = true;  // it was not closed
};
[[nodiscard]] Beginning begin();

// Never fails: every failure is an Outcome. Exactly one Outcome per call.
[[nodiscard]] Outcome run(const spec::Spec& spec, const host::HostFacts& facts,
                          const std::vector<std::string>& caller_env, const Beginning& beginning,
                          Observer& observer);

}  // namespace mayfly::supervise
