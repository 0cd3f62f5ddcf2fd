// pid 1 of a sandbox: starts tasks on request, reaps, and holds the second key to the deadline.
//
// Threat: tasks are hostile and may share init's user id. What protects init: it is pid 1 with all
// signals at their default, so the kernel drops whatever signal a process inside sends it; it is
// not dumpable, so nobody without capabilities may trace it or read its memory; and the calls that
// cripple it without either (prlimit64, sched_set*, setpriority on pid 1) are refused by the
// tasks' filter, which init shares or, where a policy's filter does not allow init's own calls,
// which each task has loaded before its first instruction.
//
// Its end is the sandbox's end: the kernel kills every process of a pid namespace whose pid 1
// exits. So every doubt here is settled by exiting. init exits when the supervisor hangs up or dies
// (the socket, a pidfd and PDEATHSIG each say so), when its timer fires, when a message is not
// understood, and after the main task.
//
// Kernel: 5.14. Comes after: ids, namespaces, no_new_privs, an empty capability set. Does not stop:
// the freezing of its cgroup, which stops its timer too; that is what the supervisor's key is for.
#include <linux/prctl.h>
#include <sys/wait.h>

#include "init/channel.hpp"
#include "init/kernel.hpp"
#include "init/start.hpp"

namespace mayfly::init {
namespace {

using launch::Kind;
using launch::kInitSocket;
using launch::kInitSupervisor;
using launch::kMainSlot;
using launch::kMostSlots;
using launch::Message;
using launch::Step;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr int kMostReaped = 64;  // in one turn of the loop
constexpr std::uint64_t kChildSignals = 1ULL << (SIGCHLD - 1);

long checked(Step step, long result) noexcept {
  if (result < 0) fail(step, result);
  return result;
}

class Init {
 public:
  void start() noexcept;
  [[noreturn]] void serve() noexcept;

 private:
  void check_supervisor() noexcept;
  void occupy_stdio_numbers() noexcept;
  void arm(std::int64_t nanoseconds) noexcept;
  void obey() noexcept;
  void spawn(const Received& received) noexcept;
  void load_filter(bool asks) noexcept;
  void signal(const Message& message) noexcept;
  void conclude_start() noexcept;
  void reap() noexcept;
  void tell_stop() noexcept;
  void finish_lingering() noexcept;
  void bury(const siginfo_t& dead) noexcept;

  int timer_ = -1;
  int child_signals_ = -1;
  int pids_[kMostSlots] = {};  // 0: the slot is free. Until it is reaped, a pid is the task's own.
  bool has_filter_ = false;
  bool lingers_ = false;
  bool main_ended_ = false;
  bool has_more_dead_ = false;  // reap() stopped before the last
  bool tells_stops_ = false;    // of the main task
  bool may_tell_ = false;       // … and no stop was told since the last signal
  std::uint32_t last_signal_ = 0;
  Start start_;
};

void Init::start() noexcept {
  // Each of these was lost, or may have been, in the execve or in a change of ids before it.
  checked(Step::InitStart, call(__NR_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0));
  checked(Step::InitStart, call(__NR_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0));
  checked(Step::InitStart, call(__NR_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
  check_supervisor();  // it may have died before PDEATHSIG was set
  timer_ = static_cast<int>(checked(
      Step::InitDeadline, call(__NR_timerfd_create, CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)));
  arm(launch::kSetupDeadlineNs);
  call(__NR_prctl, PR_SET_NAME, arg("mayfly-init"), 0, 0, 0);
  // Out of the caller's process group: a SIGSTOP for that must not stop both keys. Not by setsid,
  // which costs a scheduling group where autogroup is on. EPERM: it leads a session already.
  call(__NR_setpgid, 0, 0);
  // SIGCHLD alone stays blocked: it is read from a descriptor. Any other that were blocked would
  // wait in a queue which tasks could fill; unblocked it is dropped, at its default or ignored. (A
  // handler there is none: execve has ended those.)
  checked(Step::InitStart, set_blocked_signals(kChildSignals));
  child_signals_ =
      static_cast<int>(checked(Step::InitStart, call(__NR_signalfd4, -1, arg(&kChildSignals),
                                                     kSignalSetSize, SFD_CLOEXEC | SFD_NONBLOCK)));
  occupy_stdio_numbers();
}

void Init::check_supervisor() noexcept {
  pollfd supervisor{.fd = kInitSupervisor, .events = POLLIN, .revents = 0};
  const timespec at_once{};
  checked(Step::InitStart, poll(&supervisor, 1, &at_once));
  if ((supervisor.revents & POLLNVAL) != 0) fail(Step::InitStart, -EBADF);
  if (supervisor.revents != 0) exit_group(launch::kInitOrphan);
}

// init is executed with 0-2 closed. Whatever took those numbers later would be in the way when a
// task's child puts its stdio there, so they are taken for good, here.
void Init::occupy_stdio_numbers() noexcept {
  for (;;) {
    const int number = static_cast<int>(
        checked(Step::InitStart, call(__NR_fcntl, kInitSupervisor, F_DUPFD_CLOEXEC, 0)));
    if (number <= 2) continue;
    close(number);
    return;
  }
}

// 0 disarms. The boot clock goes on while the machine sleeps.
void Init::arm(std::int64_t nanoseconds) noexcept {
  const itimerspec once{
      .it_interval = {},
      .it_value = {.tv_sec = nanoseconds / kSecond, .tv_nsec = nanoseconds % kSecond},
  };
  checked(Step::InitDeadline, call(__NR_timerfd_settime, timer_, 0, arg(&once), 0));
}

void Init::serve() noexcept {
  for (;;) {
    enum { kSocket, kSupervisor, kTimer, kChildren, kExecPipe, kCount };
    pollfd watched[kCount] = {
        {.fd = kInitSocket, .events = POLLIN, .revents = 0},
        {.fd = kInitSupervisor, .events = POLLIN, .revents = 0},
        {.fd = timer_, .events = POLLIN, .revents = 0},
        {.fd = child_signals_, .events = POLLIN, .revents = 0},
        {.fd = start_.exec_pipe(), .events = POLLIN, .revents = 0},  // -1 is passed over
    };
    const timespec at_once{};
    const long count = poll(watched, kCount, has_more_dead_ ? &at_once : nullptr);
    if (count == -EINTR) continue;
    checked(Step::InitStart, count);

    if (watched[kSupervisor].revents != 0) exit_group(launch::kInitOrphan);
    if ((watched[kSocket].revents & ~POLLIN) != 0) exit_group(launch::kInitOrphan);
    if (watched[kTimer].revents != 0) exit_group(launch::kInitDeadline);
    if (watched[kExecPipe].revents != 0) conclude_start();
    if (watched[kChildren].revents != 0 || has_more_dead_) reap();
    if (watched[kSocket].revents != 0) obey();
  }
}

void Init::obey() noexcept {
  Received received;
  receive(received);
  const Message& message = received.message;
  if (message.kind == Kind::Spawn) return spawn(received);
  if (received.descriptor_count != 0) refuse("descriptors");
  switch (message.kind) {
    case Kind::Signal:
      return signal(message);
    case Kind::Deadline:
      if (message.value < 0) refuse("deadline");
      return arm(message.value);
    default:
      refuse("kind");
  }
}

void Init::spawn(const Received& received) noexcept {
  const std::uint32_t slot = received.message.slot;
  if (slot >= kMostSlots || pids_[slot] != 0 || start_.is_running() ||
      (slot == kMainSlot && main_ended_))
    refuse("slot");
  const launch::SpawnHeader& header = start_.accept(received);
  arm(header.deadline_ns);
  auto filter = Start::Filter::ByTask;
  if ((header.flags & launch::kInitFilter) != 0) {
    if (!has_filter_) load_filter((header.flags & launch::kTellRefusals) != 0);
    has_filter_ = true;
    filter = Start::Filter::Inherited;
  }
  if (slot == kMainSlot) {
    lingers_ = (header.flags & launch::kLinger) != 0;
    tells_stops_ = (header.flags & launch::kForegroundJob) != 0;
    may_tell_ = tells_stops_;
  }
  if (start_.begin(filter))
    pids_[slot] = start_.pid();
  else if (slot == kMainSlot)
    exit_group(launch::kInitDone);
}

// The listener is the supervisor's alone: with it a task could answer for others.
void Init::load_filter(bool asks) noexcept {
  if (!asks) {
    checked(Step::InitFilter, start_.load_filter());
    return;
  }
  const auto listener = static_cast<int>(checked(Step::InitFilter, start_.load_asking_filter()));
  Message message;
  message.kind = Kind::Listener;
  send(message, listener);
  close(listener);
}

// A task that ended meanwhile, or left its group, is no failure: the supervisor's last resort is to
// kill init, which needs nobody's consent. Where the main process has ended, those that it left are
// asked.
void Init::signal(const Message& message) noexcept {
  if (message.slot >= kMostSlots) refuse("slot");
  if (message.value < 1 || message.value > kMostSignals) refuse("signal");
  if (message.slot == kMainSlot) {
    may_tell_ = tells_stops_;
    last_signal_ = message.index;
  }
  const int pid = pids_[message.slot];
  if (pid == 0) {
    if (message.slot == kMainSlot && main_ended_) call(__NR_kill, -1, message.value);
    return;
  }
  // No such group: the child has not come to setsid yet.
  if (call(__NR_kill, -pid, message.value) == -ESRCH) call(__NR_kill, pid, message.value);
}

void Init::conclude_start() noexcept {
  const std::uint32_t slot = start_.slot();
  if (start_.conclude()) return;
  pids_[slot] = 0;
  if (slot == kMainSlot) exit_group(launch::kInitDone);
  has_more_dead_ = true;  // it was reaped apart from the others, and may have been the last
}

// Everything that died, orphans too: they are pid 1's children. A number at a time: tasks that fork
// without end must not keep init from looking at its timer.
void Init::reap() noexcept {
  signalfd_siginfo told;
  call(__NR_read, child_signals_, arg(&told), sizeof told);
  if (may_tell_) tell_stop();
  for (int i = 0; i < kMostReaped; ++i) {
    siginfo_t dead;
    dead.si_pid = 0;
    const long result = call(__NR_waitid, P_ALL, 0, arg(&dead), WEXITED | WNOHANG);
    has_more_dead_ = result >= 0 && dead.si_pid != 0;
    if (result == -ECHILD) return finish_lingering();
    checked(Step::InitStart, result);
    if (!has_more_dead_) return;
    bury(dead);
  }
}

// Told once and not again before a signal came, which is what the supervisor answers with: a task
// that stops and continues without end must not fill the socket.
void Init::tell_stop() noexcept {
  const int pid = pids_[kMainSlot];
  if (pid == 0) return;
  siginfo_t stopped;
  stopped.si_pid = 0;
  const long result = call(__NR_waitid, P_PID, pid, arg(&stopped), WSTOPPED | WNOHANG);
  if (result < 0 || stopped.si_pid == 0) return;
  may_tell_ = false;
  Message message;
  message.kind = Kind::Stopped;
  message.index = last_signal_;
  message.value = stopped.si_status;
  send(message);
}

void Init::finish_lingering() noexcept {
  if (!main_ended_ || start_.is_running()) return;
  Message message;
  message.kind = Kind::Drained;
  send(message);
  exit_group(launch::kInitDone);
}

void Init::bury(const siginfo_t& dead) noexcept {
  for (std::uint32_t slot = 0; slot < kMostSlots; ++slot) {
    if (pids_[slot] != dead.si_pid) continue;
    // Executed and dead between two looks at its pipe: first things first.
    if (start_.is_running() && start_.slot() == slot) conclude_start();
    pids_[slot] = 0;
    Message message;
    message.kind = Kind::Exited;
    message.slot = slot;
    message.index = static_cast<std::uint32_t>(dead.si_code);
    message.value = dead.si_status;
    send(message);
    if (slot != kMainSlot) return;
    if (!lingers_) exit_group(launch::kInitDone);
    main_ended_ = true;
    return;
  }
}

}  // namespace
}  // namespace mayfly::init

extern "C" [[noreturn]] void init_main() noexcept {
  mayfly::init::Init init;
  init.start();
  init.serve();
}
