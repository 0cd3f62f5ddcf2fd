// Screen: a terminal for a program under test, and the user in front of it.
#pragma once

#include <termios.h>

#include <string>

#include "harness/process.hpp"

namespace harness {

class Screen {
 public:
  explicit Screen(unsigned short rows = 24, unsigned short columns = 80);

  // Starts the command in a session of its own, with this as its controlling terminal and its
  // descriptors 0-2.
  [[nodiscard]] Process start(Command& command) const;

  void type(const std::string& keys) const;
  void resize(unsigned short rows, unsigned short columns) const;
  // Waits until `text` is written, and forgets all up to it; the test fails if it does not come.
  void expect(const std::string& text);
  // What was written and not yet expected, up to now.
  [[nodiscard]] const std::string& rest();
  // Reads on until the process has ended.
  [[nodiscard]] Finished finish(Process process);
  [[nodiscard]] termios modes() const;
  // The user's window closes.
  void close();

 private:
  bool read(milliseconds wait);

  Fd master_, slave_;  // the second so that it stays as it is when the program has ended
  std::string written_;
};

[[nodiscard]] bool same_modes(const termios& a, const termios& b);

}  // namespace harness
