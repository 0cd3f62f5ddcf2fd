// Control: the reading side of --control-fd, line by line.
//
// Whoever writes to it may end or extend the run, so it is the caller's. It is trusted to mean well
// and not to be right: rubbish is answered and passed over, at a bounded rate. Never blocks.
#pragma once

#include <poll.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "spec/control_command.hpp"
#include "supervise/endpoint.hpp"

namespace mayfly::supervise {

// What became of a line.
struct ControlAnswer {
  std::uint64_t line = 0;                 // from 1 on
  std::optional<spec::ControlVerb> verb;  // empty: none could be read
  std::optional<Error> error;             // empty: it was done
  std::int64_t ttl_ns = 0;                // Extend: the whole time to live now, from the start on
  std::int64_t left_ns = 0;               // … and what is left of it
};

class Control {
 public:
  explicit Control(Endpoint in) : in_(std::move(in)) {}

  struct Line {
    std::uint64_t number = 0;
    std::string text;
    bool too_long = false;  // then there is no text
  };

  [[nodiscard]] pollfd wants() const;
  // Takes what is there, as poll answered. now_ns: CLOCK_BOOTTIME.
  void receive(short revents, std::int64_t now_ns);
  // The next line, as long as the rate allows, and at the end of file as many as the rate allows at
  // once. The end of file ends a line, too.
  [[nodiscard]] std::optional<Line> next();
  // The last line was rubbish: the next ones wait longer.
  void charge_for_rubbish();
  // When to call receive() although no descriptor is ready.
  [[nodiscard]] std::optional<std::int64_t> next_try_ns() const;
  // Its writers are gone.
  [[nodiscard]] bool ended() const { return ended_; }

 private:
  [[nodiscard]] bool read_some();
  void end();
  [[nodiscard]] bool has_line() const { return pending_.find('\n') != std::string::npos; }

  Endpoint in_;
  std::string pending_;
  bool skipping_ = false;  // in a line that is too long
  bool ended_ = false;
  std::uint64_t lines_ = 0;
  int credit_ = 0;  // what may be done before refill_at_
  std::int64_t refill_at_ = 0;
};

// Reads commands from the caller's descriptor `fd`: a pipe, a FIFO, a socket or a terminal, or it
// is refused. is_taken: it is the status descriptor, too, and was checked as such.
[[nodiscard]] Result<Control> open_control(int fd, bool is_taken);

}  // namespace mayfly::supervise
