// Lent: a descriptor of the caller's that is passed to the task, and is afterwards as it was.
//
// Threat: an open file description is shared. O_NONBLOCK that a task leaves on a pipe or terminal
// makes the caller's next command fail with EAGAIN, O_DIRECT makes packets of what it writes, a
// pipe of one page or with mode 0 is of less use than it was. What the supervisor does not live to
// put back stays.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <utility>

#include "base/fd.hpp"

namespace mayfly::supervise {

class Lent {
 public:
  // fd: borrowed. flags, mode: what it has. Without a mode that is left alone: a task with an id of
  // its own cannot change it, and what this run has added may serve others of the same caller.
  Lent(int fd, int flags, std::optional<mode_t> mode);
  // Puts back what has changed, as far as the kernel lets us.
  void put_back() const;

 private:
  int fd_;
  int flags_;
  int pipe_size_;  // bytes; -1: no pipe
  std::optional<mode_t> mode_;
};

// LentInput: a regular file of the caller's that is read for the task, which may read less of it.
// The rest is for whoever reads it next, such as the shell whose script or list it is.
class LentInput {
 public:
  // True if `fd` is a regular file and open for reading alone: an offset that is written at, too,
  // is left where it is.
  [[nodiscard]] static bool is_one(int fd);
  // fd: borrowed. pipe: the end that the task reads from, as a descriptor of ours.
  LentInput(int fd, Fd pipe) : fd_(fd), pipe_(std::move(pipe)) {}
  // undelivered: bytes that were read of it and are not in the pipe.
  void put_back(std::size_t undelivered) const;

 private:
  int fd_;
  Fd pipe_;
};

}  // namespace mayfly::supervise
