#include "supervise/watch.hpp"

#include <signal.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <span>

#include "supervise/signals.hpp"
#include "sys/event.hpp"
#include "sys/mounts.hpp"

namespace mayfly::supervise {
namespace {

using launch::Kind;
using launch::Message;

// Between a command's first refused call and the word that it runs.
constexpr std::int64_t kStartIsTold = 300'000'000;

// Between passing SIGTSTP on and stopping: time for a handler of the task's own.
constexpr std::int64_t kStopDelay = 50'000'000;

// Between the stop of the task and ours: what it has written before is shown before. (A terminal
// hands it over by a kernel thread, so that it may not be there at once.)
constexpr std::int64_t kLastWordsDelay = 20'000'000;

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
    case Kind::Stopped:
      return Event::Stopped;
    case Kind::Failed:
      return Event::Failed;
    default:
      return std::nullopt;
  }
}

}  // namespace

Watch::Watch(WatchRequest request, WatchListener& listener)
    : request_(std::move(request)),
      listener_(listener),
      chores_due_(request_.chores_at.has_value()),
      held_(request_.early_signals),
      control_open_(request_.control != nullptr) {
  if (request_.cpu_limit_ns) cpu_look_at_ = request_.spawned;
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
  if (std::string losses = request_.relay->losses(); !losses.empty()) {
    unclean(std::move(losses));
    end_.lost_output = true;
  }
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
  if (polls_[kDenials].revents != 0) TRY(take_denials());
  if (polls_[kCaller].revents != 0) TRY(handle(Event::CallerGone));
  if (control_open_) TRY(take_control());
  if (polls_[kCgroupEvents].revents != 0) check_cgroup();
  if (polls_[kBacklog].revents != 0) listener_.write_backlog();
  request_.relay->handle(std::span(polls_).subspan(kFixedSlots), now_);
  if (shows_progress()) request_.progress->show(now_);
  return check_limits();
}

bool Watch::shows_progress() const {
  return request_.progress != nullptr && state_ != State::Starting && state_ != State::Killing;
}

Result<void> Watch::take_messages() {
  const auto is_quiet = [](const pollfd& one) { return one.revents == 0; };
  // Poll looks at the socket first. What comes there while it looks at the others is not seen, and
  // yet may be older than what they have.
  constexpr Slot kEnders[] = {kInit, kCaller, kSignals, kControl};
  const bool may_have_missed =
      polls_[kSocket].fd != -1 && std::any_of(std::begin(kEnders), std::end(kEnders),
                                              [&](Slot slot) { return !is_quiet(polls_[slot]); });
  if (is_quiet(polls_[kSocket]) && !may_have_missed) return {};
  const bool alone = std::all_of(polls_.begin() + 1, polls_.end(), is_quiet);
  while (socket_open_ && TRY(take_message())) {
    if (alone) return {};
  }
  return {};
}

// False: none waits.
Result<bool> Watch::take_message() {
  Message message;
  std::optional<sys::Received> received =
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
  // (Of the others' descriptors none is kept: it is no harm if one did not fit.)
  if (message.kind == Kind::Listener && request_.denials != nullptr) {
    if (!received->fds[0]) {
      errno = EMFILE;
      return sys::errno_error("take the listener that init sends", "recvmsg()");
    }
    request_.denials->listen(std::move(received->fds[0]));
    return true;
  }
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
  LayerMeter* layer = request_.layer_meter;
  if (layer != nullptr && state_ < State::Ending && passed(layer->next_ns()) && layer->look(now_)) {
    TRY(pass_limit(Reason::LayerLimit));
  }
  if (state_ == State::Starting && passed(request_.setup_deadline)) {
    TRY(handle(Event::SetupPassed));
  }
  if (state_ == State::Ending && passed(grace_end_)) TRY(handle(Event::GracePassed));
  if (state_ == State::Killing && passed(teardown_end_)) give_up();
  if (pending_stop_ && pending_stop_->at <= now_) TRY(stop());
  if (request_.terminal != nullptr && state_ != State::Killing &&
      passed(request_.terminal->next_look_ns())) {
    request_.terminal->enter();
  }
  if (chores_due_ && passed(request_.chores_at)) {
    chores_due_ = false;
    if (state_ != State::Killing) listener_.chores();
  }
  return {};
}

// A command may be refused a call before init gets to say that it runs: that is told first.
bool Watch::waits_for_start() const {
  return state_ == State::Starting && early_denials_at_ && *early_denials_at_ > now_;
}

Result<void> Watch::take_denials() {
  if (state_ == State::Starting && !early_denials_at_) {
    early_denials_at_ = now_ + kStartIsTold;
    return {};
  }
  const Denials::Turn turn = TRY(request_.denials->take(polls_[kDenials].revents));
  for (const Denial& denial : turn.told)
    listener_.denied(denial);
  if (!turn.fatal) return {};
  settle(Reason::SyscallDenied, 0);
  return kill();
}

Result<void> Watch::take_signals_sent() {
  while (const int signal = TRY(sys::read_signal(*request_.signals)))
    TRY(take_signal(signal));
  return {};
}

Result<void> Watch::take_signal(int signal) {
  if (signal == SIGHUP && request_.keep_running) return {};
  const Asks asks = meaning_of(signal);
  if (state_ == State::Killing && asks != Asks::End) return {};
  switch (asks) {
    case Asks::Nothing:
      return {};
    case Asks::End:
      return handle(ending_event(signal, ending_signals_++), nullptr, signal);
    case Asks::Stop:
      if (state_ != State::Ending) {
        pending_stop_ = PendingStop{.at = now_ + kStopDelay, .what = PendingStop::Task};
        TRY(pass(signal));
      }
      return {};
    case Asks::Resume:
      return go_on();
    case Asks::Relay:
      // The kernel tells the task, if the size has changed.
      if (signal == SIGWINCH && request_.terminal != nullptr && request_.terminal->follow_size()) {
        return {};
      }
      return pass(signal);
  }
  return {};
}

// Without a terminal the task leads a session of its own, so its process group is an orphaned one,
// in which the kernel drops what SIGTSTP does by default: only SIGSTOP stops it. Then we stop, as a
// shell expects of a job; where there is no such shell nothing stops us, and the task goes on.
// init's own key goes on. (SIGCONT wakes us and is passed on once more: no harm.)
Result<void> Watch::stop() {
  const PendingStop::What what = pending_stop_->what;
  pending_stop_.reset();
  if (what == PendingStop::Task) {
    pending_stop_ = PendingStop{.at = now_ + kLastWordsDelay, .what = PendingStop::Us};
    return pass(SIGSTOP);
  }
  if (request_.terminal != nullptr) request_.terminal->leave();
  if (request_.progress != nullptr) request_.progress->erase();
  if (what == PendingStop::Job) {
    request_.terminal->stop_job();
  } else {
    sys::stop_by_default(sys::Stopped::Self);
  }
  return go_on();
}

// Ctrl-Z was for the task; the user wants the shell that started us.
Result<void> Watch::stop_with_task(const Message& message) {
  const bool has_user = request_.terminal != nullptr && request_.terminal->has_user();
  if (has_user && message.index == resumes_) {
    pending_stop_ = PendingStop{.at = now_ + kLastWordsDelay, .what = PendingStop::Job};
  }
  return {};
}

// After a stop, whoever continued us. While we were stopped nobody could see what the task did.
Result<void> Watch::go_on() {
  pending_stop_.reset();
  ++resumes_;
  now_ = active_at_ = sys::boottime_ns();
  if (request_.terminal != nullptr && state_ != State::Killing) request_.terminal->enter();
  return pass(SIGCONT);
}

}  // namespace mayfly::supervise
