// Limits of the whole sandbox that the event loop holds: idle time, cpu time, output.
#include <unistd.h>

#include <algorithm>

#include "supervise/watch.hpp"
#include "sys/event.hpp"

namespace mayfly::supervise {
namespace {

// The tree cannot use more time than all processors have, so that is how long it is left alone;
// but a look costs some time, too: more, where it goes from process to process.
constexpr std::int64_t kShortestLook = 10'000'000;
constexpr std::int64_t kLookShare = 20;
constexpr std::int64_t kLongestLook = 60'000'000'000;

}  // namespace

Result<void> Watch::pass_limit(Reason limit) {
  limit_ = limit;
  return handle(Event::LimitPassed);
}

std::optional<std::int64_t> Watch::idle_deadline() const {
  const bool counts = state_ == State::Running || state_ == State::Lingering;
  if (!request_.idle_ns || !counts) return std::nullopt;
  return std::max(active_at_, request_.relay->last_output_ns()) + *request_.idle_ns;
}

// After output and commands were taken: they may be what keeps it from being idle.
Result<void> Watch::check_limits() {
  TRY(check_output());
  if (const auto idle = idle_deadline(); idle && *idle <= now_) TRY(pass_limit(Reason::Idle));
  if (cpu_look_at_ && *cpu_look_at_ <= now_ && state_ < State::Ending) TRY(check_cpu());
  return {};
}

Result<void> Watch::check_cpu() {
  const std::int64_t before = sys::boottime_ns();
  const Meter::Reading reading = TRY(request_.meter->read());
  const std::int64_t shortest = std::max(kShortestLook, kLookShare * (sys::boottime_ns() - before));
  const std::int64_t left = *request_.cpu_limit_ns - reading.cpu_ns;
  if (left <= 0) return pass_limit(Reason::CpuLimit);
  const long processors = std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN));
  cpu_look_at_ = now_ + std::max(shortest, std::min(left / processors, kLongestLook));
  return {};
}

// An end that nobody forced was told before the last of the output was taken: with more of it than
// may be delivered it is no such end.
Result<void> Watch::check_output() {
  if (!request_.relay->is_over_limit()) return {};
  if (settled_ && ended_by_itself()) {
    end_.reason = Reason::OutputLimit;
    end_.detail = 0;
    end_.signal.reset();
  }
  return pass_limit(Reason::OutputLimit);
}

}  // namespace mayfly::supervise
