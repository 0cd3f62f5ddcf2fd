#include "supervise/control.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "supervise/descriptor.hpp"

namespace mayfly::supervise {
namespace {

// A line and a read cost one each, rubbish more: at most 640 commands or 70 lines of rubbish a
// second, and 10 MiB of what is thrown away. Everybody else comes nowhere near.
constexpr int kCredit = 64;
constexpr int kRubbish = 8;
constexpr std::int64_t kRefillNs = 100'000'000;

constexpr std::size_t kChunk = 16 << 10;
// Of what the last writer left when it went, more than any pipe holds.
constexpr int kLastChunks = 64;

constexpr short kGone = POLLHUP | POLLRDHUP | POLLERR | POLLNVAL;

constexpr const char* kHint = "use a free number, as in: --control-fd 4 4<FIFO";

bool listens(int fd) {
  int value = 0;
  socklen_t size = sizeof value;
  return ::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &value, &size) == 0 && value != 0;
}

// Anything else is at its end as soon as it was read once, and that would cancel.
Result<void> check_kind(int fd, const std::string& what) {
  struct stat info {};
  const char* is = "none of these";
  if (::fstat(fd, &info) == 0) {
    if (S_ISFIFO(info.st_mode) || ::isatty(fd) == 1) return {};
    if (S_ISSOCK(info.st_mode) && !listens(fd)) return {};
    is = S_ISSOCK(info.st_mode)  ? "a socket that listens"
         : S_ISREG(info.st_mode) ? "a regular file"
         : S_ISDIR(info.st_mode) ? "a directory"
         : S_ISCHR(info.st_mode) ? "a character device"
         : S_ISBLK(info.st_mode) ? "a block device"
                                 : "none of these";
  }
  return usage_error(what +
                         ": only a pipe, a FIFO, a socket or a terminal has somebody at its "
                         "other end, and it is " +
                         is,
                     kHint);
}

}  // namespace

pollfd Control::wants() const {
  const bool reading = !ended_ && credit_ > 0 && !has_line();
  return {.fd = ended_ ? -1 : in_.fd(),
          .events = static_cast<short>(reading ? POLLIN | POLLRDHUP : POLLRDHUP),
          .revents = 0};
}

void Control::receive(short revents, std::int64_t now_ns) {
  if (ended_) return;
  if (now_ns >= refill_at_) {
    credit_ = kCredit;
    refill_at_ = now_ns + kRefillNs;
  }
  if (revents == 0) return;
  if ((revents & kGone) == 0) {
    --credit_;
    static_cast<void>(read_some());
    return;
  }
  // Whoever would write more is gone, so this is all.
  for (int i = 0; i < kLastChunks && read_some(); ++i) {
  }
  end();
}

// So many lines more, at once: what waits for its turn now would never have one.
void Control::end() {
  ended_ = true;
  credit_ = kCredit;
}

// False: nothing more is there now.
bool Control::read_some() {
  std::array<char, kChunk> chunk;
  const Moved moved = in_.read(chunk);
  if (moved.status == Moved::Status::End || moved.status == Moved::Status::Failed) end();
  if (moved.status == Moved::Status::Paused) credit_ = 0;
  if (moved.status != Moved::Status::Some) return false;
  pending_.append(chunk.data(), moved.bytes);
  return true;
}

std::optional<Control::Line> Control::next() {
  while (credit_ > 0) {
    if (ended_ && pending_.empty()) return std::nullopt;
    const std::size_t newline = pending_.find('\n');
    const bool complete = newline != std::string::npos || ended_;
    const std::size_t size = std::min(newline, pending_.size());
    const bool too_long = size > spec::kMostControlBytes;
    if (!complete && !skipping_ && !too_long) return std::nullopt;
    std::string text = pending_.substr(0, size);
    pending_.erase(0, size + 1);
    if (std::exchange(skipping_, !complete)) {  // the rest of one that was told
      if (!complete) return std::nullopt;
      continue;
    }
    --credit_;
    ++lines_;
    if (too_long) text.clear();
    return Line{.number = lines_, .text = std::move(text), .too_long = too_long};
  }
  return std::nullopt;
}

void Control::charge_for_rubbish() {
  if (!ended_) credit_ -= kRubbish;
}

std::optional<std::int64_t> Control::next_try_ns() const {
  if (ended_ || credit_ > 0) return std::nullopt;
  return refill_at_;
}

Result<Control> open_control(int fd, bool is_taken) {
  const std::string what = "read commands from descriptor " + std::to_string(fd);
  if (!is_taken) TRY(take_descriptor(fd, Direction::Read, what, kHint));
  TRY(check_kind(fd, what));
  return Control(Endpoint::borrow_as_it_is(fd));
}

}  // namespace mayfly::supervise
