// A descriptor that was passed in gives no more rights than it was opened with.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/sandbox.hpp"
#include "harness/suite.hpp"

using namespace harness;

namespace {

// Runs the script with `number` being the host's file opened with `flags`; returns its new content.
std::string content_after(int number, int flags, const std::string& script) {
  const TempDir host;
  const std::string path = host.file("file", "before\n", 0666);
  const Fd file(::open(path.c_str(), flags | O_CLOEXEC));
  Run attack({}, {"/bin/sh", "-c", script});
  attack.command.fd(number, file.get());
  const Ended ended = attack.end();
  CAPTURE(ended.err);
  CHECK_FALSE(ended.timed_out);
  CHECK(ended.reason() == "exited");  // the attack ran, and failed
  return read_file(path);
}

}  // namespace

TEST_CASE("a file read on stdin cannot be reopened for writing") {
  const char* attack =
      "cat; echo overwritten > /proc/self/fd/0; echo overwritten >> /dev/stdin;"
      "/targets/probe open /proc/self/fd/0 rw; truncate -s 0 /proc/self/fd/0";
  CHECK(content_after(0, O_RDONLY, attack) == "before\n");
}

TEST_CASE("a file written on stdout is added to, and not read or rewritten by reopening it") {
  CHECK(content_after(1, O_WRONLY | O_TRUNC, "echo mine") == "mine\n");
  const char* read = "timeout 1 head -c 6 /proc/self/fd/1 | grep -q before && echo leaked";
  CHECK(content_after(1, O_WRONLY | O_APPEND, read) == "before\n");
  CHECK(content_after(1, O_RDWR, "exec 3>/proc/self/fd/1; echo over >&3") == "over\ne\n");
  CHECK(content_after(1, O_WRONLY | O_APPEND, "exec 3>/proc/self/fd/1; echo over >&3") ==
        "before\nover\n");
}

TEST_CASE(
    "an appended log cannot be truncated or overwritten, /dev/stdout and /dev/stderr add to it") {
  CHECK(content_after(1, O_WRONLY | O_APPEND,
                      "echo more; : > /dev/stdout; truncate -s 0 /dev/stdout;"
                      "echo x > /dev/stdout") == "before\nmore\nx\n");
  CHECK(content_after(2, O_WRONLY | O_APPEND, "echo more >&2; echo x > /dev/stderr") ==
        "before\nmore\nx\n");
}

TEST_CASE("a file on a standard descriptor keeps its mode, its times and its locks") {
  const TempDir host;
  const std::string path = host.file("file", "before\n", 0600);
  const timespec old[2] = {{.tv_sec = 1000, .tv_nsec = 0}, {.tv_sec = 1000, .tv_nsec = 0}};
  REQUIRE(::utimensat(AT_FDCWD, path.c_str(), old, 0) == 0);
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  Run attack(
      {},
      {"/bin/sh", "-c",
       "chmod 4777 /proc/self/fd/0; touch -d @5 /proc/self/fd/0; flock -n 0; exec 0</dev/null"});
  attack.command.fd(0, file.get());
  CHECK(attack.end().reason() == "exited");
  struct stat after = {};
  REQUIRE(::stat(path.c_str(), &after) == 0);
  CHECK((after.st_mode & 07777) == 0600);
  CHECK(after.st_mtim.tv_sec == 1000);
  CHECK(::flock(file.get(), LOCK_EX | LOCK_NB) == 0);
}

TEST_CASE("a network socket is never the task's, and what is on it still arrives") {
  const Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  REQUIRE(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
  REQUIRE(::listen(listener.get(), 1) == 0);
  REQUIRE(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
  const Fd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(::connect(client.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
  const Fd server(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  REQUIRE(::write(server.get(), "hello\n", 6) == 6);
  REQUIRE(::shutdown(server.get(), SHUT_WR) == 0);
  Run attack({}, {"/bin/sh", "-c", "cat; readlink /proc/self/fd/0"});
  attack.command.fd(0, client.get());
  const Ended ended = attack.end();
  CHECK(ended.out.starts_with("hello\npipe:"));

  Run listening({}, {"/bin/true"});
  listening.command.fd(0, listener.get());
  const Ended refused = listening.end();
  CHECK(refused.code == 125);
  CHECK(contains(refused.err, "a socket that is not connected"));
}

TEST_CASE("a directory on a standard descriptor is refused before the start") {
  for (const int number : {0, 1, 2}) {
    CAPTURE(number);
    const Fd directory(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    Run attack({}, {"/bin/sh", "-c", "echo started; ls /proc/self/fd/0/; echo started >&2"});
    attack.command.fd(number, directory.get());
    const Ended ended = attack.end();
    CHECK(ended.code == 125);
    CHECK_FALSE(contains(ended.out + ended.err, "started"));
    if (number != 2) CHECK(contains(ended.err, "directory"));
  }
}

TEST_CASE("a path-only descriptor on stdin is refused before the start") {
  const Fd path(::open("/etc/passwd", O_PATH | O_CLOEXEC));
  Run attack({}, {"/bin/sh", "-c", "echo started"});
  attack.command.fd(0, path.get());
  const Ended ended = attack.end();
  CHECK(ended.code == 125);
  CHECK(ended.out.empty());
  CHECK(contains(ended.err, "O_PATH"));
}

TEST_CASE("a block device on stdin is refused before the start") {
  if (!is_root()) return;  // an ordinary user has no block device to pass
  const Finished found =
      Command({"/bin/sh", "-c", "find /dev -maxdepth 1 -type b | head -n 1"}).run();
  if (found.out.empty()) SKIP_BECAUSE("there is no block device in /dev");
  const Fd device(::open(lines(found.out).front().c_str(), O_RDONLY | O_CLOEXEC));
  if (!device) SKIP_BECAUSE("the block device cannot be opened");
  Run attack({}, {"/bin/sh", "-c", "echo started"});
  attack.command.fd(0, device.get());
  const Ended ended = attack.end();
  CHECK(ended.code == 125);
  CHECK(ended.out.empty());
  CHECK(contains(ended.err, "block device"));
}

TEST_CASE("/proc of init and of the task shows no way to the host's files") {
  const Ended ended =
      sh("for p in 1 self; do for l in cwd root exe; do ls -A /proc/$p/$l/../.. 2>/dev/null; done; "
         "done;"
         "readlink /proc/self/root; ls -l /proc/1/fd 2>&1; ls -A /proc/1/root/ 2>&1");
  CHECK_FALSE(contains(ended.out, "lost+found"));
  CHECK(contains(ended.out, "Permission denied"));
}
