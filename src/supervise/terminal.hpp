// Terminal: the caller's terminal, as long as the task has one of its own (DESIGN 6).
//
// Raw mode hands every key to the task's terminal, where Ctrl-C and Ctrl-Z mean what they mean
// there. It is put on only while we are in the foreground, and taken back whatever ends us, SIGKILL
// excepted: by the destructor, and by handlers of the signals that kill a program and are not taken
// by the event loop. Modes that somebody else has set since are left alone.
#pragma once

#include <termios.h>

#include <cstdint>
#include <optional>

#include "base/fd.hpp"
#include "launch/launch.hpp"

namespace mayfly::supervise {

class Terminal {
 public:
  Terminal();  // looks at descriptors 0-2, changes nothing
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal() { leave(); }

  // What the task's terminal is to be like: the caller's modes and size, else 24 lines of 80.
  [[nodiscard]] launch::TerminalLook look() const;

  // The other side of the task's terminal. Held, it keeps that from being hung up by a task that
  // closes all of its descriptors; let go once nobody inside is alive, it is what ends the output.
  void hold(Fd slave) { slave_ = std::move(slave); }
  void let_go() { slave_.reset(); }

  // Somebody sits in front of it.
  [[nodiscard]] bool has_user() const { return input_ >= 0; }

  // Raw mode, if we are in the foreground. With the size, which may have changed since. Before the
  // task runs there is nobody inside for whom Ctrl-C could be meant: until then it is a signal to
  // us, which is held for the task, as others are.
  void enter();
  // The task's terminal has its foreground job.
  void task_started();
  // As it was before.
  void leave();
  // The size of the caller's terminal for the task's. False: it has it already, and so nobody was
  // told of a change.
  bool follow_size();

  // Stops us and our process group, as Ctrl-Z in the caller's own terminal would: by SIGTSTP, which
  // the kernel drops where nobody is there to continue us. Returns once we go on.
  void stop_job();

  // When to call enter() again: we may have come to the foreground, which nobody tells.
  [[nodiscard]] std::optional<std::int64_t> next_look_ns() const { return next_look_; }

 private:
  [[nodiscard]] bool is_raw() const;

  int input_ = -1;        // the terminal that is read from, whose modes are changed; -1: none
  int size_source_ = -1;  // the one whose size counts
  bool output_ = false;   // stdout is a terminal
  termios before_{};
  std::optional<termios> raw_;  // what we have set, and nobody has changed as far as we know
  bool task_runs_ = false;
  bool raw_for_task_ = false;  // raw_ hands over all keys
  std::optional<std::int64_t> next_look_;
  Fd slave_;
};

// A terminal that the task holds itself (--unsafe-tty), from its start to its end: what the task
// has made of the modes is put back with this object, unless the terminal is another's by then.
class LentTerminal {
 public:
  LentTerminal();  // the first terminal among descriptors 0-2, if there is one
  LentTerminal(const LentTerminal&) = delete;
  LentTerminal& operator=(const LentTerminal&) = delete;
  ~LentTerminal();

 private:
  int fd_ = -1;
  termios before_{};
};

}  // namespace mayfly::supervise
