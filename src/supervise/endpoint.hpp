// Endpoint: one descriptor that is read or written without ever blocking.
//
// Many of them belong to the caller, and their open file descriptions are shared with the caller's
// other processes: O_NONBLOCK set there would break a shell or a make that never asked for it. So
// the flags are left alone:
//   pipe, terminal   opened anew through /proc/self/fd, which gives a description of our own
//   socket           MSG_DONTWAIT
//   regular file     never blocks in this sense; the shared offset is what the caller wants
//   other devices    opening one can have effects (tapes, watchdogs), so: poll first, then move a
//                    small piece, interrupted if it takes long. The same where opening anew is
//                    refused.
#pragma once

#include <cstddef>
#include <span>

#include "base/fd.hpp"

namespace mayfly::supervise {

enum class Direction { Read, Write };

struct Moved {
  enum class Status {
    Some,    // `bytes` were moved, at least one
    Later,   // nothing can be moved now: poll
    End,     // end of file; or whoever read from us is gone (EPIPE, a hung-up terminal)
    Paused,  // a terminal whose foreground is not ours: poll cannot tell when to try again
    Failed,  // `error` says why
  };
  Status status = Status::Later;
  std::size_t bytes = 0;
  int error = 0;
};

class Endpoint {
 public:
  Endpoint() = default;
  // A descriptor that is ours alone and is non-blocking (a terminal's master, too).
  static Endpoint own(Fd fd);
  // A descriptor of the caller; it must stay open as long as this object.
  static Endpoint borrow(int fd, Direction direction);
  // The same, never opened anew: a FIFO that is opened again has forgotten that its writer left.
  static Endpoint borrow_as_it_is(int fd);

  explicit operator bool() const { return fd_ >= 0; }
  // For poll.
  [[nodiscard]] int fd() const { return fd_; }
  void close();

  [[nodiscard]] Moved read(std::span<char> into);
  [[nodiscard]] Moved write(std::span<const char> from);
  // A FIFO that is opened as non-blocking: one without a writer since is at its end, which a read
  // tells and poll does not.
  [[nodiscard]] bool is_silent_at_end() const;
  // Bytes that a read would give now; 0 where that cannot be told.
  [[nodiscard]] std::size_t readable() const;

 private:
  enum class Kind { NonBlocking, Socket, Blocking };
  [[nodiscard]] bool ready(short event) const;
  [[nodiscard]] Moved judge(long answer, int number) const;

  int fd_ = -1;
  Fd owned_;
  Kind kind_ = Kind::NonBlocking;
};

}  // namespace mayfly::supervise
