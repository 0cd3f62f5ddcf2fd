// Run: one sandbox, from the spec to the outcome. run.cpp is its start and its life, run_end.cpp
// its end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "isolate/cgroup_ground.hpp"
#include "launch/launch.hpp"
#include "supervise/layer_meter.hpp"
#include "supervise/registry.hpp"
#include "supervise/stdio.hpp"
#include "supervise/supervisor.hpp"
#include "supervise/watch.hpp"

namespace mayfly::supervise {

// The outcome of a run of which nothing has happened yet.
[[nodiscard]] Outcome unstarted(const spec::Spec& spec);
// Makes it that of a run which could not be started.
void fail(Outcome& outcome, Error error);

class Run final : public WatchListener {
 public:
  Run(const spec::Spec& spec, const host::HostFacts& facts, const Beginning& beginning,
      Observer& observer)
      : spec_(spec),
        facts_(facts),
        beginning_(beginning),
        observer_(observer),
        outcome_(unstarted(spec)) {}

  // The whole of it, on every path.
  Outcome go(const std::vector<std::string>& caller_env);

  void started(int pid_inside) override { observer_.started(pid_inside); }
  void denied(const Denial& denial) override { observer_.denied(denial); }
  void ending(Reason reason) override { observer_.ending(reason); }
  void chores() override;
  void answered(const ControlAnswer& answer) override { observer_.answered(answer); }
  [[nodiscard]] int backlog() const override { return observer_.backlog(); }
  void write_backlog() override { observer_.write_backlog(); }

 private:
  Result<void> prepare(const std::vector<std::string>& caller_env);
  Result<void> take_ground();
  bool cancelled_early();
  bool is_cancelled() const;
  Result<void> launch();
  void use_disk_layer();
  void watch(std::int64_t began);
  void conclude(End& end);
  bool remove_disk_layer();
  void let_go();
  [[nodiscard]] Record record() const;
  void note_unlisted(const Error& error);

  const spec::Spec& spec_;
  const host::HostFacts& facts_;
  const Beginning& beginning_;
  Observer& observer_;
  Outcome outcome_;

  const Caller* caller_ = nullptr;  // null: nobody is watched
  Fd signals_;
  plan::Plan plan_;
  isolate::cgroup::Ground ground_;  // of a cgroup with limits
  Stdio stdio_;
  std::optional<Control> control_;
  std::optional<Meter> meter_;
  std::optional<Terminal> terminal_;
  std::optional<LentTerminal> lent_terminal_;
  std::string terminal_type_;
  std::optional<Progress> progress_;
  std::optional<RuntimeDir> directory_;
  Entry entry_;
  launch::Sandbox sandbox_;
  std::optional<LayerMeter> layer_meter_;  // of a layer on disk
  std::int64_t spawned_ns_ = 0;
  std::vector<int> early_;  // signals for a task that was not there yet
  std::optional<std::int64_t> ttl_ns_;
  std::optional<Denials> denials_;
  std::optional<Error> broken_;  // why it was killed as soon as it was there
};

}  // namespace mayfly::supervise
