#include "supervise/relay.hpp"

#include "base/result.hpp"

namespace mayfly::supervise {
namespace {

constexpr std::size_t kBufferBytes = 32 << 10;
constexpr std::int64_t kPauseNs = 200'000'000;
constexpr short kGone = POLLERR | POLLHUP | POLLNVAL;

}  // namespace

void Relay::add_input(Endpoint source, Endpoint pipe, std::string name) {
  Stream& stream = streams_.emplace_back();
  stream.flow = Flow::ToTask;
  stream.source = std::move(source);
  stream.sink = std::move(pipe);
  stream.name = std::move(name);
}

void Relay::add_output(Endpoint pipe, Endpoint sink, std::string name) {
  Stream& stream = streams_.emplace_back();
  stream.flow = Flow::FromTask;
  stream.source = std::move(pipe);
  stream.sink = std::move(sink);
  stream.name = std::move(name);
}

void Relay::add_polls(std::vector<pollfd>& polls) const {
  for (const Stream& stream : streams_) {
    if (!stream.source) continue;
    // The source only if there is room: a level that nobody acts on would make the loop spin. The
    // sink always, since poll tells unasked that its reader is gone.
    const bool room = !stream.waiting() && stream.pause_until == 0;
    polls.push_back({.fd = room ? stream.source.fd() : -1, .events = POLLIN, .revents = 0});
    const short sink_events = stream.waiting() ? POLLOUT : 0;
    polls.push_back({.fd = stream.sink.fd(), .events = sink_events, .revents = 0});
  }
}

void Relay::handle(std::span<const pollfd> polls, std::int64_t now_ns) {
  std::size_t at = 0;
  for (Stream& stream : streams_) {
    if (!stream.source) continue;
    const short from = polls[at].revents;
    const short to = polls[at + 1].revents;
    at += 2;
    const bool rested = stream.pause_until != 0 && stream.pause_until <= now_ns;
    if (rested) stream.pause_until = 0;
    if (stream.waiting()) {
      if (to != 0) stream.drain();
    } else if ((to & kGone) != 0) {
      stream.close();
    } else if (from != 0 || rested) {
      stream.fill(now_ns);
    }
  }
}

void Relay::Stream::fill(std::int64_t now_ns) {
  if (buffer.empty()) buffer.resize(kBufferBytes);
  const Moved moved = source.read(buffer);
  switch (moved.status) {
    case Moved::Status::Some:
      begin = 0;
      end = moved.bytes;
      drain();
      break;
    case Moved::Status::Later:
      break;
    case Moved::Status::Paused:
      pause_until = now_ns + kPauseNs;
      break;
    case Moved::Status::Failed:
      error = moved.error;
      close();
      break;
    case Moved::Status::End:
      close();
      break;
  }
}

void Relay::Stream::drain() {
  const Moved moved = sink.write(std::span(buffer).subspan(begin, end - begin));
  switch (moved.status) {
    case Moved::Status::Some:
      begin += moved.bytes;
      break;
    case Moved::Status::Later:
      break;
    case Moved::Status::Failed:
      error = moved.error;
      close();
      break;
    case Moved::Status::Paused:  // never for a write: SIGTTOU is blocked
    case Moved::Status::End:
      close();
      break;
  }
}

void Relay::Stream::close() {
  source.close();
  sink.close();
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

void Relay::stop_input() {
  for (Stream& stream : streams_) {
    if (stream.flow == Flow::ToTask) stream.close();
  }
}

bool Relay::finished() const {
  for (const Stream& stream : streams_) {
    if (stream.flow == Flow::FromTask && stream.source) return false;
  }
  return true;
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
