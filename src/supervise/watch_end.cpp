// What events do to a sandbox: the actions of the table in states.hpp, and how it is known that all
// is over.
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <utility>

#include "isolate/cgroup.hpp"
#include "supervise/cgroup_end.hpp"
#include "supervise/watch.hpp"
#include "sys/event.hpp"

namespace mayfly::supervise {
namespace {

using launch::Kind;
using launch::Message;

// Signals that wait for the task's start.
constexpr std::size_t kMostHeld = 32;

// For output that nobody takes, after an end that was forced.
constexpr std::int64_t kOutputPatience = 1'000'000'000;

std::string number(std::int64_t value) {
  return std::to_string(value);
}

Error too_slow() {
  return Error{.kind = ErrorKind::Setup,
               .sys_errno = ETIMEDOUT,
               .action = "start the task within 30 seconds",
               .call = {},
               .hint = "a file system that does not answer (NFS, FUSE) is the usual cause"};
}

Error loss(const End& end) {
  const bool killed = end.init && end.init->code != CLD_EXITED;
  const std::string how = !end.init ? "stopped answering"
                          : killed  ? "was killed by signal " + number(end.init->status)
                                    : "exited with code " + number(end.init->status);
  return Error{
      .kind = ErrorKind::Internal,
      .sys_errno = 0,
      .action = (end.started ? "keep the sandbox: its init "
                 : killed    ? "tell whether the task was started: its init "
                             : "start the task: init ") +
                how,
      .call = {},
      .hint = killed ? "somebody outside, or the kernel for want of memory, did that" : ""};
}

}  // namespace

Result<void> Watch::handle(Event event, const Message* message, int signal) {
  if (event == Event::Exited) end_.main_task_ended = true;
  switch (action_for(state_, event)) {
    case Action::Ignore:
      return {};
    case Action::MarkStarted:
      end_.started = true;
      active_at_ = now_;
      if (state_ == State::Starting) state_ = State::Running;
      if (state_ != State::Killing) listener_.started(static_cast<int>(message->value));
      open_terminal();
      for (const int held : std::exchange(held_, {}))
        TRY(pass(held));
      return {};
    case Action::FailExec:
      end_.failure = *message;
      settle(message->step == launch::Step::TaskExec ? Reason::ExecFailed : Reason::SetupFailed,
             message->error);
      return kill();
    case Action::TakeExit:
      return take_exit(*message);
    case Action::FailSetup:
      if (event == Event::Failed) end_.failure = *message;
      if (event == Event::SetupPassed) end_.error = too_slow();
      if (end_.failure || end_.error) settle(Reason::SetupFailed, 0);
      return kill();
    case Action::Suspend:
      return stop_with_task(*message);
    case Action::Lose:  // settled by judge_loss(), once init is reaped
      return kill();
    case Action::Pass:
      return pass(signal != 0 ? signal : SIGTERM);
    case Action::Terminate:
      return terminate(event, signal);
    case Action::Kill:
      if (main_exit_) settle_exit(*main_exit_);
      return kill();
    case Action::Hurry:
      hurries_ = true;
      abandons_output_ = event == Event::Again;
      return {};
  }
  return {};
}

// Whoever types can reach the task now.
void Watch::open_terminal() {
  request_.relay->open_terminal();
  if (request_.terminal != nullptr && state_ != State::Killing) request_.terminal->task_started();
}

void Watch::settle(Reason reason, int detail) {
  if (settled_) return;
  settled_ = true;
  end_.reason = reason;
  end_.detail = detail;
  if ((reason == Reason::Signaled || reason == Reason::Cancelled) && detail != 0) {
    end_.signal = detail;
  }
  listener_.ending(reason);
}

// The kernel ends a sandbox that is out of memory as one (memory.oom.group), init included: who of
// them is heard to die first is chance.
bool Watch::was_out_of_memory() {
  if (!request_.limits_memory) return false;
  end_.oom_kills = isolate::cgroup::oom_kills(request_.sandbox->cgroup).value_or(0);
  return end_.oom_kills > 0;
}

void Watch::settle_exit(const Message& message) {
  if (message.index != CLD_EXITED && message.value == SIGKILL && was_out_of_memory()) {
    return settle(Reason::MemoryLimit, 0);
  }
  // What it had said before it ended counts, though not all of it was taken yet.
  if (request_.relay->is_over_limit() || request_.relay->will_be_over_limit()) {
    return settle(Reason::OutputLimit, 0);
  }
  const auto detail = static_cast<int>(message.value);
  settle(message.index == CLD_EXITED ? Reason::Exited : Reason::Signaled, detail);
}

// While others are waited for the verdict stays open: where they are cut short, that is how the
// sandbox ended.
Result<void> Watch::take_exit(const Message& message) {
  if (!request_.linger) {
    settle_exit(message);
    return kill();
  }
  main_exit_ = message;
  state_ = State::Lingering;
  return {};
}

// The end of the control descriptor counts as the caller's; which of them it was, the polls know.
Canceller Watch::canceller(Event event, int signal) const {
  if (signal != 0) return Canceller::Signal;
  const bool caller = event == Event::CallerGone && polls_[kCaller].revents != 0;
  return caller ? Canceller::Caller : Canceller::Control;
}

Result<void> Watch::terminate(Event event, int signal) {
  const bool open = !settled_;
  settle(event == Event::TtlPassed     ? Reason::Ttl
         : event == Event::LimitPassed ? limit_
                                       : Reason::Cancelled,
         signal);
  if (open && end_.reason == Reason::Cancelled) end_.cancelled_by = canceller(event, signal);
  if (request_.grace_ns == 0) return kill();
  state_ = State::Ending;
  pending_stop_.reset();
  grace_end_ = now_ + request_.grace_ns;
  return pass(signal != 0 ? signal : SIGTERM);
}

// A full queue or a dead init is no failure: what must happen, happens by SIGKILL.
Result<void> Watch::pass(int signal, bool* sent) {
  // One that came before the execve would end the start instead of reaching the command.
  if (state_ == State::Starting) {
    const bool has_room = held_.size() < kMostHeld;
    if (has_room) held_.push_back(signal);
    if (sent != nullptr) *sent = has_room;
    return {};
  }
  const Message message{.kind = Kind::Signal,
                        .step = launch::Step::None,
                        .index = resumes_,
                        .error = 0,
                        .value = signal,
                        .slot = launch::kMainSlot,
                        .text = {}};
  return send(message, sent);
}

Result<void> Watch::send(const Message& message, bool* sent) {
  const bool went =
      TRY(sys::send_record(request_.sandbox->socket, std::as_bytes(std::span(&message, 1))));
  if (sent != nullptr) *sent = went;
  return {};
}

// init's death is the death of all: the kernel kills every process of its pid namespace. Where the
// end is forced, the cgroup is killed too, so that either suffices. After a natural end init is
// already on its way out, and cgroup.kill is kept for what is then still there.
Result<void> Watch::kill() {
  if (state_ == State::Killing) return {};
  const bool forced = state_ == State::Ending || !end_.main_task_ended;
  state_ = State::Killing;
  pending_stop_.reset();
  killed_at_ = sys::boottime_ns();
  teardown_end_ = killed_at_ + request_.teardown_ns;
  request_.relay->stop_input();
  TRY(sys::pidfd_send_signal(request_.sandbox->init_pidfd, SIGKILL));
  // Its failure needs no words: what counts is who is left, and that is read.
  if (forced && request_.sandbox->cgroup) static_cast<void>(kill_cgroup(request_.sandbox->cgroup));
  return {};
}

Result<void> Watch::reap() {
  end_.init = TRY(sys::waitid(request_.sandbox->init_pidfd));
  if (!end_.init) return {};
  end_.init_gone_ns = sys::boottime_ns();
  // Killed between a task's execve and reading about it: what was said stays true.
  while (!end_.started && socket_open_ && TRY(take_message())) {
  }
  if (request_.terminal != nullptr) request_.terminal->let_go();
  check_cgroup();
  return {};
}

void Watch::check_cgroup() {
  const Fd& cgroup = request_.sandbox->cgroup;
  cgroup_settled_ = true;
  if (!cgroup) {
    end_.populated.why_not = request_.no_cgroup_why;
    return;
  }
  Result<std::uint64_t> populated = read_first_or_again();
  if (!populated) {
    end_.populated.why_not = describe(populated.error());
    unclean(end_.populated.why_not);
    return;
  }
  end_.populated.value = *populated;
  cgroup_settled_ = *populated == 0;
}

// The first time that somebody is left although init is gone, it is made sure that all are killed.
Result<std::uint64_t> Watch::read_first_or_again() {
  const Fd& cgroup = request_.sandbox->cgroup;
  const bool first = !events_;
  if (first) events_ = TRY(open_events(cgroup));
  const std::uint64_t populated = TRY(read_populated(events_));
  if (first && populated != 0) static_cast<void>(kill_cgroup(cgroup));
  return populated;
}

bool Watch::ended_by_itself() const {
  return end_.reason == Reason::Exited || end_.reason == Reason::Signaled;
}

// Only once nothing else is waited for.
std::optional<std::int64_t> Watch::output_deadline() const {
  if (state_ != State::Killing || !end_.init || !cgroup_settled_) return std::nullopt;
  if (abandons_output_) return now_;
  if (!hurries_ && ended_by_itself()) return std::nullopt;  // teardown_end_
  return std::max(killed_at_, request_.relay->last_output_ns()) + kOutputPatience;
}

bool Watch::done() const {
  if (given_up_) return true;
  if (state_ != State::Killing || !end_.init || !cgroup_settled_) return false;
  const std::optional<std::int64_t> deadline = output_deadline();
  return request_.relay->finished() || (deadline && *deadline <= now_);
}

void Watch::give_up() {
  given_up_ = true;
  const std::string seconds = number(request_.teardown_ns / 1'000'000'000) + " s";
  if (!end_.init) unclean("init was not gone " + seconds + " after SIGKILL");
  if (!cgroup_settled_ && end_.populated.value) {
    unclean("processes in its cgroup were not gone " + seconds + " after SIGKILL");
  }
  if (!end_.populated.value && end_.populated.why_not.empty()) {
    end_.populated.why_not = "not read: init was not gone";
  }
}

void Watch::unclean(std::string why) {
  if (!end_.clean) end_.unclean_why += "; ";
  end_.clean = false;
  end_.unclean_why += why;
}

// init went without a word. How it exited tells whether its own key turned (the TTL, while we were
// stopped; the set-up deadline) or somebody outside killed it.
void Watch::judge_loss() {
  const bool exited = end_.init && end_.init->code == CLD_EXITED;
  if (!exited && was_out_of_memory()) {
    if (end_.started) return settle(Reason::MemoryLimit, 0);
    end_.error = launch::memory_too_small(*request_.plan);
    return settle(Reason::SetupFailed, 0);
  }
  const bool by_deadline = exited && end_.init->status == launch::kInitDeadline;
  if (by_deadline && end_.started) return settle(Reason::Ttl, 0);
  end_.error = by_deadline ? too_slow() : loss(end_);
  // Killed by somebody, it may have been about to say that the task runs: nobody should take the
  // task for one that was never started, and start it anew.
  const bool killed = end_.init && !exited && !broke_protocol_;
  settle(end_.started || killed ? Reason::SupervisorLost : Reason::SetupFailed, 0);
}

}  // namespace mayfly::supervise
