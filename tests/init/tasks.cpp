// What a task is given, and what it is not.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "harness.hpp"
#include "policy/stock.hpp"

using namespace mayfly;
using namespace mayfly::init::test;

namespace {

Spawn command(std::vector<std::string> argv) {
  Spawn request;
  request.argv = std::move(argv);
  return request;
}

Spawn look() {
  return command({target(), "look"});
}

// Allows the calls of a list, kills for any other.

std::vector<sock_filter> allow_only(std::span<const policy::SystemCall> calls) {
  std::vector<sock_filter> program = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (const policy::SystemCall& call : calls) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call.number, 0, 1));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
  return program;
}

std::vector<sock_filter> answer(std::uint32_t number, std::uint32_t action) {
  return {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, action),
          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
}

}  // namespace

TEST_CASE("the task has descriptors 0, 1, 2 and no other") {
  for (const Place place : {Place::PidNamespace, Place::Plain})
    CHECK(fact(run(look(), {.place = place}).output, "descriptors") == "0 1 2");
}

TEST_CASE("the task's stdio may be any permutation of one file") {
  Sandbox sandbox;
  sandbox.wait_until_ready();
  Pipe pipe = make_pipe();
  const Fd memfd = sealed_memfd(look().bytes());
  Message message;
  message.kind = Kind::Spawn;
  const int end = pipe.write.get();
  sandbox.send(message, {memfd.get(), end, end, end});
  pipe.write.reset();
  sandbox.expect(Kind::Started);
  CHECK(fact(read_all(pipe.read), "descriptors") == "0 1 2");
}

TEST_CASE("no signal is blocked, although init's parent had all of them blocked") {
  CHECK(fact(run(look(), {.blocked_signals = true}).output, "unclean_signals") == "");
  const Ended ended =
      run(command({target(), "die", std::to_string(SIGTERM)}), {.blocked_signals = true});
  CHECK(ended.exited.value == SIGTERM);
}

TEST_CASE(
    "signals that init inherited ignored are at their default in a task, as far as it is told") {
  const StartOptions options = {.ignored_signals = {SIGINT, SIGPIPE, SIGRTMAX}};
  Spawn request = look();
  request.header.ignored_signals =
      1ULL << (SIGINT - 1) | 1ULL << (SIGPIPE - 1) | 1ULL << (SIGRTMAX - 1);
  CHECK(fact(run(request, options).output, "unclean_signals") == "");
  request.header.ignored_signals = 1ULL << (SIGINT - 1);
  CHECK(fact(run(request, options).output, "unclean_signals") == "13 64");
}

TEST_CASE("session, working directory, umask, environment and limits are as asked") {
  Spawn request = look();
  request.chdir = scratch();
  request.header.umask = 027;
  request.rlimits = {{.resource = RLIMIT_NOFILE, .unused = 0, .soft = 64, .hard = 128}};
  const std::string output = run(request).output;
  CHECK(fact(output, "leads_session") == "1");
  CHECK(fact(output, "holds_terminal") == "0");
  CHECK(fact(output, "cwd") == scratch());
  CHECK(fact(output, "umask") == "27");
  CHECK(fact(output, "files") == "64 128");

  Spawn environment = command({"/usr/bin/env"});
  environment.env = {"A=1", "B=two words"};
  CHECK(run(environment).output == "A=1\nB=two words\n");
  environment.env.clear();
  CHECK(run(environment).output.empty());
}

TEST_CASE("a limit that the kernel refuses is named by its place in the list") {
  Spawn request = look();
  request.rlimits = {{.resource = RLIMIT_NOFILE, .unused = 0, .soft = 64, .hard = 128},
                     {.resource = RLIMIT_NOFILE, .unused = 0, .soft = 200, .hard = 100}};
  const Message failed = run_to_failure(request);
  CHECK(failed.step == Step::TaskRlimit);
  CHECK(failed.error == EINVAL);
  CHECK(failed.index == 1);
}

TEST_CASE("a terminal becomes the controlling one, only if asked") {
  for (const bool asked : {true, false}) {
    const Fd terminal(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
    REQUIRE(terminal);
    REQUIRE(unlockpt(terminal.get()) == 0);
    const Fd end(ioctl(terminal.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
    REQUIRE(end);
    Sandbox sandbox;
    sandbox.wait_until_ready();
    Pipe output = make_pipe();
    Spawn request = look();
    if (asked) request.header.flags = launch::kControllingTty;
    const Fd memfd = sealed_memfd(request.bytes());
    Message message;
    message.kind = Kind::Spawn;
    sandbox.send(message, {memfd.get(), end.get(), output.write.get(), output.write.get()});
    output.write.reset();
    sandbox.expect(Kind::Started);
    CHECK(fact(read_all(output.read), "holds_terminal") == (asked ? "1" : "0"));
  }
  Spawn request = look();
  request.header.flags = launch::kControllingTty;
  const Message failed = run_to_failure(request);  // /dev/null is no terminal
  CHECK(failed.step == Step::TaskSession);
  CHECK(failed.error == ENOTTY);
}

TEST_CASE("a foreground job is in init's session, and its stops are told, once until a signal") {
  const Fd terminal(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  REQUIRE(terminal);
  REQUIRE(unlockpt(terminal.get()) == 0);
  const Fd end(ioctl(terminal.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
  REQUIRE(end);
  const auto start = [&](Sandbox& sandbox, Spawn request) {
    sandbox.wait_until_ready();
    request.header.flags |= launch::kForegroundJob;
    const Fd memfd = sealed_memfd(request.bytes());
    Pipe output = make_pipe();
    Message message;
    message.kind = Kind::Spawn;
    sandbox.send(message, {memfd.get(), end.get(), output.write.get(), output.write.get()});
    sandbox.expect(Kind::Started);
    return std::move(output.read);
  };
  {
    Sandbox sandbox({.terminal = end.get()});
    const std::string output = read_all(start(sandbox, look()));
    CHECK(fact(output, "leads_session") == "0");
    CHECK(fact(output, "holds_terminal") == "1");
  }
  {
    // With no more calls than init's list allows.
    Sandbox sandbox({.terminal = end.get()});
    Spawn request = command({nothing()});
    request.filter = allow_only(policy::init_calls());
    request.header.flags = launch::kInitFilter;
    start(sandbox, request);
    CHECK(sandbox.expect(Kind::Exited).index == CLD_EXITED);
  }
  Sandbox sandbox({.terminal = end.get()});
  start(sandbox, command({target(), "die", std::to_string(SIGSTOP)}));
  const Message stopped = sandbox.expect(Kind::Stopped);
  CHECK(stopped.value == SIGSTOP);
  CHECK(stopped.index == 0);
  Message signal;
  signal.kind = Kind::Signal;
  signal.index = 7;
  // Stopped anew before it came to run: told, since a signal came in between.
  signal.value = SIGTSTP;
  sandbox.send(signal);
  signal.value = SIGCONT;
  sandbox.send(signal);
  Message next = sandbox.receive();
  if (next.kind == Kind::Stopped) {
    CHECK(next.index == 7);
    sandbox.send(signal);
    next = sandbox.receive();
  }
  CHECK(next.kind == Kind::Exited);
}

TEST_CASE("the task has no capabilities and no way to new ones") {
  const std::string status = run(command({target(), "status"})).output;
  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapAmb"})
    CHECK_MESSAGE(fact(status, set) == "0000000000000000", set);
  CHECK(fact(status, "NoNewPrivs") == "1");
  CHECK(fact(status, "Seccomp:") == "0");
}

TEST_CASE("a task of init's own user id can neither trace, read, rob nor signal init") {
  const Ended ended = run(command({target(), "attack"}));
  CHECK(fact(ended.output, "ppid") == "1");
  CHECK(fact(ended.output, "trace") == "Operation not permitted");
  CHECK(fact(ended.output, "read") == "Operation not permitted");
  CHECK(fact(ended.output, "steal") == "Operation not permitted");
  CHECK(ended.exited.index == CLD_EXITED);  // and init lived to tell
}

TEST_CASE("init and a start need no call that policies/syscalls.toml does not list for them") {
  Spawn request = command({nothing()});
  request.filter = allow_only(policy::init_calls());
  request.header.flags = launch::kInitFilter;
  request.rlimits = {{.resource = RLIMIT_NOFILE, .unused = 0, .soft = 64, .hard = 64}};
  request.header.ignored_signals = 1ULL << (SIGPIPE - 1);
  CHECK(run(request, {.ignored_signals = {SIGPIPE}}).exited.index == CLD_EXITED);

  // The way to a missing interpreter, a signal and a new deadline need no other either.
  Sandbox sandbox;
  sandbox.wait_until_ready();
  request.argv = {"/nonexistent/x"};
  sandbox.spawn(request, 1);
  CHECK(sandbox.expect(Kind::ExecFailed).error == ENOENT);
  Message message;
  message.kind = Kind::Deadline;
  message.value = 60'000'000'000;
  sandbox.send(message);
  message.kind = Kind::Signal;
  message.value = SIGTERM;
  message.slot = 1;
  sandbox.send(message);
  request.argv = {nothing()};
  sandbox.spawn(request);
  sandbox.expect(Kind::Started);
  sandbox.expect(Kind::Exited);
  CHECK(sandbox.wait() == launch::kInitDone);
}

TEST_CASE("a filter for init is loaded once, and every task inherits it") {
  Sandbox sandbox;
  sandbox.wait_until_ready();
  Spawn request = command({target(), "status"});
  request.filter = answer(SYS_vhangup, SECCOMP_RET_ERRNO | EPERM);
  request.header.flags = launch::kInitFilter;
  for (std::uint32_t slot = 1; slot <= 3; ++slot) {
    const Fd output = sandbox.spawn(request, slot);
    sandbox.expect(Kind::Started);
    const std::string status = read_all(output);
    CHECK(fact(status, "Seccomp:") == "2");
    CHECK(fact(status, "Seccomp_filters") == "1");
    sandbox.expect(Kind::Exited);
  }
  request.header.flags = 0;  // one more, of the task's own
  const Fd output = sandbox.spawn(request, 4);
  CHECK(fact(read_all(output), "Seccomp_filters") == "2");
}

TEST_CASE("a filter for the task alone leaves init without one") {
  Sandbox sandbox;
  sandbox.wait_until_ready();
  Spawn request = command({target(), "status"});
  request.filter = answer(SYS_ppoll, SECCOMP_RET_KILL_PROCESS);  // init could not go on
  CHECK(fact(read_all(sandbox.spawn(request)), "Seccomp:") == "2");
  sandbox.expect(Kind::Started);
  sandbox.expect(Kind::Exited);
}

TEST_CASE("a filter that the kernel refuses: a failure of init, or of the task whose it is") {
  Spawn request = command({nothing()});
  request.filter = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0)};  // no return
  const Message failed = run_to_failure(request);
  CHECK(failed.step == Step::TaskFilter);
  CHECK(failed.error == EINVAL);

  request.header.flags = launch::kInitFilter;
  Sandbox sandbox;
  sandbox.wait_until_ready();
  sandbox.spawn(request);
  const Message fatal = sandbox.expect(Kind::Failed);
  CHECK(fatal.step == Step::InitFilter);
  CHECK(fatal.error == EINVAL);
  CHECK(sandbox.wait() == launch::kInitBroken);
}

TEST_CASE("stacked filters: all are loaded, for the task alone, or it does not start") {
  Spawn request = command({target(), "status"});
  request.filter = answer(SYS_vhangup, SECCOMP_RET_ERRNO | EPERM);
  request.header.flags = launch::kInitFilter;
  request.stacked = {answer(SYS_ppoll, SECCOMP_RET_KILL_PROCESS),  // init could not go on
                     answer(SYS_vhangup, SECCOMP_RET_ERRNO | ENOSYS)};
  Sandbox sandbox;
  sandbox.wait_until_ready();
  CHECK(fact(read_all(sandbox.spawn(request)), "Seccomp_filters") == "3");
  sandbox.expect(Kind::Started);
  sandbox.expect(Kind::Exited);

  request.stacked[1] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0)};  // no return
  const Message failed = run_to_failure(request);
  CHECK(failed.step == Step::TaskFilter);
  CHECK(failed.error == EINVAL);
}

TEST_CASE("a filter that kills for execve: not executed, and killed by SIGSYS") {
  Spawn request = command({nothing()});
  request.filter = answer(SYS_execve, SECCOMP_RET_KILL_PROCESS);
  const Message failed = run_to_failure(request);
  CHECK(failed.step == Step::TaskExec);
  CHECK(failed.error == 0);
  CHECK(failed.value == SIGSYS);
}

TEST_CASE("with a range of ids the task has its own, no groups and no capabilities (root)") {
  if (!has_root()) return;
  for (const std::uint32_t id : {0u, 1000u}) {
    Spawn request = look();
    request.header.flags = launch::kSetIds;
    request.header.uid = id;
    request.header.gid = id + 1;
    const std::string output = run(request, {.place = Place::IdRange}).output;
    const std::string uid = std::to_string(id), gid = std::to_string(id + 1);
    CHECK(fact(output, "ids") == uid + " " + uid + " " + gid + " " + gid);
    CHECK(fact(output, "groups") == "0");
    request.argv[1] = "status";
    const std::string status = run(request, {.place = Place::IdRange}).output;
    for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapAmb", "CapBnd"})
      CHECK_MESSAGE(fact(status, set) == "0000000000000000", set);
  }
}

TEST_CASE("with a range of ids init still signals its tasks, and they cannot touch it (root)") {
  if (!has_root()) return;
  Spawn request = command({target(), "attack"});
  request.header.flags = launch::kSetIds;
  const Ended ended = run(request, {.place = Place::IdRange});
  CHECK(fact(ended.output, "trace") == "Operation not permitted");
  CHECK(fact(ended.output, "read") == "Operation not permitted");

  Sandbox sandbox({.place = Place::IdRange});
  sandbox.wait_until_ready();
  request.argv = {"/bin/sleep", "1000"};
  sandbox.spawn(request);
  sandbox.expect(Kind::Started);
  Message message;
  message.kind = Kind::Signal;
  message.value = SIGTERM;
  sandbox.send(message);
  CHECK(sandbox.expect(Kind::Exited).value == SIGTERM);
}

TEST_CASE("the working directory is entered as the task's user (root)") {
  if (!has_root()) return;
  const std::string home = scratch() + "/home";
  REQUIRE(mkdir(home.c_str(), 0700) == 0);
  REQUIRE(chown(home.c_str(), 700'000'000 + 1000, 700'000'000 + 1000) == 0);
  Spawn request = look();
  request.chdir = home;
  request.header.flags = launch::kSetIds;
  request.header.uid = request.header.gid = 1000;
  CHECK(fact(run(request, {.place = Place::IdRange}).output, "cwd") == home);
  request.header.uid = request.header.gid = 1001;
  const Message failed = run_to_failure(request, {.place = Place::IdRange});
  CHECK(failed.step == Step::TaskChdir);
  CHECK(failed.error == EACCES);
}

TEST_CASE("exactly the capabilities that are kept reach the task, across its execve (root)") {
  if (!has_root()) return;
  Spawn request = command({target(), "status"});
  request.header.flags = launch::kSetIds;
  request.header.keep_capabilities = 1ULL << CAP_KILL;
  for (const std::uint32_t id : {0u, 1000u}) {
    request.header.uid = request.header.gid = id;
    const std::string status = run(request, {.place = Place::IdRange}).output;
    for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapAmb"})
      CHECK_MESSAGE(fact(status, set) == "0000000000000020", set);
  }
  request.header.keep_capabilities = 1ULL << CAP_SYS_ADMIN;  // init has it not
  const Message failed = run_to_failure(request, {.place = Place::IdRange});
  CHECK(failed.step == Step::TaskUser);
  CHECK(failed.error == EPERM);
}

TEST_CASE("ids that cannot be set fail the start: the task never runs as another") {
  Spawn request = command({nothing()});
  request.header.flags = launch::kSetIds;  // one id is mapped here, and setgroups is denied
  request.header.uid = request.header.gid = 1234;
  const Message failed = run_to_failure(request);
  CHECK(failed.step == Step::TaskUser);
  CHECK(failed.error == EPERM);
}
