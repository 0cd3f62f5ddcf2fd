#include "sys/process.hpp"

#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "sys/mounts.hpp"

namespace mayfly::sys {
namespace {

// Not in glibc 2.35 and older; the kernel's value never changes.
constexpr int kPPidfd = 3;

std::string call_on(const char* name, int number) {
  return std::string(name) + "(" + std::to_string(number) + ")";
}

}  // namespace

Result<Fd> pidfd_open(pid_t pid) {
  const long fd = ::syscall(SYS_pidfd_open, pid, 0);
  if (fd >= 0) return Fd(static_cast<int>(fd));
  return errno_error("watch process " + std::to_string(pid), call_on("pidfd_open", pid));
}

Result<bool> pidfd_send_signal(const Fd& pidfd, int signal) {
  if (::syscall(SYS_pidfd_send_signal, pidfd.get(), signal, nullptr, 0) == 0) return true;
  if (errno == ESRCH) return false;
  return errno_error("signal a process", "pidfd_send_signal(" + std::to_string(pidfd.get()) + ", " +
                                             std::to_string(signal) + ")");
}

Result<std::optional<Reaped>> waitid(const Fd& pidfd) {
  siginfo_t info{};
  Reaped reaped;
  // The kernel's call, unlike libc's, also tells the resources used.
  if (::syscall(SYS_waitid, kPPidfd, pidfd.get(), &info, WEXITED | WNOHANG, &reaped.usage) != 0) {
    return errno_error("reap a child", call_on("waitid", pidfd.get()));
  }
  if (info.si_pid == 0) return std::optional<Reaped>();
  reaped.code = info.si_code;
  reaped.status = info.si_status;
  return std::optional(reaped);
}

Result<void> sigprocmask_block(const sigset_t& signals) {
  if (::sigprocmask(SIG_BLOCK, &signals, nullptr) == 0) return {};
  return errno_error("block signals", "sigprocmask(SIG_BLOCK)");
}

Result<Fd> signalfd(const sigset_t& signals) {
  const int fd = ::signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
  if (fd >= 0) return Fd(fd);
  return errno_error("receive signals", "signalfd()");
}

Result<int> read_signal(const Fd& signals) {
  signalfd_siginfo info;
  const ssize_t got = ::read(signals.get(), &info, sizeof info);
  if (got == sizeof info) return static_cast<int>(info.ssi_signo);
  if (got < 0 && errno != EAGAIN && errno != EINTR) {
    return errno_error("receive a signal", call_on("read", signals.get()));
  }
  return 0;
}

Result<void> sigaction_set(int signal, Disposition disposition) {
  struct sigaction action {};
  action.sa_handler = disposition == Disposition::Ignore ? SIG_IGN : SIG_DFL;
  if (::sigaction(signal, &action, nullptr) == 0) return {};
  return errno_error("set what signal " + std::to_string(signal) + " does",
                     call_on("sigaction", signal));
}

bool is_ignored(int signal) {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

void stop_by_default(Stopped whom) {
  sigset_t stop;
  ::sigemptyset(&stop);
  ::sigaddset(&stop, SIGTSTP);
  // Blocked until all of the group have it, we among them; then it is ours at once.
  ::kill(whom == Stopped::Group ? 0 : ::getpid(), SIGTSTP);
  ::sigprocmask(SIG_UNBLOCK, &stop, nullptr);
  ::sigprocmask(SIG_BLOCK, &stop, nullptr);
}

std::optional<std::uint64_t> hard_limit(int resource) {
  rlimit64 now = {};
  const bool known = ::prlimit64(0, static_cast<__rlimit_resource>(resource), nullptr, &now) == 0;
  return known && now.rlim_max != RLIM64_INFINITY ? std::optional<std::uint64_t>(now.rlim_max)
                                                  : std::nullopt;
}

Result<void> getrandom(std::span<std::byte> bytes) {
  // Up to 256 bytes come whole or not at all.
  if (::getrandom(bytes.data(), bytes.size(), 0) >= 0) return {};
  return errno_error("draw random bytes", "getrandom(" + std::to_string(bytes.size()) + ")");
}

}  // namespace mayfly::sys
