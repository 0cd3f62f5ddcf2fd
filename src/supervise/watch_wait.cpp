// What a turn of the event loop waits for: descriptors, and the earliest deadline.
#include <algorithm>
#include <cstdint>
#include <optional>

#include "supervise/watch.hpp"
#include "sys/event.hpp"

namespace mayfly::supervise {
namespace {

// Below this a deadline is waited for by ppoll, whose clock stands still while the machine sleeps;
// above it by a timer on the boot clock. Short runs never need the timer.
constexpr std::int64_t kShortWait = 200'000'000;

}  // namespace

void Watch::collect_polls() {
  const bool killing = state_ == State::Killing;
  const bool ending = killing || state_ == State::Ending;
  const auto slot = [](bool wanted, const Fd* fd, short events) {
    return pollfd{.fd = wanted && fd != nullptr ? fd->get() : -1, .events = events, .revents = 0};
  };
  const launch::Sandbox& sandbox = *request_.sandbox;
  polls_.clear();
  polls_.resize(kFixedSlots, pollfd{.fd = -1, .events = 0, .revents = 0});
  polls_[kSocket] = slot(socket_open_ && !killing, &sandbox.socket, POLLIN);
  polls_[kInit] = slot(!end_.init, &sandbox.init_pidfd, POLLIN);
  polls_[kCaller] = slot(!ending, request_.caller, POLLIN);
  polls_[kSignals] = slot(true, request_.signals, POLLIN);
  polls_[kTimer] = slot(timer_at_ != 0, &timer_, POLLIN);
  polls_[kCgroupEvents] = slot(!cgroup_settled_, &events_, POLLPRI);
  if (request_.denials != nullptr && !killing && !waits_for_start()) {
    polls_[kDenials] = {.fd = request_.denials->fd(), .events = POLLIN, .revents = 0};
  }
  if (control_open_ && !killing) polls_[kControl] = request_.control->wants();
  polls_[kBacklog].fd = listener_.backlog();
  polls_[kBacklog].events = POLLOUT;
  request_.relay->add_polls(polls_);
}

std::optional<std::int64_t> Watch::next_deadline() const {
  std::optional<std::int64_t> next;
  const auto consider = [&](std::optional<std::int64_t> at) {
    if (at && (!next || *at < *next)) next = at;
  };
  if (state_ == State::Starting) consider(request_.setup_deadline);
  if (waits_for_start()) consider(early_denials_at_);
  if (state_ < State::Ending) consider(request_.ttl_deadline);
  if (state_ < State::Ending && request_.layer_meter != nullptr) {
    consider(request_.layer_meter->next_ns());
  }
  if (state_ == State::Ending) consider(grace_end_);
  if (state_ == State::Killing) consider(teardown_end_);
  if (chores_due_) consider(request_.chores_at);
  if (pending_stop_) consider(pending_stop_->at);
  consider(output_deadline());
  consider(idle_deadline());
  if (shows_progress()) consider(request_.progress->next_ns());
  if (state_ < State::Ending) consider(cpu_look_at_);
  if (control_open_ && state_ != State::Killing) consider(request_.control->next_try_ns());
  consider(request_.relay->next_try_ns());
  if (request_.terminal != nullptr && state_ != State::Killing) {
    consider(request_.terminal->next_look_ns());
  }
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

}  // namespace mayfly::supervise
