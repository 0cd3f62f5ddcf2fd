// Nothing outlives its sandbox: whatever ends it, and with each of init's keys alone.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness.hpp"

using namespace mayfly;
using namespace mayfly::init::test;

namespace {

constexpr std::int64_t kMillisecond = 1'000'000;

Spawn stubborn(std::int64_t deadline_ns) {
  Spawn request;
  request.argv = {target(), "stubborn"};
  request.header.deadline_ns = deadline_ns;
  return request;
}

// A process that waits to be killed.
class Bystander {
 public:
  Bystander() : pid_(fork()) {
    REQUIRE(pid_ >= 0);
    while (pid_ == 0)
      pause();
  }
  Bystander(const Bystander&) = delete;
  Bystander& operator=(const Bystander&) = delete;
  ~Bystander() { end(); }
  [[nodiscard]] pid_t pid() const { return pid_; }
  void end() {
    if (pid_ == 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

 private:
  pid_t pid_;
};

// A supervisor in a process of its own: starts a sandbox with stubborn tasks, then does as told.
// What it leaves is adopted by this process.
struct OtherSupervisor {
  enum class Then { Wait, Stop };
  pid_t pid = 0;
  pid_t init_pid = 0;
  Fd output;  // of the tasks: at its end when all are gone

  OtherSupervisor(Then then, std::int64_t deadline_ns, pid_t watched_by_init = 0) {
    Pipe numbers = make_pipe();
    Pipe task = make_pipe();
    pid = fork();
    REQUIRE(pid >= 0);
    if (pid == 0) {
      Sandbox sandbox({.supervisor = watched_by_init});
      sandbox.wait_until_ready();
      const Fd memfd = sealed_memfd(stubborn(0).bytes());
      const Fd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
      Message message;
      message.kind = Kind::Spawn;
      const int end = task.write.get();
      sandbox.send(message, {memfd.get(), null.get(), end, end});
      sandbox.expect(Kind::Started);
      task.write.reset();
      if (read_line(task.read) != "stubborn\n") _exit(1);
      task.read.reset();
      if (deadline_ns != 0) sandbox.set_deadline(deadline_ns);
      const pid_t number = sandbox.pid();
      if (write(numbers.write.get(), &number, sizeof number) != sizeof number) _exit(1);
      if (then == Then::Stop) raise(SIGSTOP);
      for (;;)
        pause();
    }
    numbers.write.reset();
    REQUIRE(is_readable(numbers.read));
    REQUIRE(read(numbers.read.get(), &init_pid, sizeof init_pid) == sizeof init_pid);
    output = std::move(task.read);
  }
  OtherSupervisor(const OtherSupervisor&) = delete;
  OtherSupervisor& operator=(const OtherSupervisor&) = delete;
  ~OtherSupervisor() {
    end();
    if (init_pid != 0) (void)wait_init();
  }

  void end() {
    if (pid == 0) return;
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    pid = 0;
  }

  // After end(): init's wait status.
  int wait_init() {
    int status = -1;
    CHECK_MESSAGE(is_readable(open_pidfd(init_pid)), "init outlives its supervisor");
    kill(init_pid, SIGKILL);
    CHECK(waitpid(init_pid, &status, 0) == init_pid);
    init_pid = 0;
    return status;
  }
};

}  // namespace

TEST_CASE("init's own key turns: stubborn, detached and stopped descendants are gone") {
  Sandbox sandbox;
  sandbox.wait_until_ready();
  const Fd output = sandbox.spawn(stubborn(0));
  sandbox.expect(Kind::Started);
  CHECK(read_line(output) == "stubborn\n");
  sandbox.set_deadline(100 * kMillisecond);
  CHECK(read_all(output).empty());  // its end: nobody holds the pipe any more
  CHECK(sandbox.wait() == launch::kInitDeadline);
}

TEST_CASE("init's own key turns while the supervisor is stopped") {
  OtherSupervisor other(OtherSupervisor::Then::Stop, 300 * kMillisecond);
  const Fd init = open_pidfd(other.init_pid);
  CHECK(read_all(other.output).empty());
  CHECK(is_readable(init));
  int status = 0;
  REQUIRE(waitpid(other.pid, &status, WUNTRACED) == other.pid);
  CHECK(WIFSTOPPED(status));
}

TEST_CASE("the supervisor is killed: everything is gone") {
  OtherSupervisor other(OtherSupervisor::Then::Wait, 0);
  other.end();
  CHECK(read_all(other.output).empty());
}

TEST_CASE("each way of learning of the supervisor's end is enough by itself") {
  SUBCASE("the pidfd") {
    Bystander watched;
    Sandbox sandbox({.supervisor = watched.pid()});
    sandbox.wait_until_ready();
    const Fd output = sandbox.spawn(stubborn(0));
    CHECK(read_line(output) == "stubborn\n");
    watched.end();
    CHECK(read_all(output).empty());
    CHECK(sandbox.wait() == launch::kInitOrphan);
  }
  SUBCASE("the socket") {
    Sandbox sandbox;
    sandbox.wait_until_ready();
    const Fd output = sandbox.spawn(stubborn(0));
    CHECK(read_line(output) == "stubborn\n");
    sandbox.hang_up();
    CHECK(read_all(output).empty());
    CHECK(sandbox.wait() == launch::kInitOrphan);
  }
  SUBCASE("the parent's death, with init stopped so that it cannot read anything") {
    OtherSupervisor other(OtherSupervisor::Then::Wait, 0, getpid());
    REQUIRE(kill(other.init_pid, SIGSTOP) == 0);
    other.end();
    CHECK(read_all(other.output).empty());
    const int status = other.wait_init();
    CHECK(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == SIGKILL);
  }
}

TEST_CASE("a supervisor that is dead before init looks: init ends and says nothing") {
  const pid_t dead = fork();
  if (dead == 0) _exit(0);
  REQUIRE(dead > 0);
  REQUIRE(waitid(P_PID, static_cast<id_t>(dead), nullptr, WEXITED | WNOWAIT) == 0);
  Sandbox sandbox({.supervisor = dead});
  CHECK(sandbox.is_at_end());
  CHECK(sandbox.wait() == launch::kInitOrphan);
  waitpid(dead, nullptr, 0);
}

TEST_CASE("without a supervisor to watch init does not start") {
  Sandbox sandbox({.close_supervisor = true});
  const Message failed = sandbox.expect(Kind::Failed);
  CHECK(failed.step == Step::InitStart);
  CHECK(failed.error == EBADF);
  CHECK(sandbox.wait() == launch::kInitBroken);
}

TEST_CASE("a new deadline replaces the old: none, later or earlier") {
  Sandbox sandbox;
  sandbox.wait_until_ready();
  const Fd output = sandbox.spawn(stubborn(3000 * kMillisecond));
  sandbox.set_deadline(0);
  CHECK(read_line(output) == "stubborn\n");
  CHECK_FALSE(is_readable(sandbox.pidfd(), 3500));
  sandbox.set_deadline(3'600'000 * kMillisecond);
  CHECK_FALSE(is_readable(sandbox.pidfd(), 100));
  sandbox.set_deadline(1);
  CHECK(sandbox.wait() == launch::kInitDeadline);
}

TEST_CASE("the deadline in a spawn request is init's key by itself") {
  Sandbox sandbox;
  sandbox.wait_until_ready();
  const Fd output = sandbox.spawn(stubborn(100 * kMillisecond));
  CHECK(sandbox.wait() == launch::kInitDeadline);
  (void)read_all(output);  // ends
}

TEST_CASE("when the main task ends, what it left in the background is killed") {
  Spawn request;
  request.argv = {"/bin/sh", "-c", "sleep 1000 & echo hi"};
  CHECK(run(request).output == "hi\n");
}

TEST_CASE("tasks that fork without end do not keep init from its key") {
  Sandbox sandbox;
  sandbox.wait_until_ready();
  Spawn request;
  request.argv = {target(), "churn"};
  const Fd output = sandbox.spawn(request);
  sandbox.expect(Kind::Started);
  CHECK(read_line(output) == "churn\n");
  sandbox.set_deadline(300 * kMillisecond);
  CHECK(read_all(output).empty());
  CHECK(sandbox.wait() == launch::kInitDeadline);
}

TEST_CASE("a child that is stopped on its way to execve does not keep init from its key") {
  for (int i = 0; i < 10; ++i) {
    Sandbox sandbox;
    sandbox.wait_until_ready();
    Spawn request;
    request.argv = {"/bin/sleep", "1000"};
    request.header.deadline_ns = 100 * kMillisecond;
    const Fd output = sandbox.spawn(request);
    Message message;
    message.kind = Kind::Signal;
    message.value = SIGSTOP;
    sandbox.send(message);
    CHECK(sandbox.wait() == launch::kInitDeadline);
    CHECK(read_all(output).empty());
  }
}

TEST_CASE("from its entry until the first spawn init has the set-up deadline (root)") {
  // Seen from outside, in the timer itself: init is not dumpable, so only root may look.
  if (!has_root()) return;
  Sandbox sandbox;
  sandbox.wait_until_ready();
  std::string timer;
  for (int number = 0; number < 16 && timer.empty(); ++number) {
    const std::string path =
        "/proc/" + std::to_string(sandbox.pid()) + "/fdinfo/" + std::to_string(number);
    const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) continue;
    const std::string info = read_all(file);
    if (info.find("clockid:") != std::string::npos) timer = info;
  }
  CHECK(fact(timer, "clockid") == std::to_string(CLOCK_BOOTTIME));
  const std::string left = fact(timer, "it_value");  // "(29, 999123456)"
  REQUIRE(left.size() > 1);
  const long seconds = std::stol(left.substr(1));
  CHECK(seconds < launch::kSetupDeadlineNs / 1'000'000'000);
  CHECK(seconds > 0);
}

TEST_CASE("a task that is stopped does not keep init from its key") {
  Sandbox sandbox;
  sandbox.wait_until_ready();
  Spawn request;
  request.argv = {"/bin/sh", "-c", "kill -STOP $$"};
  const Fd output = sandbox.spawn(request);
  sandbox.expect(Kind::Started);
  sandbox.set_deadline(100 * kMillisecond);
  CHECK(sandbox.wait() == launch::kInitDeadline);
  CHECK(read_all(output).empty());
}
