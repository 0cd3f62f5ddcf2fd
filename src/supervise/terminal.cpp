#include "supervise/terminal.hpp"

#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "sys/event.hpp"
#include "sys/process.hpp"

namespace mayfly::supervise {
namespace {

constexpr std::int64_t kLookAgainNs = 200'000'000;
constexpr winsize kDefaultSize = {.ws_row = 24, .ws_col = 80, .ws_xpixel = 0, .ws_ypixel = 0};

// Signals that end a program by default and are not for the event loop: faults of our own, and
// timers and limits that were set before we were executed.
constexpr std::array kFatal = {SIGSEGV, SIGBUS,    SIGFPE,  SIGILL,  SIGABRT, SIGTRAP, SIGSYS,
                               SIGALRM, SIGVTALRM, SIGPROF, SIGXCPU, SIGIO,   SIGPWR,  SIGSTKFLT};

// For the handler, which may run at any moment: `armed` is written last and cleared first.
struct Rescue {
  volatile sig_atomic_t armed = 0;
  int fd = -1;
  termios modes{};
};
Rescue rescue;

void rescue_terminal(int signal) {
  if (rescue.armed != 0) ::tcsetattr(rescue.fd, TCSANOW, &rescue.modes);
  // SA_RESETHAND: the second time it does what it does by default.
  ::raise(signal);
}

void arm_rescue(int fd, const termios& modes) {
  rescue.fd = fd;
  rescue.modes = modes;
  if (rescue.armed != 0) return;
  rescue.armed = 1;
  for (const int signal : kFatal) {
    struct sigaction action {};
    if (::sigaction(signal, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) continue;
    action.sa_handler = rescue_terminal;
    action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_NODEFER;
    ::sigaction(signal, &action, nullptr);
  }
}

bool is_same(const termios& a, const termios& b) {
  return a.c_iflag == b.c_iflag && a.c_oflag == b.c_oflag && a.c_cflag == b.c_cflag &&
         a.c_lflag == b.c_lflag && std::memcmp(a.c_cc, b.c_cc, sizeof a.c_cc) == 0;
}

// A terminal that is not our controlling one has no foreground that we could be outside of.
bool is_in_foreground_of(int terminal) {
  const pid_t group = ::tcgetpgrp(terminal);
  return group < 0 || group == ::getpgrp();
}

termios made_raw(termios modes, bool output, bool signals) {
  modes.c_iflag |= IGNPAR;
  modes.c_iflag &=
      ~tcflag_t{ISTRIP | INLCR | IGNCR | ICRNL | IXON | IXANY | IXOFF | PARMRK | BRKINT | IGNBRK};
  modes.c_lflag &= ~tcflag_t{ICANON | ECHO | ECHOE | ECHOK | ECHONL | IEXTEN};
  if (!signals) modes.c_lflag &= ~tcflag_t{ISIG};
  // Where standard output goes elsewhere, standard error may still come here, line by line.
  if (output) modes.c_oflag &= ~tcflag_t{OPOST};
  modes.c_cc[VMIN] = 1;
  modes.c_cc[VTIME] = 0;
  return modes;
}

}  // namespace

Terminal::Terminal() {
  for (const int fd : {STDERR_FILENO, STDIN_FILENO, STDOUT_FILENO}) {
    if (::isatty(fd) == 1) size_source_ = fd;
  }
  output_ = size_source_ == STDOUT_FILENO;
  if (::tcgetattr(STDIN_FILENO, &before_) == 0) input_ = STDIN_FILENO;
}

launch::TerminalLook Terminal::look() const {
  launch::TerminalLook look;
  // In the background they are those of the shell, which may be reading a line of its own.
  if (input_ >= 0 && is_in_foreground_of(input_)) look.modes = before_;
  const bool known = size_source_ >= 0 && ::ioctl(size_source_, TIOCGWINSZ, &look.size) == 0;
  if (!known || look.size.ws_col == 0 || look.size.ws_row == 0) look.size = kDefaultSize;
  return look;
}

bool Terminal::is_raw() const {
  termios now{};
  return raw_ && ::tcgetattr(input_, &now) == 0 && is_same(now, *raw_);
}

// SIGTTOU is blocked, so that a change of modes from the background would be made, against the
// shell that has the terminal then: hence the look before.
void Terminal::enter() {
  next_look_.reset();
  follow_size();
  if (input_ < 0) return;
  const bool raw = is_raw();
  if (raw && raw_for_task_ == task_runs_) return;
  if (!raw) raw_.reset();
  if (!is_in_foreground_of(input_)) {
    next_look_ = sys::boottime_ns() + kLookAgainNs;
    return;
  }
  if (!raw && ::tcgetattr(input_, &before_) != 0) return;
  const termios wanted = made_raw(before_, output_, !task_runs_);
  arm_rescue(input_, before_);
  if (::tcsetattr(input_, TCSANOW, &wanted) != 0) return;
  raw_for_task_ = task_runs_;
  // As it has become: a terminal may not know all of it.
  termios now{};
  if (::tcgetattr(input_, &now) == 0) raw_ = now;
}

void Terminal::task_started() {
  task_runs_ = true;
  enter();
}

// Never waits for output to drain: a terminal whose user has stopped it would hold us.
void Terminal::leave() {
  next_look_.reset();
  if (is_raw()) ::tcsetattr(input_, TCSANOW, &before_);
  rescue.armed = 0;
  raw_.reset();
}

bool Terminal::follow_size() {
  winsize ours{};
  winsize its{};
  if (!slave_ || size_source_ < 0) return false;
  if (::ioctl(size_source_, TIOCGWINSZ, &ours) != 0 || ours.ws_col == 0) return false;
  if (::ioctl(slave_.get(), TIOCGWINSZ, &its) != 0) return false;
  const bool same = ours.ws_col == its.ws_col && ours.ws_row == its.ws_row &&
                    ours.ws_xpixel == its.ws_xpixel && ours.ws_ypixel == its.ws_ypixel;
  return !same && ::ioctl(slave_.get(), TIOCSWINSZ, &ours) == 0;
}

void Terminal::stop_job() {
  if (!sys::is_ignored(SIGTSTP)) sys::stop_by_default(sys::Stopped::Group);
}

LentTerminal::LentTerminal() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fd_ < 0 && ::tcgetattr(fd, &before_) == 0) fd_ = fd;
  }
  if (fd_ >= 0) arm_rescue(fd_, before_);
}

LentTerminal::~LentTerminal() {
  if (fd_ >= 0 && is_in_foreground_of(fd_)) ::tcsetattr(fd_, TCSANOW, &before_);
  rescue.armed = 0;
}

}  // namespace mayfly::supervise
