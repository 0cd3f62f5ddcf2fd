// Watch: the event loop from the spawn request to the proof that everything is gone.
//
// One thread. Whatever descriptors say becomes an Event; src/supervise/states.cpp says what follows
// from it; this carries it out. It always ends: every state but Running and Lingering has a
// deadline, and those two have the TTL, the caller and the signals.
#pragma once

#include <poll.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "launch/launch.hpp"
#include "supervise/control.hpp"
#include "supervise/denials.hpp"
#include "supervise/layer_meter.hpp"
#include "supervise/meter.hpp"
#include "supervise/outcome.hpp"
#include "supervise/progress.hpp"
#include "supervise/relay.hpp"
#include "supervise/states.hpp"
#include "supervise/terminal.hpp"
#include "sys/process.hpp"

namespace mayfly::supervise {

// Times are added up in 63 bits of nanoseconds: a hundred years is for ever.
inline constexpr std::int64_t kLongest = std::int64_t{100} * 365 * 86'400 * 1'000'000'000;

// All times are CLOCK_BOOTTIME, in nanoseconds.
struct WatchRequest {
  launch::Sandbox* sandbox = nullptr;
  Relay* relay = nullptr;
  const Fd* signals = nullptr;  // a signalfd
  const Fd* caller = nullptr;   // a pidfd; empty or null: nobody is watched

  std::int64_t setup_deadline = 0;
  std::int64_t spawned = 0;
  std::optional<std::int64_t> ttl_deadline;
  std::optional<std::int64_t> ttl_max_deadline;  // extend goes no further
  std::int64_t init_key_margin_ns = 0;           // how much later init's own key turns
  std::int64_t grace_ns = 0;                     // 0: no grace, kill at once
  std::int64_t teardown_ns = 10'000'000'000;     // from the kill on
  std::optional<std::int64_t> chores_at;         // when to call WatchListener::chores()
  bool linger = false;
  bool keep_running = false;            // SIGHUP is ignored
  LayerMeter* layer_meter = nullptr;    // of a layer on disk
  const plan::Plan* plan = nullptr;     // for words; set where limits_memory is
  bool limits_memory = false;           // its cgroup has a memory limit
  std::string no_cgroup_why;            // for `populated` where the sandbox has no cgroup
  std::vector<int> early_signals = {};  // to be passed on once the task is started
  Denials* denials = nullptr;           // null: refused calls are not told

  // Asked for by options; null or empty: not.
  std::optional<std::int64_t> idle_ns;
  std::optional<std::int64_t> cpu_limit_ns;
  Meter* meter = nullptr;  // needed for cpu_limit_ns
  Control* control = nullptr;
  Progress* progress = nullptr;
  Terminal* terminal = nullptr;  // the task has one of its own, and the relay its master
};

class WatchListener {
 public:
  WatchListener() = default;
  WatchListener(const WatchListener&) = delete;
  WatchListener& operator=(const WatchListener&) = delete;
  virtual ~WatchListener() = default;
  virtual void started(int pid_inside) = 0;
  virtual void denied(const Denial&) {}
  virtual void ending(Reason reason) = 0;
  // Once, when the sandbox has lived until chores_at. Must be quick.
  virtual void chores() = 0;
  // What became of a line of the control descriptor.
  virtual void answered(const ControlAnswer&) {}
  // Reports that their reader was too slow for: a descriptor that they wait for, or -1; and a call
  // once it is writable.
  [[nodiscard]] virtual int backlog() const { return -1; }
  virtual void write_backlog() {}
};

// What the loop found out.
struct End {
  Reason reason = Reason::SetupFailed;
  int detail = 0;             // for exit_code()
  std::optional<int> signal;  // what killed the task, or what we were sent
  Canceller cancelled_by = Canceller::Nobody;
  bool started = false;                    // init said so
  std::optional<launch::Message> failure;  // what init said, for FailSetup and FailExec
  std::optional<Error> error;              // where init said nothing
  std::optional<sys::Reaped> init;         // how init ended; empty: not reaped in time
  std::int64_t init_gone_ns = 0;           // when it was reaped
  bool main_task_ended = false;            // init reaped the main process
  Measured populated;
  std::uint64_t oom_kills = 0;  // of memory.events, where there is a memory limit
  bool clean = true;
  std::string unclean_why;
  bool lost_output = false;  // some did not get to the caller
};

class Watch {
 public:
  Watch(WatchRequest request, WatchListener& listener);
  // Returns once init is reaped, the cgroup is empty and all output is delivered, or the teardown
  // deadline has passed. After an end that was forced, output that nobody takes is lost sooner.
  [[nodiscard]] End run();

 private:
  enum Slot {
    kSocket,
    kInit,
    kCaller,
    kSignals,
    kTimer,
    kCgroupEvents,
    kDenials,
    kControl,
    kBacklog,
    kFixedSlots
  };

  // What is to be stopped next, and when: the task, then we; or our whole job, with a task that
  // was stopped by its terminal.
  struct PendingStop {
    enum What { Task, Us, Job };
    std::int64_t at = 0;
    What what = Task;
  };

  Result<void> turn();
  Result<void> wait();
  [[nodiscard]] bool shows_progress() const;
  void collect_polls();
  [[nodiscard]] std::optional<std::int64_t> next_deadline() const;
  Result<std::optional<std::int64_t>> timeout();

  Result<void> take_messages();
  Result<bool> take_message();
  Result<void> check_deadlines();
  [[nodiscard]] bool waits_for_start() const;
  Result<void> take_denials();
  Result<void> take_signals_sent();
  Result<void> take_signal(int signal);
  Result<void> stop();
  Result<void> stop_with_task(const launch::Message& message);
  Result<void> go_on();

  Result<void> handle(Event event, const launch::Message* message = nullptr, int signal = 0);
  Result<void> pass_limit(Reason limit);
  [[nodiscard]] std::optional<std::int64_t> idle_deadline() const;
  Result<void> check_limits();
  Result<void> check_cpu();
  Result<void> check_output();

  Result<void> take_control();
  Result<void> obey(const Control::Line& line);
  Result<std::optional<Error>> carry_out(const spec::ControlCommand& command);
  Result<std::optional<Error>> extend(std::int64_t ttl_ns);

  Result<void> send(const launch::Message& message, bool* sent = nullptr);
  void open_terminal();
  void settle(Reason reason, int detail);
  void settle_exit(const launch::Message& message);
  [[nodiscard]] Canceller canceller(Event event, int signal) const;
  Result<void> take_exit(const launch::Message& message);
  Result<void> terminate(Event event, int signal);
  // sent: whether it is on its way, or waits for the start, where not too many do already.
  Result<void> pass(int signal, bool* sent = nullptr);
  Result<void> kill();

  Result<void> reap();
  void check_cgroup();
  Result<std::uint64_t> read_first_or_again();
  bool was_out_of_memory();
  void judge_loss();
  void break_off(Error error);
  [[nodiscard]] bool ended_by_itself() const;
  [[nodiscard]] std::optional<std::int64_t> output_deadline() const;
  [[nodiscard]] bool done() const;
  void give_up();
  void unclean(std::string why);

  WatchRequest request_;
  WatchListener& listener_;
  State state_ = State::Starting;
  End end_;
  bool settled_ = false;                      // end_.reason is final
  Reason limit_ = Reason::Ttl;                // of Event::LimitPassed
  std::optional<launch::Message> main_exit_;  // Lingering: how the main process ended
  bool socket_open_ = true;
  bool cgroup_settled_ = false;
  bool chores_due_ = false;
  bool broke_protocol_ = false;  // init did: then its death by SIGKILL is our doing
  std::vector<int> held_;        // signals that came before the task was started
  bool given_up_ = false;
  int ending_signals_ = 0;  // signals and cancel commands
  bool control_open_ = false;
  std::int64_t active_at_ = 0;  // the last start or command; output is the relay's to know
  std::optional<std::int64_t> cpu_look_at_;
  std::optional<std::int64_t> early_denials_at_;  // when they are taken without a start
  std::uint32_t resumes_ = 0;  // how often we went on: what was told before is stale

  std::int64_t now_ = 0;  // at the last wake-up
  std::optional<std::int64_t> grace_end_, teardown_end_;
  std::int64_t killed_at_ = 0;
  bool hurries_ = false;          // output that nobody takes is not waited for long
  bool abandons_output_ = false;  // … or not at all
  std::optional<PendingStop> pending_stop_;
  Fd timer_;
  std::int64_t timer_at_ = 0;  // 0: not armed
  Fd events_;                  // cgroup.events
  std::vector<pollfd> polls_;
};

}  // namespace mayfly::supervise
