#include "supervise/endpoint.hpp"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <optional>
#include <string>
#include <utility>

namespace mayfly::supervise {
namespace {

// What a blocking pipe or device takes at once after poll said that it is writable.
constexpr std::size_t kSmallPiece = 512;
static_assert(kSmallPiece <= PIPE_BUF);

// The same pipe or terminal, with flags of our own. Empty where that is refused: a foreign owner
// (after su), a FIFO without a reader.
Fd open_anew(int fd, Direction direction) {
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  const int access = direction == Direction::Read ? O_RDONLY : O_WRONLY;
  return Fd(::open(path.c_str(), access | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

// A terminal's slave side. Opening a master anew would make another terminal.
bool is_terminal(int fd) {
  unsigned number = 0;
  return ::isatty(fd) == 1 && ::ioctl(fd, TIOCGPTN, &number) != 0;
}

bool in_background(int terminal) {
  const pid_t foreground = ::tcgetpgrp(terminal);
  return foreground >= 0 && foreground != ::getpgrp();
}

volatile sig_atomic_t foreign_ticks = 0;

void note_tick(int, siginfo_t* info, void*) {
  if (info->si_code != SI_TIMER) foreign_ticks = foreign_ticks + 1;
}

// While it lives, no call blocks for long: a timer interrupts it. What poll promised can be gone
// when the call is made, since others read the same terminal, and a write may need more room than
// there is. Its signal is one that queues: what somebody else sends of that number is not lost in a
// tick that waits, and comes to us after it.
class Interrupter {
 public:
  Interrupter() {
    sigset_t tick;
    ::sigemptyset(&tick);
    ::sigaddset(&tick, SIGRTMAX);
    struct sigaction action {};
    action.sa_sigaction = note_tick;
    action.sa_flags = SA_SIGINFO;  // and not SA_RESTART
    ::sigaction(SIGRTMAX, &action, &action_);
    ::sigprocmask(SIG_UNBLOCK, &tick, &mask_);
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGRTMAX;
    has_timer_ = ::timer_create(CLOCK_MONOTONIC, &event, &timer_) == 0;
    // Again and again: the first may come before the call.
    constexpr timespec kTick = {.tv_sec = 0, .tv_nsec = 20'000'000};
    constexpr itimerspec kTicks = {.it_interval = kTick, .it_value = kTick};
    if (has_timer_) ::timer_settime(timer_, 0, &kTicks, nullptr);
  }
  Interrupter(const Interrupter&) = delete;
  Interrupter& operator=(const Interrupter&) = delete;
  ~Interrupter() {
    const int error = errno;
    // A last tick is taken before the signal is what it was again.
    if (has_timer_) ::timer_delete(timer_);
    ::sigprocmask(SIG_SETMASK, &mask_, nullptr);
    ::sigaction(SIGRTMAX, &action_, nullptr);
    for (int left = std::exchange(foreign_ticks, 0); left > 0; --left)
      ::kill(::getpid(), SIGRTMAX);
    errno = error;
  }

 private:
  struct sigaction action_ {};
  sigset_t mask_{};
  timer_t timer_{};
  bool has_timer_ = false;
};

}  // namespace

Endpoint Endpoint::own(Fd fd) {
  Endpoint endpoint;
  endpoint.fd_ = fd.get();
  endpoint.owned_ = std::move(fd);
  return endpoint;
}

Endpoint Endpoint::borrow_as_it_is(int fd) {
  Endpoint endpoint;
  endpoint.fd_ = fd;
  endpoint.kind_ = Kind::Blocking;
  struct stat info {};
  if (::fstat(fd, &info) != 0) return endpoint;
  if (S_ISSOCK(info.st_mode)) endpoint.kind_ = Kind::Socket;
  const bool null = S_ISCHR(info.st_mode) && info.st_rdev == ::makedev(1, 3);
  if (S_ISREG(info.st_mode) || null) endpoint.kind_ = Kind::NonBlocking;
  return endpoint;
}

Endpoint Endpoint::borrow(int fd, Direction direction) {
  struct stat info {};
  if (::fstat(fd, &info) == 0 &&
      (S_ISFIFO(info.st_mode) || (S_ISCHR(info.st_mode) && is_terminal(fd)))) {
    if (Fd anew = open_anew(fd, direction)) return own(std::move(anew));
  }
  return borrow_as_it_is(fd);
}

void Endpoint::close() {
  owned_.reset();
  fd_ = -1;
}

bool Endpoint::ready(short event) const {
  pollfd one{.fd = fd_, .events = event, .revents = 0};
  return ::poll(&one, 1, 0) > 0;
}

Moved Endpoint::judge(long answer, int number) const {
  using enum Moved::Status;
  if (answer > 0) return {.status = Some, .bytes = static_cast<std::size_t>(answer), .error = 0};
  if (answer == 0) return {.status = End, .bytes = 0, .error = 0};
  if (number == EAGAIN || number == EINTR) return {};
  // A terminal: SIGTTIN is blocked, so a read in the background is an error; so is any use of one
  // that was hung up. The master's EIO says that nobody has the other side open.
  if (number == EIO && is_terminal(fd_) && in_background(fd_)) {
    return {.status = Paused, .bytes = 0, .error = 0};
  }
  if (number == EIO || number == EPIPE || number == ECONNRESET) {
    return {.status = End, .bytes = 0, .error = number};
  }
  return {.status = Failed, .bytes = 0, .error = number};
}

Moved Endpoint::read(std::span<char> into) {
  if (kind_ == Kind::Blocking && !ready(POLLIN) && !is_silent_at_end()) return {};
  std::optional<Interrupter> interrupter;
  if (kind_ == Kind::Blocking) interrupter.emplace();
  const ssize_t got = kind_ == Kind::Socket ? ::recv(fd_, into.data(), into.size(), MSG_DONTWAIT)
                                            : ::read(fd_, into.data(), into.size());
  return judge(got, errno);
}

Moved Endpoint::write(std::span<const char> from) {
  if (from.empty()) return {};
  if (kind_ == Kind::Blocking) {
    if (!ready(POLLOUT)) return {};
    from = from.first(std::min(from.size(), kSmallPiece));
  }
  std::optional<Interrupter> interrupter;
  if (kind_ == Kind::Blocking) interrupter.emplace();
  const ssize_t put = kind_ == Kind::Socket
                          ? ::send(fd_, from.data(), from.size(), MSG_DONTWAIT | MSG_NOSIGNAL)
                          : ::write(fd_, from.data(), from.size());
  return judge(put, errno);
}

bool Endpoint::is_silent_at_end() const {
  struct stat info {};
  if (kind_ != Kind::Blocking || ::fstat(fd_, &info) != 0 || !S_ISFIFO(info.st_mode)) return false;
  const int flags = ::fcntl(fd_, F_GETFL);
  return flags >= 0 && (flags & O_NONBLOCK) != 0;
}

std::size_t Endpoint::readable() const {
  int bytes = 0;
  return ::ioctl(fd_, FIONREAD, &bytes) == 0 && bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
}

}  // namespace mayfly::supervise
