#include "supervise/control.hpp"

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

}  // namespace

pollfd Control::wants() const {
  const bool reading = !ended_ && credit_ > 0 && !has_line();
  return {.fd = ended_ ? -1 : in_.fd(),
          .events = static_cast<short>(reading ? POLLIN | POLLRDHUP : POLLRDHUP),
          .revents = 0};
}

void Control::receive(short revents, std::int64_t now_ns) {
  if (now_ns >= refill_at_) {
    credit_ = kCredit;
    refill_at_ = now_ns + kRefillNs;
  }
  if (ended_ || revents == 0) return;
  if ((revents & kGone) == 0) {
    --credit_;
    static_cast<void>(read_some());
    return;
  }
  // Whoever would write more is gone, so this is all.
  for (int i = 0; i < kLastChunks && read_some(); ++i) {
  }
  ended_ = true;
}

// False: nothing more is there now.
bool Control::read_some() {
  std::array<char, kChunk> chunk;
  const Moved moved = in_.read(chunk);
  if (moved.status == Moved::Status::End || moved.status == Moved::Status::Failed) ended_ = true;
  if (moved.status == Moved::Status::Paused) credit_ = 0;
  if (moved.status != Moved::Status::Some) return false;
  pending_.append(chunk.data(), moved.bytes);
  return true;
}

std::optional<Control::Line> Control::next() {
  while (credit_ > 0) {
    const std::size_t end = pending_.find('\n');
    const bool complete = end != std::string::npos;
    const std::size_t size = complete ? end : pending_.size();
    const bool too_long = size > spec::kMostControlBytes;
    if (!complete && !skipping_ && !too_long) return std::nullopt;
    std::string text = pending_.substr(0, size);
    pending_.erase(0, complete ? size + 1 : size);
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
  credit_ -= kRubbish;
}

std::optional<std::int64_t> Control::next_try_ns() const {
  if (ended_ || credit_ > 0) return std::nullopt;
  return refill_at_;
}

Result<Control> open_control(int fd, bool is_taken) {
  if (!is_taken) {
    TRY(take_descriptor(fd, Direction::Read, "read commands from descriptor " + std::to_string(fd),
                        "use a free number, as in: --control-fd 4 4<FIFO"));
  }
  return Control(Endpoint::borrow_as_it_is(fd));
}

}  // namespace mayfly::supervise
