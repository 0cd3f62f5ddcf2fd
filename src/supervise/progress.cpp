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

std::string progress_line(std::int64_t elapsed_ns, const std::optional<Meter::Reading>& used,
                          std::size_t columns) {
  std::string line = "mayfly: " + time_text(static_cast<std::uint64_t>(elapsed_ns));
  if (used) line += "  cpu " + time_text(static_cast<std::uint64_t>(used->cpu_ns));
  if (used && used->memory_bytes) {
    line += "  memory " + std::to_string(*used->memory_bytes >> 20) + "M";
  }
  // The last column is left free: a terminal may go on to the next line behind it.
  return line.substr(0, std::max<std::size_t>(columns, 1) - 1);
}

Progress::Progress(int screen, Meter& meter, std::int64_t began_ns)
    : screen_(screen),
      out_(Endpoint::borrow(screen, Direction::Write)),
      meter_(meter),
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
  return progress_line(now_ns - began_ns_, reading ? std::optional(*reading) : std::nullopt,
                       columns_of(screen_));
}

void Progress::erase() {
  if (!shown_) return;
  shown_ = false;
  static_cast<void>(out_.write(std::string_view(kErase)));
}

}  // namespace mayfly::supervise
