#include "supervise/supervisor.hpp"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "init/image.hpp"
#include "isolate/cgroup.hpp"
#include "isolate/cgroup_ground.hpp"
#include "isolate/disk_layer.hpp"
#include "launch/launch.hpp"
#include "launch/test_hooks.hpp"
#include "plan/limits.hpp"
#include "policy/refusals.hpp"
#include "policy/stock.hpp"
#include "supervise/caller.hpp"
#include "supervise/janitor.hpp"
#include "supervise/layer_meter.hpp"
#include "supervise/registry.hpp"
#include "supervise/signals.hpp"
#include "supervise/stdio.hpp"
#include "supervise/usage.hpp"
#include "supervise/watch.hpp"
#include "supervise/words.hpp"
#include "sys/entries.hpp"
#include "sys/event.hpp"
#include "sys/process.hpp"

namespace mayfly::supervise {
namespace {

// init's own key turns this much after ours and the grace period: it is for when we cannot.
constexpr std::int64_t kInitKeyMargin = 50'000'000;

// When a run without a name is registered, and the registry swept. A shorter run leaves nothing
// that its entry would be needed for: whoever kills it within this time leaves at most an empty
// cgroup, which gc knows by its random name. On a disk an entry costs 0.4 ms.
constexpr std::int64_t kChoresAfter = 100'000'000;

std::int64_t bounded(spec::Nanoseconds time) {
  return std::min<std::int64_t>(time.count(), kLongest);
}

Outcome unstarted(const spec::Spec& spec) {
  const std::string why = "the sandbox was never started";
  Outcome outcome;
  outcome.name = spec.name;
  outcome.labels = spec.labels;
  outcome.usage = unmeasured_usage(why);
  outcome.proof.populated.why_not = why;
  return outcome;
}

void fail(Outcome& outcome, Error error) {
  outcome.reason =
      error.kind == ErrorKind::HostUnsupported ? Reason::HostUnsupported : Reason::SetupFailed;
  outcome.code = exit_code(outcome.reason, 0);
  outcome.error = std::move(error);
}

class Run final : public WatchListener {
 public:
  Run(const spec::Spec& spec, const host::HostFacts& facts, const Beginning& beginning,
      Observer& observer)
      : spec_(spec),
        facts_(facts),
        beginning_(beginning),
        observer_(observer),
        outcome_(unstarted(spec)) {}

  Outcome go(const std::vector<std::string>& caller_env) {
    const std::int64_t began = sys::boottime_ns();
    Result<void> prepared = prepare(caller_env);
    if (!prepared) {
      fail(outcome_, std::move(prepared).error());
    } else if (!cancelled_early()) {
      Result<void> launched = launch();
      if (launched) {
        watch(began);
      } else {
        fail(outcome_, std::move(launched).error());
      }
    }
    observer_.ended(outcome_);
    let_go();
    return std::move(outcome_);
  }

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
  std::optional<Progress> progress_;
  std::optional<RuntimeDir> directory_;
  Entry entry_;
  launch::Sandbox sandbox_;
  std::optional<LayerMeter> layer_meter_;  // of a layer on disk
  std::int64_t spawned_ns_ = 0;
  std::vector<int> early_;  // signals for a task that was not there yet
  std::optional<std::int64_t> ttl_ns_;
  std::optional<Denials> denials_;
};

Result<void> Run::prepare(const std::vector<std::string>& caller_env) {
  if (!beginning_.stdio) return beginning_.stdio.error();
  if (!spec_.keep_running) {
    if (!beginning_.caller) return beginning_.caller.error();
    caller_ = &*beginning_.caller;
  }
  signals_ = TRY(take_signals());
  plan_ = TRY(plan::make_plan(spec_, facts_, caller_env));
  const launch::TestHooks hooks = launch::TestHooks::from_environment();
  stdio_ = TRY(prepare_stdio(spec_, {.pass_files = hooks.skips(launch::Step::TaskStdio),
                                     .unsafe_terminal = spec_.unsafe.unsafe_tty,
                                     .own_ids = plan_.ids.range,
                                     .relay_input = spec_.control_fd >= 0,
                                     .relay_output = spec_.idle || spec_.max_output,
                                     .own_terminal = plan_.terminal}));
  if (plan_.terminal) terminal_.emplace();
  if (spec_.max_output) stdio_.relay.limit_output(*spec_.max_output);
  if (spec_.control_fd >= 0) {
    control_ = TRY(open_control(spec_.control_fd, spec_.control_fd == spec_.status_fd));
  }
  directory_ = TRY(RuntimeDir::open(facts_.runtime_dir));
  outcome_.id = spec_.name.empty() ? TRY(random_id()) : spec_.name;
  // What gc could not find by itself is written down before it is there.
  if (!spec_.name.empty() || !plan_.cgroup.knobs.empty() || plan_.layer == spec::LayerKind::Disk) {
    entry_ = TRY(Entry::claim(*directory_, record(), facts_.cgroup.mount));
  }
  if (!plan_.cgroup.knobs.empty()) TRY(take_ground());
  outcome_.notes = plan_.notes;
  if (spec_.ttl) ttl_ns_ = bounded(*spec_.ttl);
  return {};
}

// The cgroup that the sandbox's own is made in is made ready for its limits.
Result<void> Run::take_ground() {
  Result<isolate::cgroup::Ground> ground =
      isolate::cgroup::Ground::take(plan_, facts_.cgroup, outcome_.id);
  if (ground) {
    ground_ = std::move(*ground);
    return {};
  }
  if (!plan_.cgroup.best_effort) return std::move(ground).error();
  plan::drop_controllers(plan_, plan_.cgroup.needed, describe(ground.error()));
  plan_.cgroup_parent.clear();
  plan_.cgroup_reason = "none with controllers could be had";
  plan::choose_meter(spec_, plan_);
  return {};
}

// The caller went, or a signal came, before there was a task that could be told.
bool Run::cancelled_early() {
  const bool watched = caller_ != nullptr && caller_->pidfd;
  std::array<pollfd, 2> polls = {
      pollfd{.fd = signals_.get(), .events = POLLIN, .revents = 0},
      pollfd{.fd = watched ? caller_->pidfd.get() : -1, .events = POLLIN, .revents = 0}};
  if (!sys::ppoll(polls, 0)) return false;
  int by = 0;
  while (polls[0].revents != 0 && by == 0) {
    const Result<int> signal = sys::read_signal(signals_);
    if (!signal || *signal == 0) break;
    const bool ignored = *signal == SIGHUP && spec_.keep_running;
    if (meaning_of(*signal) == Asks::End && !ignored) by = *signal;
    if (meaning_of(*signal) != Asks::End) early_.push_back(*signal);
  }
  const bool gone = caller_ != nullptr && caller_->gone;
  if (by == 0 && !gone && polls[1].revents == 0) return false;
  outcome_.reason = Reason::Cancelled;
  outcome_.code = exit_code(Reason::Cancelled, by);
  if (by != 0) outcome_.signal = by;
  return true;
}

Result<void> Run::launch() {
  const std::int64_t grace = bounded(spec_.grace);
  const std::vector<sock_filter>& own = plan_.programs.init.code;
  const std::span<const sock_filter> filter =
      own.empty() ? policy::stock_filter(plan_.filter) : std::span(own);
  std::vector<sock_filter> asking;
  if (plan_.refusals != plan::Refusals::Silent) asking = policy::asking(filter);
  sandbox_ =
      TRY(launch::start(plan_, {.id = outcome_.id,
                                .id_lock_file = directory_->id_ranges_file(),
                                .init_image = init::init_image(),
                                .filter = asking.empty() ? filter : asking,
                                .stdio = stdio_.task,
                                .terminal = terminal_ ? terminal_->look() : launch::TerminalLook{},
                                .deadline_ns = ttl_ns_ ? *ttl_ns_ + grace + kInitKeyMargin : 0,
                                .facts = &facts_}));
  spawned_ns_ = sys::boottime_ns();
  stdio_.task_ends.clear();
  if (plan_.refusals != plan::Refusals::Silent) denials_.emplace(filter, plan_.refusals);
  if (sandbox_.disk_layer.directory) use_disk_layer();
  if (terminal_) {
    terminal_->hold(std::move(sandbox_.terminal_slave));
    if (Result<void> attached = stdio_.attach(std::move(sandbox_.terminal_master)); !attached) {
      static_cast<void>(sys::pidfd_send_signal(sandbox_.init_pidfd, SIGKILL));
      return attached;
    }
  }
  if (entry_ && (sandbox_.cgroup || sandbox_.disk_layer.directory)) {
    if (Result<void> published = entry_.publish(record()); !published) {
      note_unlisted(published.error());
    }
  }
  observer_.created(outcome_.id, plan_);
  return {};
}

void Run::use_disk_layer() {
  layer_meter_.emplace(sandbox_.disk_layer.directory,
                       LayerMeter::Size{.bytes = plan_.layer_bytes, .inodes = plan_.layer_inodes});
  outcome_.notes.push_back({.what = "layer",
                            .enforcement = plan::Enforcement::Approximated,
                            .how = "on disk, in " + sandbox_.disk_layer.path +
                                   (plan_.layer == spec::LayerKind::Disk
                                        ? ""
                                        : ", since this kernel's tmpfs holds no user xattrs") +
                                   ": its size is looked at several times a second"});
}

void Run::watch(std::int64_t began) {
  WatchRequest request;
  if (layer_meter_) request.layer_meter = &*layer_meter_;
  request.sandbox = &sandbox_;
  request.relay = &stdio_.relay;
  request.signals = &signals_;
  const Fd nobody;
  request.caller = caller_ != nullptr ? &caller_->pidfd : &nobody;
  request.setup_deadline = began + launch::kSetupDeadlineNs;
  request.spawned = spawned_ns_;
  if (ttl_ns_) request.ttl_deadline = spawned_ns_ + *ttl_ns_;
  if (spec_.ttl_max) request.ttl_max_deadline = spawned_ns_ + bounded(*spec_.ttl_max);
  request.grace_ns = bounded(spec_.grace);
  request.init_key_margin_ns = request.grace_ns + kInitKeyMargin;
  request.chores_at = spawned_ns_ + kChoresAfter;
  request.linger = spec_.linger;
  request.keep_running = spec_.keep_running;
  request.plan = &plan_;
  request.limits_memory = plan_.cgroup.needed.has(host::Controller::Memory);
  request.no_cgroup_why = plan_.cgroup_reason;
  request.early_signals = std::move(early_);
  if (denials_) request.denials = &*denials_;
  if (spec_.idle) request.idle_ns = bounded(*spec_.idle);
  if (spec_.cpu_time || spec_.progress) {
    request.meter = &meter_.emplace(&sandbox_.cgroup, std::move(sandbox_.proc));
  }
  if (spec_.cpu_time) request.cpu_limit_ns = bounded(*spec_.cpu_time);
  if (spec_.progress && !spec_.quiet && ::isatty(STDERR_FILENO) == 1) {
    request.progress = &progress_.emplace(STDERR_FILENO, *meter_, spawned_ns_);
    stdio_.relay.set_listener(request.progress);
  }
  request.control = control_ ? &*control_ : nullptr;
  request.terminal = terminal_ ? &*terminal_ : nullptr;
  if (terminal_) terminal_->enter();
  End end = Watch(std::move(request), *this).run();
  terminal_.reset();
  progress_.reset();
  conclude(end);
}

void Run::chores() {
  if (!entry_) {
    Result<Entry> entry = Entry::claim(*directory_, record(), facts_.cgroup.mount);
    if (entry) {
      entry_ = std::move(*entry);
    } else {
      note_unlisted(entry.error());
    }
  }
  sweep(*directory_, facts_.cgroup.mount, plan_.cgroup_parent);
}

// DESIGN 5, steps 4 and 5: usage first, since the layer's is read through its descriptor; then the
// descriptors that pin the layer and the net namespace.
void Run::conclude(End& end) {
  outcome_.reason = end.reason;
  outcome_.code = exit_code(end.reason, end.detail);
  outcome_.signal = end.signal;
  outcome_.started = end.started;
  outcome_.clean = end.clean;
  outcome_.unclean_why = std::move(end.unclean_why);
  outcome_.error = std::move(end.error);
  if (end.failure) {
    outcome_.error = end.reason == Reason::ExecFailed ? exec_error(plan_, *end.failure)
                                                      : launch::step_error(plan_, *end.failure);
  }
  if (denials_) outcome_.denials = denials_->all();
  outcome_.usage =
      measure_usage({.end = &end,
                     .spawned_ns = spawned_ns_,
                     .cgroup = &sandbox_.cgroup,
                     .layer = &sandbox_.layer,
                     .meter = layer_meter_ ? &*layer_meter_ : nullptr,
                     .relay = &stdio_.relay,
                     .no_cgroup_why = plan_.cgroup_reason,
                     .is_reported = spec_.status_fd >= 0 || !spec_.result_file.empty()});
  outcome_.limits_hit = limits_hit(plan_, end, outcome_.usage);
  sandbox_.socket.reset();
  outcome_.proof.init_reaped = end.init.has_value();
  outcome_.proof.populated = std::move(end.populated);
  outcome_.proof.layer_closed =
      static_cast<bool>(sys::close(std::move(sandbox_.layer), "the layer")) && remove_disk_layer();
}

// False: it is left to gc, which its entry tells of it.
bool Run::remove_disk_layer() {
  if (!sandbox_.disk_layer.directory) return true;
  constexpr std::int64_t kPatience = 10'000'000'000;
  const Result<void> removed =
      isolate::disk_layer::remove(sandbox_.disk_layer, sys::boottime_ns() + kPatience);
  if (removed) return true;
  if (!outcome_.clean) outcome_.unclean_why += "; ";
  outcome_.clean = false;
  outcome_.unclean_why += describe(removed.error());
  return false;
}

// After the result. An entry stays for gc where the cgroup could not be removed, and is made where
// there was none yet.
void Run::let_go() {
  sandbox_.init_pidfd.reset();
  sandbox_.cgroup.reset();
  const bool removed =
      (sandbox_.cgroup_path.empty() || isolate::cgroup::remove(sandbox_.cgroup_path)) &&
      (!layer_meter_ || outcome_.proof.layer_closed);
  ground_.release();
  if (removed) {
    if (entry_) entry_.remove(*directory_);
  } else if (!entry_) {
    static_cast<void>(Entry::claim(*directory_, record(), facts_.cgroup.mount));
  }
}

Record Run::record() const {
  Record record{.id = outcome_.id,
                .name = outcome_.name,
                .pid = ::getpid(),
                .boot_id = boot_id(),
                .started_ns = sys::boottime_ns(),
                .cgroup = sandbox_.cgroup_path,
                .cgroup_inode = 0,
                .layer = sandbox_.disk_layer.path,
                .layer_inode = 0,
                .labels = outcome_.labels};
  if (const Fd& layer = sandbox_.disk_layer.directory) {
    if (const Result<sys::Identity> found = sys::fstat(layer, record.layer)) {
      record.layer_inode = found->inode;
    }
  } else if (plan_.layer == spec::LayerKind::Disk && record.layer.empty()) {
    record.layer = plan_.layer_parent + "/" + outcome_.id;
  }
  if (sandbox_.cgroup) {
    if (const Result<sys::Identity> cgroup = sys::fstat(sandbox_.cgroup, sandbox_.cgroup_path)) {
      record.cgroup_inode = cgroup->inode;
    }
  } else if (!plan_.cgroup_parent.empty()) {
    record.cgroup = plan_.cgroup_parent + "/mayfly-" + outcome_.id;
  }
  return record;
}

void Run::note_unlisted(const Error& error) {
  outcome_.notes.push_back({.what = "registry entry",
                            .enforcement = plan::Enforcement::NotEnforced,
                            .how = describe(error)});
}

}  // namespace

Beginning begin() {
  // In this order: braces are evaluated from the left.
  return {.stdio = fill_missing_stdio(), .caller = watch_caller()};
}

Outcome never_started(const spec::Spec& spec, Error error) {
  Outcome outcome = unstarted(spec);
  fail(outcome, std::move(error));
  return outcome;
}

Outcome run(const spec::Spec& spec, const host::HostFacts& facts,
            const std::vector<std::string>& caller_env, const Beginning& beginning,
            Observer& observer) {
  return Run(spec, facts, beginning, observer).go(caller_env);
}

}  // namespace mayfly::supervise
