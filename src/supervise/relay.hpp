// Relay: carries bytes between descriptors that the task must not hold (terminals, other devices,
// regular files without Landlock) and pipes that it may hold. Driven by the event loop; never
// blocks, holds at most 32 KiB in each direction, asks poll only about what it can act on.
#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "supervise/endpoint.hpp"

namespace mayfly::supervise {

class Relay {
 public:
  // From the caller to the task. The pipe closes once the source ended and all was delivered.
  void add_input(Endpoint source, Endpoint pipe, std::string name);
  // From the task to the caller. If the caller's reader goes away, the pipe closes, so that the
  // task gets SIGPIPE as it would without us.
  void add_output(Endpoint pipe, Endpoint sink, std::string name);

  // What to wait for: two entries for each stream that is open.
  void add_polls(std::vector<pollfd>& polls) const;
  // The entries that add_polls made, after the wait. now_ns: CLOCK_BOOTTIME.
  void handle(std::span<const pollfd> polls, std::int64_t now_ns);
  // When to call handle() although no descriptor is ready.
  [[nodiscard]] std::optional<std::int64_t> next_try_ns() const;

  // The task is gone: nobody reads its input any more.
  void stop_input();
  // True once every output has delivered all that there was.
  [[nodiscard]] bool finished() const;
  // What was lost, or empty: bytes that could not be delivered, and why. To be asked at the end.
  [[nodiscard]] std::string losses() const;

 private:
  enum class Flow { ToTask, FromTask };

  // Open as long as it has a source: both ends close together, once nothing waits any more.
  struct Stream {
    Flow flow = Flow::FromTask;
    Endpoint source, sink;
    std::string name;  // "stdout", for losses()
    std::vector<char> buffer{};
    std::size_t begin = 0, end = 0;  // what waits in the buffer
    std::int64_t pause_until = 0;    // 0: not paused
    int error = 0;                   // why bytes were lost, other than that their reader is gone

    [[nodiscard]] bool waiting() const { return begin != end; }
    void fill(std::int64_t now_ns);
    void drain();
    void close();
  };

  std::vector<Stream> streams_;
};

}  // namespace mayfly::supervise
