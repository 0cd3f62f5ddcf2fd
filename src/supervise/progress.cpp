#include "supervise/progress.hpp"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.hpp"

namespace mayfly::supervise {
namespace {

constexpr std::int64_t kEvery = 1'000'000'000;
constexpr std::size_t kUsualColumns = 80;

// ECMA-48: erase to the end of the line. VT100: remember where the cursor is, and lead it back.
constexpr const char* kErase = "\x1b[K";
constexpr const char* kSave =
    "\x1b"
    "7";
constexpr const char* kRestore =
    "\x1b"
    "8";

// At the right end of the cursor's line; ECMA-48: so many columns to the right.
std::string beside(std::string_view text, std::size_t width, std::size_t columns) {
  const std::size_t left = columns > width + 1 ? columns - width - 1 : 0;
  std::string moves = std::string(kSave) + "\r";
  if (left > 0) moves += "\x1b[" + std::to_string(left) + "C";
  return moves + std::string(text) + kErase + kRestore;
}

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

// It ends where it began, so that whatever comes next writes over it.
std::string drawn(std::string_view line, ProgressStyle style, std::size_t columns) {
  switch (style) {
    case ProgressStyle::Own:
      return std::string(line) + kErase + "\r";
    case ProgressStyle::Beside:
      return beside(line, line.size(), columns);
    case ProgressStyle::Plain: {
      // Over a longer one that was there before.
      const std::size_t width = std::max<std::size_t>(columns, 1) - 1;
      const std::size_t rest = width > line.size() ? width - line.size() : 0;
      return "\r" + std::string(line) + std::string(rest, ' ') + "\r";
    }
  }
  return {};
}

std::string erased(std::string_view line, ProgressStyle style, std::size_t columns) {
  switch (style) {
    case ProgressStyle::Own:
      return kErase;
    case ProgressStyle::Beside:
      return beside({}, line.size(), columns);
    case ProgressStyle::Plain:
      return "\r" + std::string(line.size(), ' ') + "\r";
  }
  return {};
}

ProgressStyle progress_style(std::string_view terminal_type, int output) {
  if (terminal_type.empty() || terminal_type == "dumb") return ProgressStyle::Plain;
  struct stat info {};
  const bool leads_on =
      ::fstat(output, &info) == 0 && (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode));
  return leads_on ? ProgressStyle::Beside : ProgressStyle::Own;
}

Progress::Progress(int screen, ProgressStyle style, Meter& meter, const Denials* denials,
                   std::int64_t began_ns)
    : screen_(screen),
      style_(style),
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
  const std::string line = text(now_ns);
  const std::size_t columns = columns_of(screen_);
  std::string bytes = shown_.size() > line.size() ? erased(shown_, style_, columns) : "";
  bytes += drawn(line, style_, columns);
  if (out_.write(bytes).status == Moved::Status::Some) shown_ = line;
}

std::string Progress::text(std::int64_t now_ns) {
  const Result<Meter::Reading> reading = meter_.read();
  ProgressState state{.elapsed_ns = now_ns - began_ns_};
  if (reading) state.used = *reading;
  if (denials_ != nullptr) state.denials = denials_->count();
  return progress_line(state, columns_of(screen_));
}

void Progress::erase() {
  if (shown_.empty()) return;
  static_cast<void>(out_.write(erased(shown_, style_, columns_of(screen_))));
  shown_.clear();
}

}  // namespace mayfly::supervise
