#include "supervise/run.hpp"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include "init/image.hpp"
#include "launch/test_hooks.hpp"
#include "plan/limits.hpp"
#include "policy/refusals.hpp"
#include "policy/stock.hpp"
#include "supervise/caller.hpp"
#include "supervise/descriptor.hpp"
#include "supervise/janitor.hpp"
#include "supervise/signals.hpp"
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

std::string type_of_terminal(const std::vector<std::string>& environment) {
  constexpr std::string_view kName = "TERM=";
  for (const std::string& variable : environment) {
    if (variable.compare(0, kName.size(), kName) == 0) return variable.substr(kName.size());
  }
  return {};
}

}  // namespace

Outcome Run::go(const std::vector<std::string>& caller_env) {
  const std::int64_t began = sys::boottime_ns();
  terminal_type_ = type_of_terminal(caller_env);
  Result<void> prepared = prepare(caller_env);
  if (!prepared) {
    fail(outcome_, std::move(prepared).error());
  } else if (!cancelled_early()) {
    Result<void> launched = launch();
    if (launched) {
      watch(began);
    } else if (launched.error().sys_errno != ECANCELED || !cancelled_early()) {
      fail(outcome_, std::move(launched).error());
    }
  }
  observer_.ended(outcome_);
  let_go();
  return std::move(outcome_);
}

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
                                     .own_terminal = plan_.terminal,
                                     .working_dir = facts_.working_dir}));
  if (plan_.terminal) terminal_.emplace();
  if (spec_.unsafe.unsafe_tty) lent_terminal_.emplace();
  if (spec_.max_output) stdio_.relay.limit_output(*spec_.max_output);
  if (spec_.control_fd >= 0) {
    control_ = TRY(about({.key = "control-fd"},
                         open_control(spec_.control_fd, spec_.control_fd == spec_.status_fd)));
  }
  TRY(keep_from_task(spec_));
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
  outcome_.cancelled_by = by != 0 ? Canceller::Signal : Canceller::Caller;
  if (by != 0) outcome_.signal = by;
  return true;
}

// The same without taking the signals, while the sandbox is built.
bool Run::is_cancelled() const {
  sigset_t pending;
  if (::sigpending(&pending) != 0) return false;
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {
    const bool ignored = signal == SIGHUP && spec_.keep_running;
    if (::sigismember(&pending, signal) == 1 && meaning_of(signal) == Asks::End && !ignored)
      return true;
  }
  if (caller_ == nullptr || !caller_->pidfd) return false;
  pollfd caller = {.fd = caller_->pidfd.get(), .events = POLLIN, .revents = 0};
  return ::poll(&caller, 1, 0) > 0;
}

Result<void> Run::launch() {
  const std::int64_t grace = bounded(spec_.grace);
  const std::vector<sock_filter>& own = plan_.programs.init.code;
  const std::span<const sock_filter> filter =
      own.empty() ? policy::stock_filter(plan_.filter) : std::span(own);
  std::vector<sock_filter> asking;
  if (plan_.refusals != plan::Refusals::Silent) asking = policy::asking(filter);
  if (plan_.layer == spec::LayerKind::Disk) TRY(LayerMeter::check_descriptors());
  sandbox_ =
      TRY(launch::start(plan_, {.id = outcome_.id,
                                .id_lock_file = directory_->id_ranges_file(),
                                .init_image = init::init_image(),
                                .filter = asking.empty() ? filter : asking,
                                .stdio = stdio_.task,
                                .terminal = terminal_ ? terminal_->look() : launch::TerminalLook{},
                                .deadline_ns = ttl_ns_ ? *ttl_ns_ + grace + kInitKeyMargin : 0,
                                .facts = &facts_,
                                .is_cancelled = [this] { return is_cancelled(); }}));
  spawned_ns_ = sys::boottime_ns();
  stdio_.task_ends.clear();
  if (plan_.refusals != plan::Refusals::Silent) denials_.emplace(filter, plan_.refusals);
  if (sandbox_.disk_layer.directory) use_disk_layer();
  if (terminal_) {
    terminal_->hold(std::move(sandbox_.terminal_slave));
    Result<void> attached = stdio_.attach(std::move(sandbox_.terminal_master));
    if (!attached) {
      // The sandbox is there already: it ends as any other, and its end is proved.
      broken_ = std::move(attached).error();
      TRY(sys::pidfd_send_signal(sandbox_.init_pidfd, SIGKILL));
    }
  }
  if (entry_ && (sandbox_.cgroup || sandbox_.disk_layer.directory)) {
    if (Result<void> published = entry_.publish(record()); !published) {
      note_unlisted(published.error());
    }
  }
  observer_.created(outcome_, plan_);
  return {};
}

void Run::use_disk_layer() {
  layer_meter_.emplace(sandbox_.disk_layer.directory,
                       LayerMeter::Size{.bytes = plan_.layer_bytes, .inodes = plan_.layer_inodes});
  outcome_.notes.push_back(plan::disk_layer_note(plan_, sandbox_.disk_layer.path));
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
    request.progress =
        &progress_.emplace(STDERR_FILENO, progress_style(terminal_type_, STDOUT_FILENO), *meter_,
                           denials_ ? &*denials_ : nullptr, spawned_ns_);
  }
  if (!spec_.quiet) stdio_.relay.mind_screen(STDERR_FILENO, request.progress);
  request.control = control_ ? &*control_ : nullptr;
  request.terminal = terminal_ ? &*terminal_ : nullptr;
  if (terminal_) terminal_->enter();
  End end = Watch(std::move(request), *this).run();
  terminal_.reset();
  lent_terminal_.reset();
  stdio_.put_back();
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

}  // namespace mayfly::supervise
