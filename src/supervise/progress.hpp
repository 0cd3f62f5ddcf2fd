// Progress: a live line of state on the caller's terminal, for --progress.
//
// It stands on the line where the cursor is, which is its first column: so output that we relay to
// the same screen erases it first, and it is not drawn behind an unfinished line. Output that
// others bring to the screen, as behind a pipe, cannot be told: for it the line keeps to the right,
// and the cursor stays where it is. In the background it is not drawn at all. Never blocks; what
// the terminal does not take now is left out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "supervise/denials.hpp"
#include "supervise/endpoint.hpp"
#include "supervise/meter.hpp"
#include "supervise/relay.hpp"

namespace mayfly::supervise {

enum class ProgressStyle {
  Own,     // all output to this screen is relayed by us
  Beside,  // others write to it as well
  Plain,   // a terminal without escape sequences
};

// TERM, or empty; what the task's standard output is: a pipe or socket may lead to the screen.
[[nodiscard]] ProgressStyle progress_style(std::string_view terminal_type, int output);

class Progress final : public OutputListener {
 public:
  // screen: the terminal's descriptor, borrowed. denials: null where they are not told, else
  // borrowed. began_ns: CLOCK_BOOTTIME.
  Progress(int screen, ProgressStyle style, Meter& meter, const Denials* denials,
           std::int64_t began_ns);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() override { erase(); }

  void before_output() override { erase(); }
  void after_output(char last) override { in_line_ = last != '\n'; }

  // Draws it, if it is time.
  void show(std::int64_t now_ns);
  void erase();
  [[nodiscard]] std::int64_t next_ns() const { return next_ns_; }

 private:
  [[nodiscard]] std::string text(std::int64_t now_ns);
  [[nodiscard]] bool may_draw() const;

  int screen_;
  ProgressStyle style_;
  Endpoint out_;
  Meter& meter_;
  const Denials* denials_;
  std::int64_t began_ns_;
  std::int64_t next_ns_;
  bool in_line_ = false;
  std::string shown_;  // the line, as long as it is there
};

// What the line tells; what is not known, or not asked for, is left out.
struct ProgressState {
  std::int64_t elapsed_ns = 0;
  std::optional<Meter::Reading> used;
  std::optional<std::uint64_t> denials;
};

// "mayfly: 1m05s  cpu 43.2s  memory 120M  denials 3", cut to the columns of the screen.
[[nodiscard]] std::string progress_line(const ProgressState& state, std::size_t columns);
// What draws a line, and what takes it away.
[[nodiscard]] std::string drawn(std::string_view line, ProgressStyle style, std::size_t columns);
[[nodiscard]] std::string erased(std::string_view line, ProgressStyle style, std::size_t columns);

}  // namespace mayfly::supervise
