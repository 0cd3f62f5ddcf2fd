// Attempts: namespaces and the limits that hold in them.
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/fd.hpp"
#include "host/attempts.hpp"
#include "sys/mounts.hpp"
#include "sys/raw_calls.hpp"

namespace mayfly::host::attempts {
namespace {

Finding unshared(unsigned long flag, std::string_view call) {
  const long answer = sys::raw::unshare(flag);
  return answer < 0 ? failed(answer, call) : found();
}

}  // namespace

// attempt() made it already.
Finding user_namespace(const HostFacts&) {
  return found();
}

Finding mount_namespace(const HostFacts&) {
  return unshared(CLONE_NEWNS, "unshare(CLONE_NEWNS)");
}

Finding ipc_namespace(const HostFacts&) {
  return unshared(CLONE_NEWIPC, "unshare(CLONE_NEWIPC)");
}

Finding cgroup_namespace(const HostFacts&) {
  return unshared(CLONE_NEWCGROUP, "unshare(CLONE_NEWCGROUP)");
}

Finding pid_namespace(const HostFacts&) {
  Finding made = unshared(CLONE_NEWPID, "unshare(CLONE_NEWPID)");
  if (!made.works) return made;
  const long pid = in_child([] { return static_cast<int>(::getpid()); });
  if (pid < 0) return failed(pid, "fork() in the new pid namespace");
  return pid == 1 ? found() : failed(0, "the first process of a pid namespace is not its pid 1");
}

Finding uts_namespace(const HostFacts&) {
  Finding made = unshared(CLONE_NEWUTS, "unshare(CLONE_NEWUTS)");
  if (!made.works) return made;
  const long named = sys::raw::sethostname("probe", 5);
  return named < 0 ? failed(named, "sethostname(\"probe\")") : found();
}

Finding net_namespace(const HostFacts&) {
  Finding made = unshared(CLONE_NEWNET, "unshare(CLONE_NEWNET)");
  if (!made.works) return made;
  const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return failed(-errno, "socket(AF_INET)");
  ifreq loopback = {};
  std::memcpy(loopback.ifr_name, "lo", 3);
  loopback.ifr_flags = IFF_UP;
  if (::ioctl(socket.get(), SIOCSIFFLAGS, &loopback) != 0) {
    return failed(-errno, "ioctl(SIOCSIFFLAGS, \"lo\", IFF_UP)");
  }
  return found();
}

Finding namespace_ban(const HostFacts&) {
  const auto banned = sys::write_file("/proc/sys/user/max_user_namespaces", "0");
  if (!banned) return failed(-banned.error().sys_errno, banned.error().call);
  const long nested = sys::raw::unshare(CLONE_NEWUSER);
  if (nested == -ENOSPC) return found();
  return failed(nested, "a user namespace could be made after max_user_namespaces = 0");
}

// Where the limit counts the namespace's own processes, two are few enough for one fork and too few
// for two. Where it counts all processes of the user on the host (before 5.14), the first fork
// fails already, or the limit says nothing about the sandbox.
Finding process_limit(const HostFacts& facts) {
  if (facts.uid == 0 && !facts.owns_all_ids) {
    return failed(0, "the kernel holds no process limit against the host's root");
  }
  const long limited = sys::raw::prlimit(RLIMIT_NPROC, 2, 2);
  if (limited < 0) return failed(limited, "prlimit(RLIMIT_NPROC, 2)");
  const pid_t first = ::fork();
  if (first < 0) return failed(-errno, "fork(): all processes of the user are counted");
  if (first == 0) {
    // Long enough for the second fork; attempt() kills the parent, and this one has it as parent.
    sys::raw::prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;)
      ::pause();
  }
  const pid_t second = ::fork();
  const int why = errno;
  if (second == 0) ::_exit(0);
  ::kill(first, SIGKILL);
  ::waitpid(first, nullptr, 0);
  if (second < 0) return why == EAGAIN ? found() : failed(-why, "fork()");
  ::waitpid(second, nullptr, 0);
  return failed(0, "a third process could be made under RLIMIT_NPROC 2");
}

}  // namespace mayfly::host::attempts
