// Each attack here fails, and succeeds as soon as the one defence against it is left out: so it
// fails for the reason that we claim.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdlib>

#include "base/on_exit.hpp"
#include "harness/hooked.hpp"
#include "harness/host.hpp"
#include "harness/suite.hpp"

using namespace harness;

namespace {

using Steps = std::vector<Step>;

std::string output(const std::string& script, const Steps& left_out) {
  Hooked attack({}, {"/bin/sh", "-c", script});
  const Ended ended = attack.without(left_out).end();
  CAPTURE(ended.err);
  CHECK(ended.reason() == "exited");
  return ended.out;
}

// A host file that the task got read-only, after an attempt to write to it.
std::string stdin_after_attack(const Steps& left_out) {
  const TempDir host;
  const std::string path = host.file("file", "before\n", 0666);
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  Hooked attack({}, {"/bin/sh", "-c", "echo overwritten > /proc/self/fd/0"});
  attack.without(left_out).command().fd(0, file.get());
  CHECK(attack.end().reason() == "exited");
  return read_file(path);
}

}  // namespace

TEST_CASE("the relay and Landlock each keep a read-only file on stdin from being overwritten") {
  CHECK(stdin_after_attack({}) == "before\n");
  CHECK(stdin_after_attack({Step::Landlock}) == "before\n");
  CHECK(stdin_after_attack({Step::TaskStdio}) == "before\n");
  CHECK(stdin_after_attack({Step::TaskStdio, Step::Landlock}) == "overwritten\n");
}

TEST_CASE("the masks alone keep /proc/keys and /proc/key-users from being read") {
  const char* attack = "cat /proc/keys /proc/key-users > /dev/null 2>&1 && echo read";
  CHECK(output(attack, {}).empty());
  CHECK(output(attack, {Step::Seal}) == "read\n");
}

TEST_CASE(
    "the filter and the ban each keep user namespaces away, and without both there are some") {
  const char* attack = "/usr/bin/unshare -U /bin/sh -c 'echo inside' 2>/dev/null; :";
  const Steps no_ban = {Step::UserNamespaceBan, Step::UserNamespaceProof};
  CHECK(output(attack, {}).empty());
  CHECK(output(attack, no_ban).empty());
  CHECK(output(attack, {Step::InitFilter}).empty());
  CHECK(output(attack, {Step::InitFilter, no_ban[0], no_ban[1]}) == "inside\n");
}

TEST_CASE("the proof of the ban refuses a start whose ban did not hold") {
  Hooked start({}, {"/bin/true"});
  const Ended ended = start.without({Step::UserNamespaceBan}).end();
  CHECK(ended.code == 125);
  CHECK(contains(ended.err, "prove that user namespaces inside are forbidden: making one worked"));
}

TEST_CASE("the marker refuses a start that is not in its new root") {
  Hooked start({}, {"/bin/true"});
  const Ended ended = start.without({Step::PivotRoot}).end();
  CHECK(ended.code == 125);
  CHECK(contains(ended.err, "prove that the new root was entered"));
}

TEST_CASE("the filter alone keeps the kernel's keyrings away") {
  const char* attack = "/targets/probe call keyctl 0 -3 0";  // KEYCTL_GET_KEYRING_ID, session
  CHECK_FALSE(contains(output(attack, {}), "keyctl ok"));
  CHECK(contains(output(attack, {Step::InitFilter}), "keyctl ok"));
}

TEST_CASE("the bounding set is emptied by that step alone") {
  const char* look = "grep CapBnd /proc/self/status";
  CHECK(output(look, {}) == "CapBnd:\t0000000000000000\n");
  CHECK(output(look, {Step::Capabilities}) != "CapBnd:\t0000000000000000\n");
}

TEST_CASE("core dumps and processes are limited by that step alone") {
  const char* look = "ulimit -Hc; ulimit -Hu 2>/dev/null || ulimit -Hp";
  const std::string limited = output(look, {});
  CHECK(contains(limited, "512"));
  CHECK(output(look, {Step::Rlimit}) != limited);
}

TEST_CASE("init's own key alone ends the processes on time while the supervisor is stopped") {
  for (const bool left_out : {false, true}) {
    CAPTURE(left_out);
    const std::string marker = new_marker();
    Hooked held({"--ttl", paced_text(1000), "--grace", "0"}, {kProbe, "hold", marker});
    if (left_out) held.without({Step::InitDeadline});
    Process process = held.command().start();
    process.await_output("ready");
    process.send(SIGSTOP);
    const bool gone = within(
        paced(3000), [&] { return processes_with(marker) == std::vector<pid_t>{process.pid()}; });
    CHECK(gone != left_out);
    process.send(SIGCONT);
    CHECK(held.end(std::move(process)).reason() == "ttl");  // late, by the supervisor's key
  }
}

TEST_CASE("with both keys out of order nothing ends the processes: each of them counts") {
  const std::string marker = new_marker();
  const Run held({"--ttl", paced_text(1000), "--grace", "0"}, {kProbe, "hold", marker});
  Process process = held.command.start();
  process.await_output("ready");
  process.send(SIGSTOP);
  const std::vector<pid_t> below = descendants(process.pid());
  REQUIRE(below.size() == 2);
  REQUIRE(::kill(below.front(), SIGSTOP) == 0);
  std::this_thread::sleep_for(paced(2000));
  CHECK(processes_with(marker).size() == 2);
  process.send(SIGCONT);
  CHECK(held.end(std::move(process)).reason() == "ttl");
  CHECK(processes_with(marker).empty());
}

TEST_CASE("the net namespace alone keeps the host's loopback and abstract sockets out of reach") {
  const Fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const std::string name = new_marker();
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path + 1, sizeof address.sun_path - 1);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  REQUIRE(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
  REQUIRE(::listen(listener.get(), 4) == 0);
  const auto connects = [&](unsigned long shared) {
    Hooked attack({}, {kProbe, "connect-unix", "@" + name});
    // Landlock refuses foreign abstract sockets, too, where the kernel is new enough (6.12).
    const Ended ended = attack.sharing(shared)
                            .without(shared == 0 ? Steps{} : Steps{Step::Loopback, Step::Landlock})
                            .end();
    CAPTURE(ended.err);
    CHECK(ended.code == 0);
    return contains(ended.out, "connect ok");
  };
  CHECK_FALSE(connects(0));
  CHECK(connects(CLONE_NEWNET));
}

TEST_CASE("the ipc namespace alone keeps the host's shared memory from being seen") {
  const int memory = ::shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
  REQUIRE(memory >= 0);
  const mayfly::OnExit remove([memory] { ::shmctl(memory, IPC_RMID, nullptr); });
  const auto sees = [&](unsigned long shared) {
    Hooked attack({}, {"/bin/sh", "-c", "cut -c 12-22 /proc/sysvipc/shm"});
    const Ended ended = attack.sharing(shared).end();
    CAPTURE(ended.err);
    CHECK(ended.code == 0);
    for (const std::string& line : lines(ended.out))
      if (std::atoi(line.c_str()) == memory && contains(line, std::to_string(memory))) return true;
    return false;
  };
  CHECK_FALSE(sees(0));
  CHECK(sees(CLONE_NEWIPC));
}

TEST_CASE("the uts and cgroup namespaces alone hide the host's name and the sandbox's cgroup") {
  char host[256] = "";
  ::gethostname(host, sizeof host);
  const auto seen = [](const char* script, unsigned long shared, const Steps& left_out) {
    Hooked look({}, {"/bin/sh", "-c", script});
    return look.sharing(shared).without(left_out).end();
  };
  CHECK(seen("uname -n", 0, {}).out == "mayfly\n");
  CHECK(seen("uname -n", CLONE_NEWUTS, {Step::Hostname}).out == std::string(host) + "\n");

  const char* look = "grep ^0: /proc/self/cgroup";
  CHECK(seen(look, 0, {}).out == "0::/\n");
  const Ended shared = seen(look, CLONE_NEWCGROUP, {});
  const bool has_cgroup = shared.result.at("proof").at("populated").is_number();
  if (has_cgroup) CHECK(contains(shared.out, "mayfly-" + shared.id()));
}
