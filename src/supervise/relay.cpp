#include "supervise/relay.hpp"

#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/result.hpp"

namespace mayfly::supervise {
namespace {

constexpr std::size_t kBufferBytes = 32 << 10;
constexpr std::int64_t kPauseNs = 200'000'000;
constexpr std::int64_t kRetryNs = 20'000'000;
constexpr std::int64_t kAtOnce = 1;  // a pause that is over: the source is read without poll
constexpr short kGone = POLLERR | POLLHUP | POLLNVAL;

bool is_same_terminal(int a, int b) {
  struct stat of_a {};
  struct stat of_b {};
  return ::isatty(a) == 1 && ::fstat(a, &of_a) == 0 && ::fstat(b, &of_b) == 0 &&
         of_a.st_rdev == of_b.st_rdev;
}

bool adds_returns(int terminal) {
  struct termios modes {};
  constexpr tcflag_t kBoth = OPOST | ONLCR;
  return ::tcgetattr(terminal, &modes) == 0 && (modes.c_oflag & kBoth) == kBoth;
}

}  // namespace

void Relay::add_input(Endpoint source, Endpoint pipe, std::string name) {
  Stream& stream = streams_.emplace_back();
  stream.flow = Flow::ToTask;
  stream.source = std::move(source);
  stream.sink = std::move(pipe);
  stream.name = std::move(name);
  if (stream.source.is_silent_at_end()) stream.pause_until = kAtOnce;
}

void Relay::add_output(Endpoint pipe, Endpoint sink, std::string name) {
  Stream& stream = streams_.emplace_back();
  stream.flow = Flow::FromTask;
  stream.source = std::move(pipe);
  stream.sink = std::move(sink);
  stream.name = std::move(name);
}

void Relay::add_terminal(Endpoint source, Endpoint sink, Fd master, Fd master_copy) {
  add_input(std::move(source), Endpoint::own(std::move(master_copy)), "stdin");
  streams_.back().terminal = true;
  streams_.back().held = true;
  add_output(Endpoint::own(std::move(master)), std::move(sink), "stdout");
  streams_.back().terminal = true;
  streams_.back().to_screen = ::isatty(streams_.back().sink.fd()) == 1;
}

void Relay::mind_screen(int fd, OutputListener* listener) {
  listener_ = listener;
  for (Stream& stream : streams_)
    stream.minded = stream.flow == Flow::FromTask && is_same_terminal(stream.sink.fd(), fd);
}

void Relay::open_terminal() {
  for (Stream& stream : streams_)
    stream.held = false;
}

void Relay::add_polls(std::vector<pollfd>& polls) {
  const std::size_t first = polls.size();
  for (Stream& stream : streams_) {
    stream.polled_at.reset();
    if (!stream.source || stream.held) continue;
    stream.polled_at = polls.size() - first;
    // The source only if there is room: a level that nobody acts on would make the loop spin. The
    // sink always, since poll tells unasked that its reader is gone.
    const bool room = !stream.waiting() && stream.pause_until == 0;
    polls.push_back({.fd = room ? stream.source.fd() : -1, .events = POLLIN, .revents = 0});
    const bool pressing = stream.waiting() && stream.pause_until == 0;
    const auto sink_events = static_cast<short>(pressing ? POLLOUT : 0);
    polls.push_back({.fd = stream.sink.fd(), .events = sink_events, .revents = 0});
  }
}

void Relay::handle(std::span<const pollfd> polls, std::int64_t now_ns) {
  for (Stream& stream : streams_) {
    if (!stream.source || !stream.polled_at) continue;  // closed since, or not there yet
    const short from = polls[*stream.polled_at].revents;
    const short to = polls[*stream.polled_at + 1].revents;
    const bool rested = stream.pause_until != 0 && stream.pause_until <= now_ns;
    if (rested) stream.pause_until = 0;
    if (stream.waiting()) {
      if (to != 0 || rested) drain_or_pause(stream, now_ns);
    } else if ((to & kGone) != 0) {
      stream.close();
    } else if (from != 0 || rested) {
      fill(stream, now_ns);
    }
  }
  hang_up_terminals();
}

// A terminal that is all but full says that it takes output, and then takes no newline, which is
// two bytes to it: poll would say so again and again.
void Relay::drain_or_pause(Stream& stream, std::int64_t now_ns) {
  const std::size_t before = stream.begin;
  drain(stream, now_ns);
  if (stream.waiting() && stream.begin == before) stream.pause_until = now_ns + kRetryNs;
}

// How many of these bytes may be delivered. One more than the limit ends all outputs.
std::size_t Relay::accept(std::size_t bytes) {
  if (!limit_left_) return bytes;
  if (bytes <= *limit_left_) {
    *limit_left_ -= bytes;
    return bytes;
  }
  over_limit_ = true;
  for (Stream& stream : streams_) {
    if (stream.flow == Flow::FromTask && stream.source) stream.ending = true;
  }
  return static_cast<std::size_t>(std::exchange(*limit_left_, 0));
}

void Relay::fill(Stream& stream, std::int64_t now_ns) {
  if (stream.ending) return stream.finish();
  const bool is_output = stream.flow == Flow::FromTask;
  // One byte above the limit tells that there is more, without taking much of it.
  const bool limited = is_output && limit_left_ && *limit_left_ < kBufferBytes;
  const Moved moved =
      stream.take(limited ? static_cast<std::size_t>(*limit_left_) + 1 : kBufferBytes);
  switch (moved.status) {
    case Moved::Status::Some:
      stream.begin = 0;
      stream.end = is_output ? accept(moved.bytes) : moved.bytes;
      if (is_output) last_output_ns_ = now_ns;
      if (stream.terminal && stream.to_screen) stream.spare_returns();
      drain(stream, now_ns);
      break;
    case Moved::Status::Later:
      break;
    case Moved::Status::Paused:
      stream.pause_until = now_ns + kPauseNs;
      break;
    case Moved::Status::Failed:
      stream.error = moved.error;
      stream.close();
      break;
    case Moved::Status::End:
      stream.finish();
      break;
  }
}

// Not filled with zeroes: most streams carry little, and each page that is touched costs the start.
void Relay::Stream::need_buffer() {
  if (!buffer) buffer = std::make_unique_for_overwrite<char[]>(kBufferBytes);
}

Moved Relay::Stream::take(std::size_t most) {
  need_buffer();
  return source.read(std::span(buffer.get(), std::min(most, kBufferBytes)));
}

// The task's terminal has begun each new line with a return. So does the caller's, unless it is in
// raw mode: in the background, or where input comes from elsewhere.
void Relay::Stream::spare_returns() {
  if (!adds_returns(sink.fd())) return;
  std::size_t kept = begin;
  for (std::size_t i = begin; i < end; ++i) {
    if (buffer[i] == '\n' && kept > begin && buffer[kept - 1] == '\r') --kept;
    buffer[kept++] = buffer[i];
  }
  end = kept;
}

void Relay::drain(Stream& stream, std::int64_t now_ns) {
  if (!stream.waiting()) {
    if (stream.ending) stream.finish();
    return;
  }
  const bool is_output = stream.flow == Flow::FromTask;
  OutputListener* const listener = stream.minded ? listener_ : nullptr;
  if (listener != nullptr) listener->before_output();
  const Moved moved =
      stream.sink.write(std::span(stream.buffer.get() + stream.begin, stream.end - stream.begin));
  switch (moved.status) {
    case Moved::Status::Some:
      stream.begin += moved.bytes;
      stream.delivered += moved.bytes;
      stream.last = stream.buffer[stream.begin - 1];
      if (is_output) last_output_ns_ = now_ns;
      if (stream.minded) in_line_ = stream.last != '\n';
      if (listener != nullptr) listener->after_output(stream.last);
      if (stream.waiting()) break;
      if (stream.ending) {
        stream.finish();
      } else if (stream.source.is_silent_at_end()) {
        stream.pause_until = kAtOnce;
      }
      break;
    case Moved::Status::Later:
      break;
    case Moved::Status::Failed:
      stream.error = moved.error;
      stream.close();
      break;
    case Moved::Status::Paused:  // never for a write: SIGTTOU is blocked
    case Moved::Status::End:
      stream.close();
      break;
  }
}

void Relay::Stream::finish() {
  ending = true;
  if (terminal && flow == Flow::ToTask && !std::exchange(end_typed, true)) type_end_of_file();
  if (!waiting()) close();
}

// A terminal has no end that could be closed: whoever reads from it sees an end of file when the
// user types one. In the middle of a line it takes two: the first only hands over what is there.
void Relay::Stream::type_end_of_file() {
  struct termios modes {};
  if (::tcgetattr(sink.fd(), &modes) != 0) return;
  const bool by_line = (modes.c_lflag & ICANON) != 0;
  const bool in_line = delivered > 0 && last != '\n';
  need_buffer();
  begin = 0;
  end = by_line && in_line ? 2 : 1;
  std::fill_n(buffer.get(), end, static_cast<char>(modes.c_cc[VEOF]));
}

// A terminal without a reader is hung up: its master closes, on both sides.
void Relay::hang_up_terminals() {
  bool hung_up = false;
  for (const Stream& stream : streams_)
    hung_up = hung_up || (stream.terminal && stream.flow == Flow::FromTask && !stream.source);
  if (!hung_up) return;
  for (Stream& stream : streams_) {
    if (stream.terminal && stream.source) stream.close();
  }
}

void Relay::Stream::close() {
  source.close();
  sink.close();
  undelivered += end - begin;
  begin = end = 0;
  pause_until = 0;
}

std::optional<std::int64_t> Relay::next_try_ns() const {
  std::optional<std::int64_t> next;
  for (const Stream& stream : streams_) {
    if (stream.pause_until != 0 && (!next || stream.pause_until < *next)) next = stream.pause_until;
  }
  return next;
}

bool Relay::end_input() {
  bool relayed = false;
  for (Stream& stream : streams_) {
    if (stream.flow != Flow::ToTask) continue;
    relayed = true;
    if (!stream.source || stream.ending) continue;
    stream.ending = true;
    if (!stream.waiting()) stream.finish();
  }
  return relayed;
}

void Relay::stop_input() {
  for (Stream& stream : streams_) {
    if (stream.flow == Flow::ToTask) stream.close();
  }
}

std::size_t Relay::undelivered_input() const {
  std::size_t bytes = 0;
  for (const Stream& stream : streams_) {
    if (stream.flow == Flow::ToTask) bytes += stream.undelivered + (stream.end - stream.begin);
  }
  return bytes;
}

bool Relay::finished() const {
  for (const Stream& stream : streams_) {
    if (stream.flow == Flow::FromTask && stream.source) return false;
  }
  return true;
}

bool Relay::will_be_over_limit() const {
  if (!limit_left_) return false;
  std::uint64_t waiting = 0;
  for (const Stream& stream : streams_) {
    if (stream.flow == Flow::FromTask && stream.source) waiting += stream.source.readable();
  }
  return waiting > *limit_left_;
}

std::optional<std::uint64_t> Relay::delivered(std::string_view name) const {
  for (const Stream& stream : streams_) {
    if (stream.flow == Flow::FromTask && stream.name == name) return stream.delivered;
  }
  return std::nullopt;
}

bool Relay::is_screen_stuck() const {
  return std::any_of(streams_.begin(), streams_.end(),
                     [](const Stream& stream) { return stream.minded && stream.waiting(); });
}

std::string Relay::losses() const {
  std::string text;
  for (const Stream& stream : streams_) {
    if (stream.flow != Flow::FromTask || (!stream.source && stream.error == 0)) continue;
    if (!text.empty()) text += "; ";
    text += "output to " + stream.name + " was lost: ";
    text += stream.error != 0 ? "it failed with " + errno_name(stream.error)
                              : std::string("its reader takes nothing");
  }
  return text;
}

}  // namespace mayfly::supervise
