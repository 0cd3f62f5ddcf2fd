// Several tasks over one life: slots, signals, orphans, lingering.
#include <dirent.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <map>

#include "harness.hpp"

using namespace mayfly;
using namespace mayfly::init::test;

namespace {

Spawn command(std::vector<std::string> argv) {
  Spawn request;
  request.argv = std::move(argv);
  return request;
}

Message signal_message(int number, std::uint32_t slot = launch::kMainSlot) {
  Message message;
  message.kind = Kind::Signal;
  message.value = number;
  message.slot = slot;
  return message;
}

// The children of a process that are zombies, by /proc of this side.
int count_zombies(pid_t parent) {
  int count = 0;
  DIR* proc = opendir("/proc");
  REQUIRE(proc != nullptr);
  while (const dirent* entry = readdir(proc)) {
    const std::string path = std::string("/proc/") + entry->d_name + "/stat";
    FILE* file = fopen(path.c_str(), "r");
    if (file == nullptr) continue;
    char line[1024];
    const bool has_line = fgets(line, sizeof line, file) != nullptr;
    fclose(file);
    const char* rest = has_line ? strrchr(line, ')') : nullptr;
    char state = 0;
    int ppid = 0;
    if (rest != nullptr && sscanf(rest, ") %c %d", &state, &ppid) == 2 && state == 'Z' &&
        ppid == parent)
      ++count;
  }
  closedir(proc);
  return count;
}

}  // namespace

TEST_CASE("500 orphans leave no zombie") {
  Sandbox sandbox;
  sandbox.wait_until_ready();
  Pipe input = make_pipe();
  Pipe output = make_pipe();
  const Fd memfd = sealed_memfd(command({target(), "orphans", "500"}).bytes());
  Message message;
  message.kind = Kind::Spawn;
  sandbox.send(message, {memfd.get(), input.read.get(), output.write.get(), output.write.get()});
  sandbox.expect(Kind::Started);
  REQUIRE(read_line(output.read) == "orphans 500\n");
  int zombies = -1;
  for (int i = 0; i < kPatienceMs && (zombies = count_zombies(sandbox.pid())) != 0; ++i)
    usleep(1000);
  CHECK(zombies == 0);
  input.write.reset();
  CHECK(sandbox.expect(Kind::Exited).value == 0);
  CHECK(sandbox.wait() == launch::kInitDone);
}

TEST_CASE("tasks in other slots come and go beside the main one") {
  Sandbox sandbox;
  sandbox.wait_until_ready();
  sandbox.spawn(command({"/bin/sleep", "1000"}));
  sandbox.expect(Kind::Started);
  for (int round = 0; round < 10; ++round) {
    const Fd output = sandbox.spawn(command({target(), "exit", std::to_string(round)}), 63);
    CHECK(sandbox.expect(Kind::Started).slot == 63);
    const Message exited = sandbox.expect(Kind::Exited);
    CHECK(exited.slot == 63);
    CHECK(exited.value == round);
  }
  sandbox.spawn(command({"/nonexistent/x"}), 5);
  const Message failed = sandbox.expect(Kind::ExecFailed);
  CHECK(failed.slot == 5);
  CHECK(failed.error == ENOENT);

  sandbox.send(signal_message(SIGTERM));
  CHECK(sandbox.expect(Kind::Exited).slot == launch::kMainSlot);
  CHECK(sandbox.wait() == launch::kInitDone);
}

TEST_CASE("no process left for a task: the main one ends init, another does not") {
  // The limit counts the processes of a user namespace, but never for real root.
  const StartOptions alone{.place = geteuid() == 0 ? Place::IdRange : Place::PidNamespace,
                           .most_processes = 1};
  Sandbox sandbox(alone);
  sandbox.wait_until_ready();
  for (const std::uint32_t slot : {7u, 7u, launch::kMainSlot}) {
    CHECK(read_all(sandbox.spawn(command({target(), "exit", "0"}), slot)).empty());
    const Message failed = sandbox.expect(Kind::ExecFailed);
    CHECK(failed.step == Step::InitFork);
    CHECK(failed.error == EAGAIN);
    CHECK(failed.slot == slot);
  }
  CHECK(sandbox.wait() == launch::kInitDone);
}

TEST_CASE("all 64 slots at once, each told apart") {
  Sandbox sandbox;
  sandbox.wait_until_ready();
  for (std::uint32_t slot = 0; slot < launch::kMostSlots; ++slot) {
    sandbox.spawn(command({"/bin/sleep", "1000"}), slot);
    CHECK(sandbox.expect(Kind::Started).slot == slot);
  }
  for (std::uint32_t slot = launch::kMostSlots; slot-- > 0;) {
    sandbox.send(signal_message(SIGKILL, slot));
    const Message exited = sandbox.expect(Kind::Exited);
    CHECK(exited.slot == slot);
    CHECK(exited.index == CLD_KILLED);
  }
  CHECK(sandbox.wait() == launch::kInitDone);
}

TEST_CASE("a signal reaches the whole process group of its task, and no other") {
  Sandbox sandbox;
  sandbox.wait_until_ready();
  const Fd first =
      sandbox.spawn(command({"/bin/sh", "-c", "sleep 1000 & echo up; wait; echo no"}), 1);
  sandbox.expect(Kind::Started);
  CHECK(read_line(first) == "up\n");
  const Fd second = sandbox.spawn(command({"/bin/sh", "-c", "echo up; exec sleep 1000"}), 2);
  sandbox.expect(Kind::Started);
  CHECK(read_line(second) == "up\n");
  sandbox.send(signal_message(SIGTERM, 1));
  CHECK(sandbox.expect(Kind::Exited).slot == 1);
  CHECK(read_all(first).empty());  // the background child held it, and is gone
  CHECK_FALSE(is_readable(second, 100));
  sandbox.send(signal_message(SIGTERM, 1));  // a free slot now: nothing happens
  sandbox.send(signal_message(SIGTERM, 2));
  CHECK(sandbox.expect(Kind::Exited).slot == 2);
}

TEST_CASE("a signal right behind the spawn finds its task, executed or not") {
  for (int i = 0; i < 50; ++i) {
    Sandbox sandbox;
    sandbox.wait_until_ready();
    const Fd output = sandbox.spawn(command({"/bin/sleep", "1000"}));
    sandbox.send(signal_message(SIGKILL));
    const Message first = sandbox.receive();
    if (first.kind == Kind::ExecFailed) {
      CHECK(first.error == 0);
      CHECK(first.value == SIGKILL);
    } else {
      CHECK(first.kind == Kind::Started);
      const Message exited = sandbox.expect(Kind::Exited);
      CHECK(exited.index == CLD_KILLED);
      CHECK(exited.value == SIGKILL);
    }
    CHECK(sandbox.wait() == launch::kInitDone);
  }
}

TEST_CASE("linger: the rest may end by itself, then init says so and ends") {
  Sandbox sandbox;
  sandbox.wait_until_ready();
  Spawn request = command({target(), "leave", "300"});
  request.header.flags = launch::kLinger;
  const Fd output = sandbox.spawn(request);
  sandbox.expect(Kind::Started);
  CHECK(sandbox.expect(Kind::Exited).value == 0);
  sandbox.expect(Kind::Drained);
  CHECK(read_all(output) == "late\n");
  CHECK(sandbox.wait() == launch::kInitDone);

  const Ended alone = run(command({target(), "leave", "20000"}));
  CHECK(alone.output.empty());
}

TEST_CASE("linger ends at the deadline") {
  Sandbox sandbox;
  sandbox.wait_until_ready();
  Spawn request = command({"/bin/sh", "-c", "sleep 1000 &"});
  request.header.flags = launch::kLinger;
  const Fd output = sandbox.spawn(request);
  sandbox.expect(Kind::Started);
  sandbox.expect(Kind::Exited);
  sandbox.set_deadline(100'000'000);
  CHECK(read_all(output).empty());
  CHECK(sandbox.wait() == launch::kInitDeadline);
}

TEST_CASE("the pidfd that comes with Started is the task's") {
  Sandbox sandbox;
  sandbox.wait_until_ready();
  sandbox.spawn(command({"/bin/sleep", "1000"}));
  sandbox.expect(Kind::Started);
  const Fd task = sandbox.take_descriptor();
  REQUIRE(task);
  CHECK_FALSE(is_readable(task, 0));
  sandbox.send(signal_message(SIGKILL));
  CHECK(is_readable(task));
}
