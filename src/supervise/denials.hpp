// Denials: the system calls that the sandbox's filter refused, told by its listener.
//
// Threat: a task can be refused as often as it likes. So a call is told when it is refused first,
// for the 10th, the 100th time …; it is counted each time; and a turn of the loop answers no more
// than a few. While the supervisor is stopped, a refused call waits.
#pragma once

#include <linux/filter.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "supervise/outcome.hpp"

namespace mayfly::supervise {

class Denials {
 public:
  // program: the filter that refuses, not the one that asks. Borrowed.
  Denials(std::span<const sock_filter> program, plan::Refusals how)
      : program_(program), how_(how) {}

  void listen(Fd listener) { listener_ = std::move(listener); }
  // To be polled for POLLIN; -1: nothing to wait for.
  [[nodiscard]] int fd() const { return listener_.get(); }

  // What to do after a turn.
  struct Turn {
    std::vector<Denial> told;  // those worth an event, with their count up to now
    bool fatal = false;        // the last of them ends the sandbox; its call was not answered
  };
  // Answers calls that wait, after poll() has named `revents`.
  [[nodiscard]] Result<Turn> take(short revents);

  // How many calls were refused up to now.
  [[nodiscard]] std::uint64_t count() const { return count_; }
  // Each refused call with its count, by number.
  [[nodiscard]] std::vector<Denial> all() const;

 private:
  Result<bool> take_one(Turn& turn);

  std::span<const sock_filter> program_;
  plan::Refusals how_;
  Fd listener_;
  std::uint64_t count_ = 0;
  std::map<std::pair<int, int>, Denial> seen_;  // by number and errno
};

}  // namespace mayfly::supervise
