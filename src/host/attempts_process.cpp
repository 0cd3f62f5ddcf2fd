// Attempts: Landlock, seccomp and pidfds. Each one binds its own process and then breaks the rule.
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>

#include "base/fd.hpp"
#include "host/attempts.hpp"
#include "sys/raw_calls.hpp"

namespace mayfly::host::attempts {
namespace {

// Loads a filter that answers getppid with `action` and allows all else. Returns seccomp(2)'s
// answer: a listener where the flags ask for one.
long load_filter(unsigned action, unsigned flags) {
  const std::array<sock_filter, 4> program = {{
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, __NR_getppid},
      {BPF_RET | BPF_K, 0, 0, action},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
  }};
  const sock_fprog filter = {.len = program.size(),
                             .filter = const_cast<sock_filter*>(program.data())};
  const long locked = sys::raw::prctl(PR_SET_NO_NEW_PRIVS, 1);
  if (locked < 0) return locked;
  return sys::raw::call(__NR_seccomp, SECCOMP_SET_MODE_FILTER, flags, sys::raw::arg(&filter));
}

constexpr int kAnswer = 4242;  // what the supervisor says getppid returns

}  // namespace

Finding landlock(const HostFacts& facts) {
  const sys::LandlockRulesetAttr attributes = {.handled_access_fs = sys::kLandlockFsRightsAbi1};
  long answer = sys::raw::landlock_create_ruleset(attributes);
  if (answer < 0) return failed(answer, "landlock_create_ruleset()");
  const Fd ruleset(static_cast<int>(answer));
  answer = sys::raw::prctl(PR_SET_NO_NEW_PRIVS, 1);
  if (answer < 0) return failed(answer, "prctl(PR_SET_NO_NEW_PRIVS)");
  answer = sys::raw::landlock_restrict_self(ruleset.get());
  if (answer < 0) return failed(answer, "landlock_restrict_self()");
  answer = sys::raw::openat(AT_FDCWD, "/", O_RDONLY | O_DIRECTORY);
  if (answer != -EACCES) return failed(answer, "a directory outside all rules could be opened");
  return found("ABI " + std::to_string(facts.landlock_abi));
}

Finding seccomp_filter(const HostFacts&) {
  const long loaded = load_filter(SECCOMP_RET_ERRNO | ENOTTY, 0);
  if (loaded < 0) return failed(loaded, "seccomp(SECCOMP_SET_MODE_FILTER)");
  const long answer = sys::raw::call(__NR_getppid);
  return answer == -ENOTTY ? found() : failed(answer, "a call that the filter denies was made");
}

Finding seccomp_notify(const HostFacts&) {
  const long loaded = load_filter(SECCOMP_RET_USER_NOTIF, SECCOMP_FILTER_FLAG_NEW_LISTENER);
  if (loaded < 0) return failed(loaded, "seccomp(SECCOMP_FILTER_FLAG_NEW_LISTENER)");
  const Fd listener(static_cast<int>(loaded));
  const pid_t caller = ::fork();
  if (caller < 0) return failed(-errno, "fork()");
  if (caller == 0) {
    sys::raw::prctl(PR_SET_PDEATHSIG, SIGKILL);
    sys::raw::exit_group(sys::raw::call(__NR_getppid) == kAnswer ? 0 : 1);
  }
  seccomp_notif request = {};
  if (::ioctl(listener.get(), SECCOMP_IOCTL_NOTIF_RECV, &request) != 0) {
    return failed(-errno, "ioctl(SECCOMP_IOCTL_NOTIF_RECV)");
  }
  seccomp_notif_resp response = {.id = request.id, .val = kAnswer, .error = 0, .flags = 0};
  if (::ioctl(listener.get(), SECCOMP_IOCTL_NOTIF_SEND, &response) != 0) {
    return failed(-errno, "ioctl(SECCOMP_IOCTL_NOTIF_SEND)");
  }
  int status = 0;
  ::waitpid(caller, &status, 0);
  const bool answered = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return answered ? found() : failed(0, "the answer did not reach the caller");
}

// clone3 with CLONE_PIDFD, and the pidfd becomes readable when the child ends.
Finding pidfd(const HostFacts&) {
  int child_fd = -1;
  clone_args args = {};
  args.flags = CLONE_PIDFD;
  args.pidfd = reinterpret_cast<std::uint64_t>(&child_fd);
  args.exit_signal = SIGCHLD;
  const long pid = sys::raw::call(__NR_clone3, sys::raw::arg(&args), sizeof args);
  if (pid < 0) return failed(pid, "clone3(CLONE_PIDFD)");
  if (pid == 0) sys::raw::exit_group(7);
  const Fd child(child_fd);
  pollfd ready = {.fd = child.get(), .events = POLLIN, .revents = 0};
  if (::poll(&ready, 1, 5000) != 1) return failed(-ETIMEDOUT, "poll(pidfd)");
  siginfo_t info = {};
  if (::waitid(P_PIDFD, static_cast<id_t>(child.get()), &info, WEXITED) != 0) {
    return failed(-errno, "waitid(P_PIDFD)");
  }
  return info.si_status == 7 ? found() : failed(0, "waitid(P_PIDFD) told a wrong exit code");
}

}  // namespace mayfly::host::attempts
