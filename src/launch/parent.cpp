// The parent half of the launch. The lists here and in child.cpp name the same steps in the same
// order: Network ← maps, Go → layer; trees, Image → mounts, loopback, root → Ready, Spawn → rights,
// init.
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <memory>
#include <utility>

#include "isolate/cgroup.hpp"
#include "isolate/net.hpp"
#include "launch/child.hpp"
#include "launch/dialogue.hpp"
#include "launch/launch.hpp"
#include "launch/materials.hpp"
#include "launch/spawn_request.hpp"
#include "sys/mounts.hpp"
#include "sys/raw_calls.hpp"

namespace mayfly::launch {
namespace {

constexpr std::size_t kStackSize = 32 << 10;
constexpr std::size_t kGuardSize = 4096;

// The lowest byte of the child half's stack, with a page below it that no one may touch. It is
// never given back: telling every processor of an unmapping costs more than its pages.
Result<std::uint64_t> make_stack() {
  void* memory = ::mmap(nullptr, kStackSize + kGuardSize, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) return sys::errno_error("make a stack", "mmap");
  if (::mprotect(memory, kGuardSize, PROT_NONE) != 0) {
    return sys::errno_error("guard a stack", "mprotect");
  }
  return reinterpret_cast<std::uint64_t>(memory) + kGuardSize;
}

// One attempt at a start. Its destructor undoes what is not handed over: kills and reaps the child,
// removes the cgroup; only then the memory that the child reads goes.
class Launch {
 public:
  Launch(const plan::Plan& plan, const StartRequest& request) : plan_(plan), request_(request) {}
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;

  ~Launch() {
    if (made_.child.pid > 0) {
      ::kill(made_.child.pid, SIGKILL);  // not yet reaped, so the number is still its own
      while (::waitpid(made_.child.pid, nullptr, __WALL) < 0 && errno == EINTR) {
      }
    }
    discard(made_);
  }

  Result<Sandbox> run(Way way) {
    const CgroupEntry entry = way.entry;
    TRY(prepare(plan_, request_, way, made_));
    TRY(clone(entry));
    TRY(let_go(entry));
    TRY(send_image());
    TRY(bring_up_loopback());
    // Now the child mounts, and what takes time and is not needed before is done here.
    if (made_.cgroup.directory) TRY(isolate::cgroup::forbid_below(made_.cgroup));
    const std::uint64_t ignored = ignored_signals();
    Sandbox sandbox = TRY(wait_for_ready());
    if (made_.disk_layer.directory) TRY(check_disk_layer(made_.disk_layer, sandbox.layer));
    TRY(prepare_terminal(sandbox));
    TRY(send_spawn(ignored, sandbox.terminal_slave));
    sandbox.init_pid = std::exchange(made_.child.pid, 0);
    sandbox.init_pidfd = std::move(made_.child.pidfd);
    sandbox.socket = std::move(made_.child.socket);
    sandbox.disk_layer = std::exchange(made_.disk_layer, {});
    sandbox.cgroup = std::move(made_.cgroup.directory);
    sandbox.cgroup_path = std::exchange(made_.cgroup.path, {});
    sandbox.id_lock = std::move(made_.range.lock);
    sandbox.undumpable = plan_.ids.range && shares_memory();
    return sandbox;
  }

  [[nodiscard]] const Dialogue& dialogue() const { return talk_; }

 private:
  Result<void> clone(CgroupEntry entry) {
    const std::uint64_t stack = TRY(make_stack());
    int pidfd = -1;
    clone_args args = {};
    args.flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC |
                 CLONE_NEWUTS | CLONE_PIDFD;
    if (shares_memory()) args.flags |= CLONE_VM;
    const bool moved = entry == CgroupEntry::ByMove && made_.cgroup.directory;
    if (!moved) args.flags |= CLONE_NEWCGROUP;
    if (made_.cgroup.directory && !moved) {
      args.flags |= sys::kCloneIntoCgroup;
      args.cgroup = static_cast<std::uint64_t>(made_.cgroup.directory.get());
    }
    args.flags &= ~made_.prepared.hooks.shared_namespaces();
    args.pidfd = reinterpret_cast<std::uint64_t>(&pidfd);
    args.exit_signal = SIGCHLD;
    args.stack = stack;
    args.stack_size = kStackSize;
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::sigprocmask(SIG_BLOCK, &all, &before);
    const long pid = sys::raw::clone3_onto(args, child_half, &made_.prepared);
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    if (pid < 0) return refused(static_cast<int>(-pid));
    made_.child.pid = static_cast<pid_t>(pid);
    made_.child.pidfd = Fd(pidfd);
    made_.socket_child.reset();
    return {};
  }

  // Sharing our memory costs nothing; copying it costs page faults. But the kernel's OOM killer
  // kills everybody who shares the memory of the one that it has chosen: with a memory limit that
  // the set-up itself could reach, that would be us.
  [[nodiscard]] bool shares_memory() const {
#ifdef MAYFLY_SANITIZE
    return false;
#else
    return !plan_.cgroup.needed.has(host::Controller::Memory);
#endif
  }

  Result<void> let_go(CgroupEntry entry) {
    if (entry == CgroupEntry::ByMove && made_.cgroup.directory) {
      TRY(isolate::cgroup::add(made_.cgroup, made_.child.pid));
    }
    Result<void> mapped =
        isolate::user_ns::from_parent(plan_.ids, made_.range.base, made_.child.pid);
    if (made_.prepared.hooks.fails(Step::IdMap)) mapped = failure(Step::IdMap, EIO);
    if (!mapped) return talk_.cause_of(std::move(mapped).error());
    return talk_.send(Message{.kind = Kind::Go}, {});
  }

  Result<void> send_image() {
    Result<void> shifted = isolate::mounts::from_parent(made_.prepared.mounts, made_.child.pid);
    if (!shifted) return talk_.cause_of(std::move(shifted).error());
    const auto* bytes = reinterpret_cast<const char*>(request_.init_image.data());
    const Fd image = TRY(sys::sealed_memfd("mayfly-init", {bytes, request_.init_image.size()},
                                           sys::Executable::Yes));
    // Where init's ids are nobody's outside, its image is one that it may execute and not read: its
    // memory then belongs to the initial user namespace, whose capabilities nobody inside has, and
    // it is never dumpable. An ordinary caller could not join such a sandbox later.
    if (plan_.ids.range && ::fchmod(image.get(), 0111) != 0) {
      return sys::errno_error("make init's image unreadable", "fchmod(memfd, 0111)");
    }
    const int descriptors[] = {image.get()};
    return talk_.send(Message{.kind = Kind::Image}, descriptors);
  }

  // While the child mounts.
  Result<void> bring_up_loopback() {
    if (made_.prepared.hooks.skips(Step::Loopback)) return {};
    const Received received = TRY(talk_.expect(Kind::Network));
    const int error = isolate::net::loopback_up(received.descriptors[0].get());
    if (error == 0) return {};
    return step_error(plan_, Message{.step = Step::Loopback, .error = error});
  }

  // What the child half has made for us.
  Result<Sandbox> wait_for_ready() {
    Received received = TRY(talk_.expect(Kind::Ready));
    Sandbox sandbox;
    auto next = received.descriptors.begin();
    sandbox.layer = std::move(*next++);
    if (plan_.terminal) {
      sandbox.terminal_master = std::move(*next++);
      sandbox.terminal_slave = std::move(*next++);
    }
    if (plan_.watch_processes) sandbox.proc = std::move(*next++);
    const bool complete = !plan_.terminal || (sandbox.terminal_master && sandbox.terminal_slave);
    if (complete && (!plan_.watch_processes || sandbox.proc)) return sandbox;
    return internal_error("start the sandbox: a descriptor is missing");
  }

  Result<void> prepare_terminal(const Sandbox& sandbox) {
    if (!plan_.terminal) return {};
    const int slave = sandbox.terminal_slave.get();
    const TerminalLook& look = request_.terminal;
    if (look.modes && ::tcsetattr(slave, TCSANOW, &*look.modes) != 0) {
      return sys::errno_error("set the modes of the task's terminal", "tcsetattr");
    }
    if (::ioctl(slave, TIOCSWINSZ, &look.size) != 0) {
      return sys::errno_error("set the size of the task's terminal", "ioctl(TIOCSWINSZ)");
    }
    return {};
  }

  // Those that the child has inherited ignored, as execve leaves them: from our caller, and SIGPIPE
  // from us.
  static std::uint64_t ignored_signals() {
    std::uint64_t mask = 0;
    for (int signal = 1; signal <= 64; ++signal) {
      // The kernel's structure, whose first word is the handler: libc hides two of the signals.
      void (*now[4])(int) = {};
      const long answer = ::syscall(__NR_rt_sigaction, signal, nullptr, now, sizeof(std::uint64_t));
      if (answer == 0 && now[0] == SIG_IGN) mask |= std::uint64_t{1} << (signal - 1);
    }
    return mask;
  }

  Result<void> send_spawn(std::uint64_t ignored_signals, const Fd& terminal) {
    const std::span<const sock_filter> filter = made_.prepared.hooks.skips(Step::InitFilter)
                                                    ? std::span<const sock_filter>()
                                                    : request_.filter;
    const std::int64_t deadline_ns =
        made_.prepared.hooks.skips(Step::InitDeadline) ? 0 : request_.deadline_ns;
    const Fd spawn = TRY(make_spawn_request(
        plan_, {.filter = filter, .deadline_ns = deadline_ns, .ignored_signals = ignored_signals}));
    const auto chosen = [&](int fd) { return fd == kOwnTerminal ? terminal.get() : fd; };
    const TaskStdio& stdio = request_.stdio;
    const int descriptors[] = {spawn.get(), chosen(stdio.in), chosen(stdio.out), chosen(stdio.err)};
    return talk_.send(Message{.kind = Kind::Spawn}, descriptors);
  }

  [[nodiscard]] Error failure(Step step, int error) const {
    return step_error(plan_, Message{.step = step, .error = error});
  }

  Error refused(int error) const {
    if (request_.facts != nullptr) {
      return refused_namespaces(error, host::look_around(*request_.facts));
    }
    return failure(Step::Clone, error);
  }

  const plan::Plan& plan_;
  const StartRequest& request_;
  Materials made_;
  Dialogue talk_{plan_, made_.child, made_.cgroup.directory, made_.disk_layer,
                 request_.is_cancelled};
};

struct Attempt {
  Result<Sandbox> sandbox;
  bool born_dead = false;
  bool needs_disk = false;
};

Attempt attempt(const plan::Plan& plan, const StartRequest& request, Way way) {
  const auto launch = std::make_shared<Launch>(plan, request);
  Result<Sandbox> sandbox = launch->run(way);
  if (sandbox) sandbox->launch = launch;
  return {.sandbox = std::move(sandbox),
          .born_dead = launch->dialogue().born_dead(),
          .needs_disk = launch->dialogue().needs_disk()};
}

}  // namespace

// What a kernel cannot do is found out by trying: each of the two second ways is taken once.
Result<Sandbox> start(const plan::Plan& plan, const StartRequest& request) {
  using isolate::mounts::Upper;
  Way way{.layer = plan.layer == spec::LayerKind::Disk ? Upper::OnDisk : Upper::InMemory};
  for (;;) {
    Attempt made = attempt(plan, request, way);
    if (made.born_dead && way.entry == CgroupEntry::ByClone) {
      way.entry = CgroupEntry::ByMove;
    } else if (made.needs_disk && way.layer == Upper::InMemory &&
               plan.layer == spec::LayerKind::Auto) {
      way.layer = Upper::OnDisk;
    } else {
      return std::move(made.sandbox);
    }
  }
}

void settle(Sandbox& sandbox) {
  if (!sandbox.launch) return;
  sandbox.launch.reset();
  if (sandbox.undumpable) ::prctl(PR_SET_DUMPABLE, 1);
}

}  // namespace mayfly::launch
