// Lent: a descriptor of the caller's that is passed to the task, and is afterwards as it was.
//
// Threat: an open file description is shared. O_NONBLOCK that a task leaves on a pipe or terminal
// makes the caller's next command fail with EAGAIN, O_DIRECT makes packets of what it writes, a
// pipe of one page or with mode 0 is of less use than it was. What the supervisor does not live to
// put back stays.
#pragma once

#include <sys/types.h>

namespace mayfly::supervise {

class Lent {
 public:
  // fd: borrowed. flags, mode: what it has.
  Lent(int fd, int flags, mode_t mode);
  // Puts back what has changed, as far as the kernel lets us.
  void put_back() const;

 private:
  int fd_;
  int flags_;
  int pipe_size_;  // bytes; -1: no pipe
  mode_t mode_;
};

}  // namespace mayfly::supervise
