#include "supervise/progress.hpp"

#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.hpp"

namespace mayfly::supervise {
namespace {

constexpr std::int64_t kEvery = 1'000'000'000;
constexpr std::size_t kUsualColumns = 80;

// ECMA-48: erase to the end of the line. The line ends where it began, so that whatever comes next
// writes over it.
constexpr const char* kErase = "\x1b[K";

std::size_t columns_of(int screen) {
  winsize size{};
  const bool known = ::ioctl(screen, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : kUsualColumns;
}

}  // namespace

std::string progress_line(const ProgressState& state, std::size_t columns) {
  const std::optional<Meter::Reading>& used = state.used;
  std::string line = "mayfly: " + time_text(static_cast<std::uint64_t>(state.elapsed_ns));
  if (used) line += "  cpu " + time_text(static_cast<std::uint64_t>(used->cpu_ns));
  if (used && used->memory_bytes) {
    line += "  memory " + std::to_string(*used->memory_bytes >> 20) + "M";
  }
  if (state.denials) line += "  denials " + std::to_string(*state.denials);
  // The last column is left free: a terminal may go on to the next line behind it.
  return line.substr(0, std::max<std::size_t>(columns, 1) - 1);
}

Progress::Progress(int screen, Meter& meter, const Denials* denials, std::int64_t began_ns)
    : screen_(screen),
      out_(Endpoint::borrow(screen, Direction::Write)),
      meter_(meter),
      denials_(denials),
      began_ns_(began_ns),
      next_ns_(began_ns + kEvery) {}

bool Progress::may_draw() const {
  const pid_t foreground = ::tcgetpgrp(screen_);
  return !in_line_ && (foreground < 0 || foreground == ::getpgrp());
}

void Progress::show(std::int64_t now_ns) {
  if (now_ns < next_ns_) return;
  next_ns_ = now_ns + kEvery;
  if (!may_draw()) return;
  const std::string drawn = text(now_ns) + kErase + "\r";
  shown_ = out_.write(drawn).status == Moved::Status::Some;
}

std::string Progress::text(std::int64_t now_ns) {
  const Result<Meter::Reading> reading = meter_.read();
  ProgressState state{.elapsed_ns = now_ns - began_ns_};
  if (reading) state.used = *reading;
  if (denials_ != nullptr) state.denials = denials_->count();
  return progress_line(state, columns_of(screen_));
}

void Progress::erase() {
  if (!shown_) return;
  shown_ = false;
  static_cast<void>(out_.write(std::string_view(kErase)));
}

}  // namespace mayfly::supervise
