// Progress: a live line of state on the caller's terminal, for --progress.
//
// It stands on the line where the cursor is, which is its first column: so output that we relay to
// the same screen erases it first, and it is not drawn behind an unfinished line. In the background
// it is not drawn at all. Never blocks; what the terminal does not take now is left out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "supervise/denials.hpp"
#include "supervise/endpoint.hpp"
#include "supervise/meter.hpp"
#include "supervise/relay.hpp"

namespace mayfly::supervise {

class Progress final : public OutputListener {
 public:
  // screen: the terminal's descriptor, borrowed. denials: null where they are not told, else
  // borrowed. began_ns: CLOCK_BOOTTIME.
  Progress(int screen, Meter& meter, const Denials* denials, std::int64_t began_ns);
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
  Endpoint out_;
  Meter& meter_;
  const Denials* denials_;
  std::int64_t began_ns_;
  std::int64_t next_ns_;
  bool in_line_ = false;
  bool shown_ = false;
};

// What the line tells; what is not known, or not asked for, is left out.
struct ProgressState {
  std::int64_t elapsed_ns = 0;
  std::optional<Meter::Reading> used;
  std::optional<std::uint64_t> denials;
};

// "mayfly: 1m05s  cpu 43.2s  memory 120M  denials 3", cut to the columns of the screen.
[[nodiscard]] std::string progress_line(const ProgressState& state, std::size_t columns);

}  // namespace mayfly::supervise
