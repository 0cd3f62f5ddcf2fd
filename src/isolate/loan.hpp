// Loan: rights of the owner's to a directory, added to its mode for a moment.
//
// For who looks at what a task that lives has closed even to its owner. Kernel: fchmod, and since
// that refuses O_PATH, chmod through /proc. Neither can be told to change a mode only if it is
// still a certain one: a chmod of the task's that falls between our look at the mode and our change
// of it, two calls in a row, is lost. The task sees the mode while it is lent: keep it short. Does
// not stop: a task that takes the right away at once.
#pragma once

#include <sys/types.h>

#include <utility>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace mayfly::isolate {

class Loan {
 public:
  // Borrows the descriptor, which may be one of O_PATH. `rights`: of the owner, as S_IRUSR; where
  // there is nothing to add, nothing is changed.
  [[nodiscard]] static Result<Loan> take(const Fd& directory, mode_t rights);

  Loan() = default;
  Loan(Loan&& other) noexcept { *this = std::move(other); }
  Loan& operator=(Loan&& other) noexcept {
    std::swap(directory_, other.directory_);
    std::swap(before_, other.before_);
    std::swap(lent_, other.lent_);
    return *this;
  }
  Loan(const Loan&) = delete;
  Loan& operator=(const Loan&) = delete;
  ~Loan() { end(); }

  // Puts the mode back, unless it is another one by now than was lent: then it is the task's.
  void end();
  // Leaves the mode as it is.
  void keep() { directory_ = -1; }

 private:
  int directory_ = -1;  // there is nothing to put back
  mode_t before_ = 0, lent_ = 0;
};

}  // namespace mayfly::isolate
