// A descriptor that was passed in gives no more rights than it was opened with.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

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

// What a task could change of a pipe.
struct Look {
  int flags, size;
  mode_t mode;
};
Look look_at(const Fd& pipe) {
  struct stat info = {};
  REQUIRE(::fstat(pipe.get(), &info) == 0);
  return {::fcntl(pipe.get(), F_GETFL), ::fcntl(pipe.get(), F_GETPIPE_SZ), info.st_mode};
}

// The text through the socket, and the descriptor with it.
void send_with(const Fd& socket, std::string text, const Fd& along) {
  iovec bytes = {.iov_base = text.data(), .iov_len = text.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  const int fd = along.get();
  std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  REQUIRE(::sendmsg(socket.get(), &message, MSG_NOSIGNAL) == static_cast<ssize_t>(text.size()));
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

TEST_CASE("the caller's pipes are afterwards as they were: flags, size, mode") {
  struct Attack {
    int number;
    const char* mode;
  };
  for (const Attack& each : {Attack{0, "0"}, {1, "0"}, {2, "0"}, {1, "1023"}}) {
    const int number = each.number;
    CAPTURE(number);
    const Pipe pipe = make_pipe();
    const Fd& theirs = number == 0 ? pipe.read : pipe.write;
    const Look before = look_at(theirs);
    Run attack(
        {}, {"/bin/sh", "-c",
             "/targets/probe call fcntl $0 1031 4096; /targets/probe call fchmod $0 $2;"
             "/targets/probe call fcntl $0 4 $1; exit 3",
             std::to_string(number), std::to_string(O_NONBLOCK | O_ASYNC | O_DIRECT), each.mode});
    attack.command.fd(number, theirs.get());
    CHECK(attack.end().code == 3);
    const Look after = look_at(theirs);
    CHECK(after.flags == before.flags);
    CHECK(after.size == before.size);
    // A task with an id of its own is let in, so that it can open /dev/stdout.
    const mode_t added = !is_root() ? 0 : number == 0 ? 0044 : 0022;
    CHECK(after.mode == (before.mode | added));
  }
}

TEST_CASE("a FIFO keeps its mode, and the task has a pipe") {
  const TempDir host;
  const std::string path = host / "fifo";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  for (const int number : {0, 1, 2}) {
    CAPTURE(number);
    const Fd both(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    REQUIRE(both);
    Run attack({}, {"/bin/sh", "-c",
                    "chmod 666 /proc/self/fd/$0; readlink /proc/self/fd/$0 > link; "
                    "[ $0 = 0 ] || exec >&2; cat link",
                    std::to_string(number)});
    attack.command.fd(number, both.get());
    CHECK(attack.end().reason() == "exited");
    struct stat after = {};
    REQUIRE(::stat(path.c_str(), &after) == 0);
    CHECK((after.st_mode & 07777) == 0600);
  }
}

TEST_CASE("events and commands have no place that the task has, too") {
  const TempDir host;
  const Fd file(::open(host.file("file", "").c_str(), O_RDWR | O_CLOEXEC));
  REQUIRE(::mkfifo((host / "fifo").c_str(), 0600) == 0);
  const Fd fifo(::open((host / "fifo").c_str(), O_RDWR | O_CLOEXEC));
  const Pipe pipe = make_pipe();
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  const Fd ours(ends[0]), theirs(ends[1]);
  // What both words say of the option's descriptor 9 being the same as `number`.
  const auto refused = [](const std::string& option, int number, int at_number, int at_nine,
                          const std::string& what) {
    CAPTURE(what);
    CAPTURE(number);
    std::string said;
    for (const Words& verb : {Words{"run"}, Words{"explain", "run"}}) {
      Words words = {mayfly_path()};
      words.insert(words.end(), verb.begin(), verb.end());
      words.insert(words.end(), {option, "9", "--", "/bin/sh", "-c", "echo started"});
      const TempDir project;
      Command command(words);
      command.cwd(project.path()).fd(9, at_nine).fd(number, at_number);
      const Finished ended = command.run();
      CHECK(ended.code == 125);
      CHECK_FALSE(contains(ended.out, "started"));
      if (number == 2) continue;
      CHECK(contains(ended.err, "descriptor 9: it is the same " + what + " as descriptor " +
                                    std::to_string(number) + " ("));
      CHECK(contains(ended.err, "hint: give it a "));
      CHECK((said.empty() || said == ended.err));
      said = ended.err;
    }
  };
  for (const int number : {0, 1, 2}) {
    refused("--status-fd", number, file.get(), file.get(), "file");
    refused("--status-fd", number, fifo.get(), fifo.get(), "pipe");
    refused("--status-fd", number, theirs.get(), theirs.get(), "socket");
  }
  refused("--status-fd", 1, pipe.write.get(), pipe.write.get(), "pipe");
  refused("--control-fd", 0, pipe.read.get(), pipe.read.get(), "pipe");
  refused("--control-fd", 1, pipe.write.get(), pipe.read.get(), "pipe");
  refused("--control-fd", 0, theirs.get(), theirs.get(), "socket");

  // The caller's stdin is not the task's here, and /dev/null holds nothing.
  Run other({"--stdin", "null", "--control-fd", "9", "--grace", "0"}, {"/bin/echo", "ran"});
  const Pipe commands = make_pipe();
  other.command.fd(0, commands.read.get()).fd(9, commands.read.get());
  CHECK(other.end().out == "ran\n");
  const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  Run nowhere({"--status-fd", "9"}, {"/bin/true"});
  nowhere.command.fd(0, null.get()).fd(9, null.get());
  CHECK(nowhere.end().code == 0);
}

TEST_CASE("a UNIX socket is never the task's, is not shut down by it, and carries both ways") {
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  const Fd ours(ends[0]), theirs(ends[1]);
  REQUIRE(::write(ours.get(), "hello\n", 6) == 6);
  REQUIRE(::shutdown(ours.get(), SHUT_WR) == 0);
  Run attack({}, {"/bin/sh", "-c",
                  "cat; for i in 0 1 2; do readlink /proc/self/fd/$i | cut -d: -f1; done;"
                  "echo error >&2"});
  for (const int number : {0, 1, 2})
    attack.command.fd(number, theirs.get());
  CHECK(attack.end().reason() == "exited");
  // After the end it is still what it was to the caller.
  REQUIRE(::write(theirs.get(), "after", 5) == 5);
  std::string received;
  char buffer[256];
  while (!contains(received, "after")) {
    const ssize_t got = ::read(ours.get(), buffer, sizeof buffer);
    REQUIRE(got > 0);
    received.append(buffer, static_cast<std::size_t>(got));
  }
  CHECK(contains(received, "hello\n"));
  CHECK(contains(received, "pipe\npipe\npipe\n"));
  CHECK(contains(received, "error\n"));
  CHECK_FALSE(contains(received, "socket"));
}

TEST_CASE("a descriptor that comes along on a UNIX socket reaches nobody") {
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  const Fd ours(ends[0]), theirs(ends[1]);
  Pipe sent = make_pipe();
  send_with(ours, "text\n", sent.write);
  sent.write.reset();
  Run attack({}, {"/bin/sh", "-c", "read line; echo $line; sleep 20"});
  attack.command.fd(0, theirs.get());
  Process process = attack.command.start();
  process.await_output("text");
  // While the task runs: neither it nor its supervisor holds the pipe.
  char nothing = 0;
  CHECK(::read(sent.read.get(), &nothing, 1) == 0);
  process.send(SIGTERM);
  CHECK(attack.end(std::move(process)).reason() == "cancelled");
}

TEST_CASE("UNIX sockets of datagrams and records are refused before the start, with a remedy") {
  for (const int type : {SOCK_DGRAM, SOCK_SEQPACKET}) {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) == 0);
    const Fd ours(ends[0]), theirs(ends[1]);
    Run attack({}, {"/bin/sh", "-c", "echo started"});
    attack.command.fd(0, theirs.get());
    const Ended ended = attack.end();
    CHECK(ended.code == 125);
    CHECK(ended.out.empty());
    CHECK(contains(ended.err, "it is a socket that is no stream"));
    CHECK(contains(ended.err, "hint: give it a pipe or a file"));
  }
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
