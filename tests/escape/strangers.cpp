// Processes of the host and of other sandboxes cannot be seen, named or signalled.
#include <doctest/doctest.h>

#include <csignal>

#include "harness/host.hpp"
#include "harness/sandbox.hpp"
#include "harness/suite.hpp"

using namespace harness;

TEST_CASE("processes of the host and of another sandbox cannot be signalled by their ids") {
  const std::string marker = new_marker();
  const Run victim({"--ttl", paced_text(30'000)}, {kProbe, "hold", marker});
  Process process = victim.command.start();
  process.await_output("ready");
  Process bystander = Command({targets_path() + "/probe", "hold", marker}).start();
  bystander.await_output("ready");

  Words pids;
  for (const pid_t pid : processes_with(marker))
    pids.push_back(std::to_string(pid));
  REQUIRE(pids.size() >= 3);
  const Ended attack =
      sh("for p do kill -9 $p; kill -9 -$p; ls -d /proc/$p; done; ps -e 2>/dev/null; kill -9 -1; :",
         {}, pids);
  CHECK_FALSE(contains(attack.out, "/proc/"));
  CHECK_FALSE(contains(attack.out, "probe"));
  CHECK(processes_with(marker).size() == pids.size());

  process.send(SIGTERM);
  static_cast<void>(victim.end(std::move(process)));
}

TEST_CASE("shared memory, message queues and semaphores are the sandbox's own") {
  const Ended made =
      sh("ipcmk -M 4096 >/dev/null 2>&1; ipcs -m 2>/dev/null | grep -c 0x; echo x > /dev/shm/mine; "
         "ls /dev/shm");
  CHECK(contains(made.out, "mine"));
  const Ended next = sh("ipcs -m 2>/dev/null | grep -c 0x; ls -A /dev/shm");
  CHECK(next.out == "0\n");
}

TEST_CASE("two sandboxes at once do not see each other's files") {
  const std::string name = "/tmp/" + new_marker();
  const Run first({}, {"/bin/sh", "-c", "echo mine > \"$1\"; echo ready; sleep 20", "sh", name});
  Process process = first.command.start();
  process.await_output("ready");
  const Ended other = sh("ls -A \"$1\"", {}, {name});
  CHECK(other.started());
  CHECK(other.code != 0);
  CHECK_FALSE(exists(name));
  process.send(SIGKILL);
}
