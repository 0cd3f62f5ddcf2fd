#include "supervise/watch.hpp"

#include <signal.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <span>

#include "supervise/cgroup_end.hpp"
#include "supervise/signals.hpp"
#include "sys/event.hpp"

namespace mayfly::supervise {
namespace {

using launch::Kind;
using launch::Message;

// Below this a deadline is waited for by ppoll, whose clock stands still while the machine sleeps;
// above it by a timer on the boot clock. Short runs never need the timer.
constexpr std::int64_t kShortWait = 200'000'000;

// Signals that wait for the task's start.
constexpr std::size_t kMostHeld = 32;

// Between passing SIGTSTP on and stopping: time for a handler of the task's own.
constexpr std::int64_t kStopDelay = 50'000'000;

std::optional<Event> event_of(const Message& message) {
  switch (message.kind) {
    case Kind::Started:
      return Event::Started;
    case Kind::ExecFailed:
      return Event::ExecFailed;
    case Kind::Exited:
      return Event::Exited;
    case Kind::Drained:
      return Event::Drained;
    case Kind::Failed:
      return Event::Failed;
    default:
      return std::nullopt;
  }
}

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

Watch::Watch(WatchRequest request, WatchListener& listener)
    : request_(std::move(request)),
      listener_(listener),
      chores_due_(request_.chores_at.has_value()),
      held_(request_.early_signals) {
  polls_.reserve(kFixedSlots + 6);
}

End Watch::run() {
  while (!done()) {
    if (Result<void> turned = turn(); !turned) {
      break_off(std::move(turned).error());
      break;
    }
  }
  if (!settled_) judge_loss();
  if (std::string losses = request_.relay->losses(); !losses.empty()) unclean(std::move(losses));
  return std::move(end_);
}

// The loop itself is broken: SIGKILL and waitid need none of it.
void Watch::break_off(Error error) {
  constexpr int kTries = 200;
  constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 10'000'000};
  unclean(describe(error));
  if (!settled_) end_.error = std::move(error);
  settle(end_.started ? Reason::SupervisorLost : Reason::SetupFailed, 0);
  static_cast<void>(sys::pidfd_send_signal(request_.sandbox->init_pidfd, SIGKILL));
  for (int i = 0; i < kTries && !end_.init; ++i) {
    if (Result<std::optional<sys::Reaped>> reaped = sys::waitid(request_.sandbox->init_pidfd)) {
      end_.init = *reaped;
    }
    if (!end_.init) ::nanosleep(&kPause, nullptr);
  }
  end_.init_gone_ns = sys::boottime_ns();
  if (!end_.populated.value) end_.populated.why_not = "not read: the event loop failed";
}

// One wake-up. What init said is taken before anything that would end the sandbox: an end that it
// has reported already has happened before.
Result<void> Watch::turn() {
  collect_polls();
  TRY(wait());
  now_ = sys::boottime_ns();
  TRY(take_messages());
  TRY(check_deadlines());
  const bool init_gone = polls_[kInit].revents != 0;
  if ((init_gone || !socket_open_) && state_ != State::Killing) TRY(handle(Event::Lost));
  if (init_gone) TRY(reap());
  if (polls_[kSignals].revents != 0) TRY(take_signals_sent());
  if (polls_[kCaller].revents != 0) TRY(handle(Event::CallerGone));
  if (polls_[kCgroupEvents].revents != 0) check_cgroup();
  request_.relay->handle(std::span(polls_).subspan(kFixedSlots), now_);
  return {};
}

void Watch::collect_polls() {
  const bool killing = state_ == State::Killing;
  const bool ending = killing || state_ == State::Ending;
  const auto slot = [](bool wanted, const Fd* fd, short events) {
    return pollfd{.fd = wanted && fd != nullptr ? fd->get() : -1, .events = events, .revents = 0};
  };
  const launch::Sandbox& sandbox = *request_.sandbox;
  polls_.clear();
  polls_.resize(kFixedSlots);
  polls_[kSocket] = slot(socket_open_ && !killing, &sandbox.socket, POLLIN);
  polls_[kInit] = slot(!end_.init, &sandbox.init_pidfd, POLLIN);
  polls_[kCaller] = slot(!ending, request_.caller, POLLIN);
  polls_[kSignals] = slot(!killing, request_.signals, POLLIN);
  polls_[kTimer] = slot(timer_at_ != 0, &timer_, POLLIN);
  polls_[kCgroupEvents] = slot(!cgroup_settled_, &events_, POLLPRI);
  request_.relay->add_polls(polls_);
}

std::optional<std::int64_t> Watch::next_deadline() const {
  std::optional<std::int64_t> next;
  const auto consider = [&](std::optional<std::int64_t> at) {
    if (at && (!next || *at < *next)) next = at;
  };
  if (state_ == State::Starting) consider(request_.setup_deadline);
  if (state_ < State::Ending) consider(request_.ttl_deadline);
  if (state_ == State::Ending) consider(grace_end_);
  if (state_ == State::Killing) consider(teardown_end_);
  if (chores_due_) consider(request_.chores_at);
  consider(stop_at_);
  consider(request_.relay->next_try_ns());
  return next;
}

// How long ppoll may wait, after the timer was armed where that is the better clock.
Result<std::optional<std::int64_t>> Watch::timeout() {
  const std::optional<std::int64_t> next = next_deadline();
  if (!next) return std::optional<std::int64_t>();
  const std::int64_t left = std::max<std::int64_t>(0, *next - sys::boottime_ns());
  if (left <= kShortWait) return std::optional(left);
  if (!timer_) timer_ = TRY(sys::timerfd_create());
  // A timer that fires too early costs one turn, so it is only moved forward.
  if (timer_at_ == 0 || *next < timer_at_) {
    TRY(sys::timerfd_settime(timer_, *next));
    timer_at_ = *next;
  }
  polls_[kTimer].fd = timer_.get();
  return std::optional<std::int64_t>();
}

Result<void> Watch::wait() {
  const std::optional<std::int64_t> limit = TRY(timeout());
  TRY(sys::ppoll(polls_, limit));
  if (polls_[kTimer].revents != 0) {
    timer_at_ = 0;
    TRY(sys::timerfd_settime(timer_, 0));
  }
  return {};
}

Result<void> Watch::take_messages() {
  if (polls_[kSocket].revents == 0) return {};
  const bool alone = std::all_of(polls_.begin() + 1, polls_.end(),
                                 [](const pollfd& one) { return one.revents == 0; });
  while (socket_open_ && TRY(take_message())) {
    if (alone) return {};
  }
  return {};
}

// False: none waits.
Result<bool> Watch::take_message() {
  Message message;
  const std::optional<sys::Received> received =
      TRY(sys::recvmsg(request_.sandbox->socket, std::as_writable_bytes(std::span(&message, 1))));
  if (!received) return false;
  if (received->bytes == 0) {
    socket_open_ = false;  // judged by turn(), after the deadlines: one of them may be the cause
    return false;
  }
  if (received->bytes != sizeof message || received->truncated) {
    broke_protocol_ = true;
    TRY(handle(Event::Lost));
    return true;
  }
  launch::settle(*request_.sandbox);
  if (message.slot != launch::kMainSlot) return true;
  message.text[sizeof message.text - 1] = '\0';
  const std::optional<Event> event = event_of(message);
  // An end of what has not begun is no better than an unknown word.
  broke_protocol_ =
      broke_protocol_ || !event ||
      (state_ == State::Starting && (*event == Event::Exited || *event == Event::Drained));
  TRY(handle(event.value_or(Event::Lost), &message));
  return true;
}

Result<void> Watch::check_deadlines() {
  const auto passed = [&](std::optional<std::int64_t> at) { return at && *at <= now_; };
  if (state_ < State::Ending && passed(request_.ttl_deadline)) TRY(handle(Event::TtlPassed));
  if (state_ == State::Starting && passed(request_.setup_deadline)) {
    TRY(handle(Event::SetupPassed));
  }
  if (state_ == State::Ending && passed(grace_end_)) TRY(handle(Event::GracePassed));
  if (state_ == State::Killing && passed(teardown_end_)) give_up();
  if (passed(stop_at_)) TRY(stop());
  if (chores_due_ && passed(request_.chores_at)) {
    chores_due_ = false;
    if (state_ != State::Killing) listener_.chores();
  }
  return {};
}

Result<void> Watch::take_signals_sent() {
  while (const int signal = TRY(sys::read_signal(*request_.signals)))
    TRY(take_signal(signal));
  return {};
}

Result<void> Watch::take_signal(int signal) {
  if (state_ == State::Killing || (signal == SIGHUP && request_.keep_running)) return {};
  switch (meaning_of(signal)) {
    case Asks::End:
      return handle(ending_event(signal, ending_signals_++), nullptr, signal);
    case Asks::Stop:
      if (state_ != State::Ending) {
        stop_at_ = now_ + kStopDelay;
        TRY(pass(signal));
      }
      return {};
    case Asks::Resume:
      stop_at_.reset();
      return pass(signal);
    case Asks::Relay:
      return pass(signal);
  }
  return {};
}

// The task leads a session of its own, so its process group is an orphaned one, in which the kernel
// drops what SIGTSTP does by default: only SIGSTOP stops it. Then we stop, as a shell expects of a
// job. init's own key goes on; SIGCONT wakes us and is passed on.
Result<void> Watch::stop() {
  stop_at_.reset();
  TRY(pass(SIGSTOP));
  sys::stop_self();
  return {};
}

Result<void> Watch::handle(Event event, const Message* message, int signal) {
  if (event == Event::Exited) end_.main_task_ended = true;
  switch (action_for(state_, event)) {
    case Action::Ignore:
      return {};
    case Action::MarkStarted:
      end_.started = true;
      if (state_ == State::Starting) state_ = State::Running;
      if (state_ != State::Killing) listener_.started(static_cast<int>(message->value));
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
    case Action::Lose:  // settled by judge_loss(), once init is reaped
      return kill();
    case Action::Pass:
      return pass(signal);
    case Action::Terminate:
      return terminate(event, signal);
    case Action::Kill:
      if (main_exit_) settle_exit(*main_exit_);
      return kill();
  }
  return {};
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

void Watch::settle_exit(const Message& message) {
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

Result<void> Watch::terminate(Event event, int signal) {
  settle(event == Event::TtlPassed ? Reason::Ttl : Reason::Cancelled, signal);
  // Once the main process has ended there is nobody whom init could ask.
  if (request_.grace_ns == 0 || state_ == State::Lingering) return kill();
  state_ = State::Ending;
  stop_at_.reset();
  grace_end_ = now_ + request_.grace_ns;
  return pass(signal != 0 ? signal : SIGTERM);
}

// A full queue or a dead init is no failure: what must happen, happens by SIGKILL.
Result<void> Watch::pass(int signal) {
  // One that came before the execve would end the start instead of reaching the command.
  if (state_ == State::Starting) {
    if (held_.size() < kMostHeld) held_.push_back(signal);
    return {};
  }
  const Message message{.kind = Kind::Signal,
                        .step = launch::Step::None,
                        .index = 0,
                        .error = 0,
                        .value = signal,
                        .slot = launch::kMainSlot,
                        .text = {}};
  TRY(sys::send_record(request_.sandbox->socket, std::as_bytes(std::span(&message, 1))));
  return {};
}

// init's death is the death of all: the kernel kills every process of its pid namespace. Where the
// end is forced, the cgroup is killed too, so that either suffices. After a natural end init is
// already on its way out, and cgroup.kill is kept for what is then still there.
Result<void> Watch::kill() {
  if (state_ == State::Killing) return {};
  const bool forced = state_ == State::Ending || !end_.main_task_ended;
  state_ = State::Killing;
  stop_at_.reset();
  teardown_end_ = sys::boottime_ns() + request_.teardown_ns;
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

bool Watch::done() const {
  if (given_up_) return true;
  return state_ == State::Killing && end_.init && cgroup_settled_ && request_.relay->finished();
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
  const bool by_deadline = exited && end_.init->status == launch::kInitDeadline;
  if (by_deadline && end_.started) return settle(Reason::Ttl, 0);
  end_.error = by_deadline ? too_slow() : loss(end_);
  // Killed by somebody, it may have been about to say that the task runs: nobody should take the
  // task for one that was never started, and start it anew.
  const bool killed = end_.init && !exited && !broke_protocol_;
  settle(end_.started || killed ? Reason::SupervisorLost : Reason::SetupFailed, 0);
}

}  // namespace mayfly::supervise
