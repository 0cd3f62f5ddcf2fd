#include "fault/tracer.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <map>
#include <utility>

namespace fault {
namespace {

using harness::Clock;
using harness::Pipe;

const milliseconds kLongestRun = harness::paced(20'000);
const milliseconds kGoneWithin =
    harness::paced(5'000);  // one second is the promise, for an idle machine
constexpr int kSyscallStop = SIGTRAP | 0x80;
constexpr long kOptions = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                          PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;

[[noreturn]] void become(const Traced& traced) {
  const auto put = [](int number, const std::string& path, int flags) {
    const int file = ::open(path.c_str(), flags | O_CLOEXEC, 0644);
    if (file < 0 || ::dup2(file, number) != number) ::_exit(96);
  };
  put(0, "/dev/null", O_RDONLY);
  put(1, traced.out, O_WRONLY | O_CREAT | O_TRUNC);
  put(2, traced.err, O_WRONLY | O_CREAT | O_TRUNC);
  if (::chdir(traced.directory.c_str()) != 0) ::_exit(97);
  std::vector<char*> argv;
  for (const std::string& word : traced.argv)
    argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  ::execv(argv[0], argv.data());
  ::_exit(98);
}

// The caller: starts the program once it is traced itself, and waits for its end.
[[noreturn]] void call(const Traced& traced, int go) {
  char byte = 0;
  if (::read(go, &byte, 1) != 1) ::_exit(95);
  const pid_t pid = ::fork();
  if (pid == 0) become(traced);
  int status = 0;
  ::waitpid(pid, &status, 0);
  ::_exit(0);
}

// waitpid has no time limit: this interrupts it again and again.
class Ticks {
 public:
  Ticks() {
    struct sigaction action = {};
    action.sa_handler = [](int) {};
    ::sigaction(SIGALRM, &action, &before_);
    set(20'000);
  }
  Ticks(const Ticks&) = delete;
  Ticks& operator=(const Ticks&) = delete;
  ~Ticks() {
    set(0);
    ::sigaction(SIGALRM, &before_, nullptr);
  }

 private:
  static void set(suseconds_t interval) {
    const itimerval timer = {.it_interval = {0, interval}, .it_value = {0, interval}};
    ::setitimer(ITIMER_REAL, &timer, nullptr);
  }
  struct sigaction before_ = {};
};

class Tracer {
 public:
  Tracer(const Traced& traced, const Kill& kill) : kill_(kill) {
    Pipe go = harness::make_pipe();
    caller_ = ::fork();
    REQUIRE(caller_ >= 0);
    if (caller_ == 0) call(traced, go.read.get());
    known_[caller_] = {.role = Role::Caller};
    REQUIRE(::ptrace(PTRACE_SEIZE, caller_, nullptr, kOptions) == 0);
    REQUIRE(::write(go.write.get(), "g", 1) == 1);
  }

  Ending run() {
    const Ticks ticks;
    deadline_ = Clock::now() + kLongestRun;
    for (;;) {
      int status = 0;
      const pid_t pid = ::waitpid(-1, &status, __WALL);
      if (pid > 0 && WIFSTOPPED(status))
        stopped(pid, status);
      else if (pid > 0)
        ended(pid, status);
      else if (errno == ECHILD)
        break;
      if (Clock::now() > deadline_) give_up();
    }
    if (ending_.reached)
      ending_.gone_after = std::chrono::duration_cast<milliseconds>(Clock::now() - killed_);
    return std::move(ending_);
  }

 private:
  struct Tracee {
    Role role = Role::Task;
    bool has_role = true;  // false: it stopped before its parent told of it
    bool executed = false;
  };

  void stopped(pid_t pid, int status) {
    const auto [entry, is_new] = known_.try_emplace(pid, Tracee{.has_role = false});
    if (is_new && !ending_.reached) return;  // resumed when its parent tells whose child it is
    const int signal = WSTOPSIG(status);
    switch (status >> 16) {
      case PTRACE_EVENT_FORK:
      case PTRACE_EVENT_VFORK:
      case PTRACE_EVENT_CLONE:
        welcome_child_of(pid, entry->second.role);
        return resume(pid);
      case PTRACE_EVENT_EXEC:
        entry->second.executed = true;
        return resume(pid);
      case PTRACE_EVENT_STOP:
        if (signal == SIGTRAP) return resume(pid);
        ::ptrace(PTRACE_LISTEN, pid, nullptr, nullptr);  // stopped by a signal: it stays so
        return;
      default:
        if (signal != kSyscallStop) return resume(pid, signal);
        if (is_counted(entry->second)) count(pid, entry->second);
        if (!kill_.hold || !ending_.reached) resume(pid);
    }
  }

  void welcome_child_of(pid_t parent, Role role) {
    unsigned long child = 0;
    if (::ptrace(PTRACE_GETEVENTMSG, parent, nullptr, &child) != 0) return;
    const Role own = role == Role::Caller       ? Role::Supervisor
                     : role == Role::Supervisor ? Role::Init
                                                : Role::Task;
    const auto pid = static_cast<pid_t>(child);
    const auto [entry, is_new] = known_.try_emplace(pid, Tracee{});
    entry->second.role = own;
    const bool waits = !is_new && !std::exchange(entry->second.has_role, true);
    if (waits) resume(pid);
  }

  // A supervisor counts from its execve on: before it, it is this program.
  [[nodiscard]] bool is_counted(const Tracee& tracee) const {
    return !ending_.reached && tracee.has_role && tracee.role == kill_.counted &&
           (tracee.executed || tracee.role != Role::Supervisor);
  }

  void resume(pid_t pid, int signal = 0) {
    const auto request = is_counted(known_[pid]) ? PTRACE_SYSCALL : PTRACE_CONT;
    ::ptrace(request, pid, nullptr, static_cast<long>(signal));  // fails only if it was killed
  }

  void count(pid_t pid, const Tracee& tracee) {
    if (++stops_ + 1 < kill_.stop) return;
    // An exit does not tell its call: the entry before it does.
    __ptrace_syscall_info info = {};
    ::ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof info, &info);
    const bool entry = info.op == PTRACE_SYSCALL_INFO_ENTRY;
    if (entry) call_ = info.entry.nr;
    if (stops_ < kill_.stop) return;
    ending_.where =
        (entry ? "entry" : "exit") + std::string(" of system call ") + std::to_string(call_);
    ending_.after_exec = tracee.executed;
    strike(kill_.victim == kill_.counted ? pid : pid_of(kill_.victim));
  }

  // Of the caller or the supervisor: there is one.
  [[nodiscard]] pid_t pid_of(Role role) const {
    for (const auto& [pid, tracee] : known_)
      if (tracee.role == role) return pid;
    return caller_;
  }

  void strike(pid_t victim) {
    ending_.reached = true;
    killed_ = Clock::now();
    deadline_ = killed_ + kGoneWithin;
    ::kill(victim, kill_.signal);
    // Those that were born and not yet announced wait for nobody any more.
    for (auto& [other, known] : known_)
      if (!std::exchange(known.has_role, true)) resume(other);
  }

  void ended(pid_t pid, int status) {
    const auto found = known_.find(pid);
    if (found == known_.end()) return;
    if (found->second.role == Role::Supervisor) ending_.supervisor_status = status;
    known_.erase(found);
  }

  // Whoever is left is named and killed, once; then waited for.
  void give_up() {
    static constexpr const char* kNames[] = {"caller", "supervisor", "init", "task"};
    for (const auto& [pid, tracee] : known_) {
      ending_.survivors += std::string(kNames[static_cast<int>(tracee.role)]) + " ";
      ::kill(pid, SIGKILL);
    }
    deadline_ = Clock::now() + kLongestRun;
  }

  Kill kill_;
  pid_t caller_ = -1;
  std::map<pid_t, Tracee> known_;
  unsigned stops_ = 0;
  std::uint64_t call_ = 0;
  Clock::time_point deadline_, killed_;
  Ending ending_;
};

}  // namespace

Ending run_and_kill(const Traced& traced, const Kill& kill) {
  return Tracer(traced, kill).run();
}

}  // namespace fault
