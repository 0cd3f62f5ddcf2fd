// The parent half of the launch. The lists here and in child.cpp name the same steps in the same
// order: Network ← maps, Go → layer; trees, Image → mounts, loopback, root → Ready, Spawn → rights,
// init.
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "base/on_exit.hpp"
#include "isolate/cgroup.hpp"
#include "isolate/net.hpp"
#include "launch/child.hpp"
#include "launch/launch.hpp"
#include "launch/messages.hpp"
#include "launch/spawn_request.hpp"
#include "sys/entries.hpp"
#include "sys/mounts.hpp"
#include "sys/raw_calls.hpp"

namespace mayfly::launch {
namespace {

constexpr std::size_t kStackSize = 32 << 10;
constexpr std::size_t kGuardSize = 4096;

enum class CgroupEntry { ByClone, ByMove };

// How one attempt at a start is made.
struct Way {
  CgroupEntry entry = CgroupEntry::ByClone;
  isolate::mounts::Upper layer = isolate::mounts::Upper::InMemory;
};

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
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);  // not yet reaped, so the number is still its own
      while (::waitpid(pid_, nullptr, __WALL) < 0 && errno == EINTR) {
      }
    }
    remove_cgroup();
    // What cannot be removed is left to gc.
    static_cast<void>(isolate::disk_layer::remove(disk_layer_, 0));
  }

  Result<Sandbox> run(Way way) {
    const CgroupEntry entry = way.entry;
    TRY(prepare(way));
    TRY(clone(entry));
    TRY(let_go(entry));
    TRY(send_image());
    TRY(bring_up_loopback());
    // Now the child mounts, and what takes time and is not needed before is done here.
    if (cgroup_.directory) TRY(isolate::cgroup::forbid_below(cgroup_));
    const std::uint64_t ignored = ignored_signals();
    Sandbox sandbox = TRY(wait_for_ready());
    if (disk_layer_.directory) TRY(check_disk_layer(sandbox.layer));
    TRY(prepare_terminal(sandbox));
    TRY(send_spawn(ignored, sandbox.terminal_slave));
    sandbox.init_pid = std::exchange(pid_, 0);
    sandbox.init_pidfd = std::move(pidfd_);
    sandbox.socket = std::move(socket_);
    sandbox.disk_layer = std::exchange(disk_layer_, {});
    sandbox.cgroup = std::move(cgroup_.directory);
    sandbox.cgroup_path = std::exchange(cgroup_.path, {});
    sandbox.id_lock = std::move(range_.lock);
    sandbox.undumpable = plan_.ids.range && shares_memory();
    return sandbox;
  }

  // The child was killed before it said a word: on some kernels a child that is cloned into a
  // cgroup is killed at birth if cgroup.kill was ever used on one of the two cgroups.
  [[nodiscard]] bool born_dead() const { return born_dead_; }

  // The kernel's tmpfs cannot be a layer, which was found out before anything was mounted.
  [[nodiscard]] bool needs_disk() const { return needs_disk_; }

 private:
  Result<void> prepare(Way way) {
    p_.mounts = TRY(isolate::mounts::prepare(plan_, way.layer));
    p_.layer = isolate::layer::prepare(plan_.layer_bytes, plan_.layer_inodes);
    p_.landlock = isolate::landlock::prepare(plan_.landlock_abi);
    p_.hooks = TestHooks::from_environment();
    p_.user_ns = {.change = plan_.ids.range, .drop_groups = !plan_.ids.deny_setgroups};
    p_.terminal = {.wanted = plan_.terminal, .uid = plan_.ids.task_uid, .gid = plan_.ids.task_gid};
    p_.hand_out_proc = plan_.watch_processes;
    p_.hostname = plan_.hostname.c_str();
    p_.hostname_size = plan_.hostname.size();
    p_.rlimits = &plan_.rlimits;
    p_.ban_user_namespaces = plan_.ban_user_namespaces;
    p_.new_session_keyring = plan_.new_session_keyring;
    p_.capabilities = {.keep = plan_.keep_capabilities,
                       .change_ids = plan_.ids.range,
                       .init_uid = plan_.ids.init_uid,
                       .init_gid = plan_.ids.init_gid};
    if (plan_.ids.range) {
      range_ = TRY(isolate::user_ns::lock_range(request_.id_lock_file, plan_.ids.taken));
    }
    if (!plan_.cgroup_parent.empty()) {
      cgroup_ = TRY(isolate::cgroup::make(plan_.cgroup_parent, request_.id));
      TRY(isolate::cgroup::limit(cgroup_, plan_.cgroup));
      p_.unshare_cgroup = way.entry == CgroupEntry::ByMove;
    }
    if (way.layer == isolate::mounts::Upper::OnDisk) TRY(make_disk_layer());
    return open_descriptors();
  }

  Result<void> make_disk_layer() {
    isolate::disk_layer::Owner owner{.uid = ::geteuid(), .gid = ::getegid()};
    if (plan_.ids.range) owner = {.uid = range_.base, .gid = range_.base};
    disk_layer_ = TRY(isolate::disk_layer::make(plan_.layer_parent, request_.id, owner));
    p_.layer.on_disk = disk_layer_.path;
    return {};
  }

  // The child half went there by its path.
  Result<void> check_disk_layer(const Fd& entered) const {
    const sys::Identity made = TRY(sys::fstat(disk_layer_.directory, disk_layer_.path));
    const sys::Identity found = TRY(sys::fstat(entered, disk_layer_.path));
    if (made.device == found.device && made.inode == found.inode) return {};
    return internal_error("use " + disk_layer_.path + " as the layer: another one took its place");
  }

  Result<void> open_descriptors() {
    int pair[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
      return sys::errno_error("make the socket to init", "socketpair(SEQPACKET)");
    }
    socket_ = Fd(pair[0]);
    socket_child_ = Fd(pair[1]);
    supervisor_ = Fd(static_cast<int>(::syscall(__NR_pidfd_open, ::getpid(), 0)));
    if (!supervisor_) return sys::errno_error("open our own pidfd", "pidfd_open");
    p_.socket_parent = socket_.get();
    p_.socket_child = socket_child_.get();
    p_.supervisor = supervisor_.get();
    return {};
  }

  Result<void> clone(CgroupEntry entry) {
    const std::uint64_t stack = TRY(make_stack());
    int pidfd = -1;
    clone_args args = {};
    args.flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC |
                 CLONE_NEWUTS | CLONE_PIDFD;
    if (shares_memory()) args.flags |= CLONE_VM;
    const bool moved = entry == CgroupEntry::ByMove && cgroup_.directory;
    if (!moved) args.flags |= CLONE_NEWCGROUP;
    if (cgroup_.directory && !moved) {
      args.flags |= sys::kCloneIntoCgroup;
      args.cgroup = static_cast<std::uint64_t>(cgroup_.directory.get());
    }
    args.flags &= ~p_.hooks.shared_namespaces();
    args.pidfd = reinterpret_cast<std::uint64_t>(&pidfd);
    args.exit_signal = SIGCHLD;
    args.stack = stack;
    args.stack_size = kStackSize;
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::sigprocmask(SIG_BLOCK, &all, &before);
    const long pid = sys::raw::clone3_onto(args, child_half, &p_);
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    if (pid < 0) return refused(static_cast<int>(-pid));
    pid_ = static_cast<pid_t>(pid);
    pidfd_ = Fd(pidfd);
    socket_child_.reset();
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
    if (entry == CgroupEntry::ByMove && cgroup_.directory) {
      TRY(isolate::cgroup::add(cgroup_, pid_));
    }
    Result<void> mapped = isolate::user_ns::from_parent(plan_.ids, range_.base, pid_);
    if (p_.hooks.fails(Step::IdMap)) mapped = failure(Step::IdMap, EIO);
    if (!mapped) return cause_of(std::move(mapped).error());
    return send(Message{.kind = Kind::Go}, {});
  }

  Result<void> send_image() {
    Result<void> shifted = isolate::mounts::from_parent(p_.mounts, pid_);
    if (!shifted) return cause_of(std::move(shifted).error());
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
    return send(Message{.kind = Kind::Image}, descriptors);
  }

  // While the child mounts.
  Result<void> bring_up_loopback() {
    if (p_.hooks.skips(Step::Loopback)) return {};
    const Received received = TRY(expect(Kind::Network));
    const int error = isolate::net::loopback_up(received.descriptors[0].get());
    if (error == 0) return {};
    return step_error(plan_, Message{.step = Step::Loopback, .error = error});
  }

  // What the child half has made for us.
  Result<Sandbox> wait_for_ready() {
    Received received = TRY(expect(Kind::Ready));
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
    const std::span<const sock_filter> filter =
        p_.hooks.skips(Step::InitFilter) ? std::span<const sock_filter>() : request_.filter;
    const std::int64_t deadline_ns = p_.hooks.skips(Step::InitDeadline) ? 0 : request_.deadline_ns;
    const Fd spawn = TRY(make_spawn_request(
        plan_, {.filter = filter, .deadline_ns = deadline_ns, .ignored_signals = ignored_signals}));
    const auto chosen = [&](int fd) { return fd == kOwnTerminal ? terminal.get() : fd; };
    const TaskStdio& stdio = request_.stdio;
    const int descriptors[] = {spawn.get(), chosen(stdio.in), chosen(stdio.out), chosen(stdio.err)};
    return send(Message{.kind = Kind::Spawn}, descriptors);
  }

  Result<Received> expect(Kind kind) {
    Received received = TRY(receive());
    if (received.message.kind == Kind::Failed) return told(received.message);
    const bool with_descriptor = kind == Kind::Network || kind == Kind::Ready;
    if (received.message.kind != kind || (with_descriptor && !received.descriptors[0])) {
      return internal_error("start the sandbox: unexpected message");
    }
    return received;
  }

  Result<Received> receive() {
    pollfd watched[2] = {{.fd = socket_.get(), .events = POLLIN, .revents = 0},
                         {.fd = pidfd_.get(), .events = POLLIN, .revents = 0}};
    timespec limit = {.tv_sec = kSetupDeadlineNs / 1'000'000'000, .tv_nsec = 0};
    int ready = 0;
    do {
      ready = ::ppoll(watched, 2, &limit, nullptr);
    } while (ready < 0 && errno == EINTR);
    if (ready < 0) return sys::errno_error("wait for the sandbox", "ppoll");
    if (ready == 0) {
      return Error{.kind = ErrorKind::Setup,
                   .sys_errno = ETIMEDOUT,
                   .action = "build the sandbox within 30 seconds",
                   .call = {},
                   .hint = "a file system that does not answer (NFS, FUSE) is the usual cause"};
    }
    if ((watched[0].revents & POLLIN) == 0) return death();
    std::optional<Received> received = TRY(receive_message(socket_));
    // End of file says that exec closed the socket or that the child died: the pidfd knows.
    if (!received) return death();
    has_spoken_ = true;
    return std::move(*received);
  }

  Result<void> send(const Message& message, std::span<const int> descriptors) {
    if (TRY(send_message(socket_, message, descriptors))) return {};
    return last_words();
  }

  Error refused(int error) const {
    if (request_.facts != nullptr) {
      return refused_namespaces(error, host::look_around(*request_.facts));
    }
    return failure(Step::Clone, error);
  }

  // Why the child half gave up.
  Error told(const Message& failed) {
    needs_disk_ = failed.step == Step::LayerXattr && failed.error == EOPNOTSUPP &&
                  failed.index == isolate::layer::kInMemory;
    return step_error(plan_, failed);
  }

  [[nodiscard]] Error failure(Step step, int error) const {
    return step_error(plan_, Message{.step = step, .error = error});
  }

  // Why something could not be done to the child: it may be on its way out, and then has no /proc
  // files; why it ends counts. It waits for nothing but us, so it need not be given long.
  Error cause_of(Error error) {
    constexpr int kMilliseconds = 500;
    pollfd watched = {.fd = pidfd_.get(), .events = POLLIN, .revents = 0};
    return ::poll(&watched, 1, kMilliseconds) > 0 ? last_words() : std::move(error);
  }

  // What the child half said before it ended, if it could say anything.
  Error last_words() {
    Result<Received> last = receive();
    if (!last) return std::move(last).error();
    // Whatever else it said before is of no use now.
    return last->message.kind == Kind::Failed ? told(last->message) : last_words();
  }

  // The child ended without a word. Says how, and remembers a kill at birth.
  Error death() {
    siginfo_t info = {};
    const int answer = ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT);
    const bool killed = answer == 0 && info.si_code == CLD_KILLED && info.si_status == SIGKILL;
    if (killed && isolate::cgroup::oom_kills(cgroup_.directory).value_or(0) > 0)
      return memory_too_small(plan_);
    born_dead_ = killed && !has_spoken_ && cgroup_.directory;
    return Error{.kind = ErrorKind::Setup,
                 .sys_errno = 0,
                 .action = killed ? "build the sandbox: its first process was killed"
                                  : "build the sandbox: its first process ended without a word",
                 .call = {},
                 .hint = killed ? "the kernel may be out of memory" : ""};
  }

  void remove_cgroup() {
    if (cgroup_.path.empty()) return;
    // A failed removal leaves an empty directory, which the next start or gc removes.
    static_cast<void>(isolate::cgroup::remove(cgroup_.path));
  }

  const plan::Plan& plan_;
  const StartRequest& request_;
  Prepared p_;
  isolate::user_ns::Range range_;
  isolate::cgroup::Made cgroup_;
  Fd socket_, socket_child_, supervisor_, pidfd_;
  pid_t pid_ = 0;
  isolate::disk_layer::Made disk_layer_;
  bool born_dead_ = false;
  bool needs_disk_ = false;
  bool has_spoken_ = false;  // a message of the child's was received
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
          .born_dead = launch->born_dead(),
          .needs_disk = launch->needs_disk()};
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
