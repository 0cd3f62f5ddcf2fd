#include "supervise/stdio.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "support.hpp"
#include "sys/event.hpp"
#include "sys/process.hpp"

using namespace mayfly;
using namespace mayfly::test;
using supervise::StdioRules;
using supervise::Treatment;

namespace {

Fd open_path(const std::string& path, int flags) {
  return Fd(::open(path.c_str(), flags | O_CLOEXEC, 0600));
}

Fd open_terminal() {
  Fd master(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  ::grantpt(master.get());
  ::unlockpt(master.get());
  return master;
}

void check(const Fd& fd, const std::string& words, Treatment treatment, StdioRules rules = {}) {
  REQUIRE(fd);
  const supervise::Kind kind = supervise::classify(fd.get(), rules);
  CAPTURE(words);
  CHECK(kind.words == words);
  CHECK(static_cast<int>(kind.treatment) == static_cast<int>(treatment));
}

Fd some_block_device() {
  for (const auto& entry : std::filesystem::directory_iterator("/dev")) {
    std::error_code ignored;
    if (!entry.is_block_file(ignored)) continue;
    if (Fd fd = open_path(entry.path(), O_RDONLY | O_NONBLOCK)) return fd;
  }
  return {};
}

// What prepare_stdio says where descriptor `number` is `fd`.
std::string prepared(int number, const Fd& fd, const spec::Spec& spec = {}) {
  return in_child([&] {
    ::dup2(fd.get(), number);
    const Result<supervise::Stdio> stdio = supervise::prepare_stdio(spec, {});
    if (!stdio) return describe(stdio.error()) + " | " + stdio.error().hint;
    const int task = number == 0 ? stdio->task.in : number == 1 ? stdio->task.out : stdio->task.err;
    return std::string(task == number ? "passed" : "relayed");
  });
}

}  // namespace

TEST_CASE("stdio: what is passed, relayed, refused") {
  const TempDir dir;
  sys::Pipe pipe = sys::pipe().value();
  check(pipe.read_end, "a pipe", Treatment::Pass);
  REQUIRE(::mkfifo((dir / "fifo").c_str(), 0600) == 0);
  check(open_path(dir / "fifo", O_RDONLY | O_NONBLOCK), "a FIFO", Treatment::Relay);
  int sockets[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
  const Fd one(sockets[0]), other(sockets[1]);
  check(one, "a UNIX socket", Treatment::Relay);
  check(other, "a UNIX socket", Treatment::Relay);
  REQUIRE(::socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets) == 0);
  const Fd datagrams(sockets[0]), their_peer(sockets[1]);
  check(datagrams, "a socket that is no stream", Treatment::Refuse);
  REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets) == 0);
  const Fd records(sockets[0]), their_reader(sockets[1]);
  check(records, "a socket that is no stream", Treatment::Refuse);
  check(Fd(::socket(AF_INET, SOCK_STREAM, 0)), "a socket that is not connected", Treatment::Refuse);
  check(open_path("/dev/null", O_RDWR), "/dev/null", Treatment::Pass);
  check(open_path("/dev/zero", O_RDONLY), "a character device", Treatment::Relay);

  const std::string file = dir / "file";
  const Fd regular = open_path(file, O_RDWR | O_CREAT);
  check(regular, "a regular file", Treatment::Relay);
  check(open_path(file, O_PATH), "an O_PATH handle", Treatment::Refuse);
  check(open_path(dir.path(), O_RDONLY), "a directory", Treatment::Refuse);
  check(open_path(dir.path(), O_PATH), "an O_PATH handle", Treatment::Refuse);

  const Fd terminal = open_terminal();
  check(terminal, "a terminal", Treatment::Relay);
  check(terminal, "a terminal", Treatment::Pass, {.unsafe_terminal = true});
  check(open_path("/dev/zero", O_RDONLY), "a character device", Treatment::Relay,
        {.unsafe_terminal = true});
}

TEST_CASE("stdio: handles of the kernel are refused, also those that look like regular files") {
  const std::string odd = "a handle of the kernel (an eventfd, a pidfd, …)";
  check(Fd(::eventfd(0, EFD_CLOEXEC)), odd, Treatment::Refuse);
  const std::string handle = "a handle of a process or namespace";
  check(open_path("/proc/self/ns/mnt", O_RDONLY), handle, Treatment::Refuse);
  const Fd pidfd = sys::pidfd_open(::getpid()).value();
  CHECK(supervise::classify(pidfd.get(), {}).treatment == Treatment::Refuse);
}

TEST_CASE("stdio: block devices are refused (root)") {
  const Fd device = some_block_device();
  if (!device) return skip("no block device here that this user may open");
  check(device, "a block device", Treatment::Refuse);
}

TEST_CASE("stdio: a refusal names the descriptor, what it is, and what to do") {
  const Fd directory = open_path("/", O_RDONLY);
  CHECK(prepared(0, directory) ==
        "cannot give descriptor 0 (stdin) to the task: it is a directory | give it a pipe or a "
        "file (< FILE), or use --stdin null");
  CHECK(prepared(1, directory) ==
        "cannot give descriptor 1 (stdout) to the task: it is a directory | give it a pipe or a "
        "file (> FILE)");
  CHECK(prepared(2, directory) ==
        "cannot give descriptor 2 (stderr) to the task: it is a directory | give it a pipe or a "
        "file (2> FILE)");
  const sys::Pipe pipe = sys::pipe().value();
  CHECK(prepared(1, pipe.write_end) == "passed");
  CHECK(prepared(1, open_path("/dev/zero", O_RDWR)) == "relayed");
}

TEST_CASE("stdio: --stdin") {
  const TempDir dir;
  write_text(dir / "in", "hello");
  const auto with = [&](spec::StdinKind kind, const std::string& file) {
    spec::Spec spec;
    spec.stdin_kind = kind;
    spec.stdin_file = file;
    return in_child([&] {
      // What the run of the tests has there may be relayed.
      const Fd null = open_path("/dev/null", O_WRONLY);
      ::dup2(null.get(), STDOUT_FILENO);
      ::dup2(null.get(), STDERR_FILENO);
      const Result<supervise::Stdio> stdio = supervise::prepare_stdio(spec, {});
      if (!stdio) return describe(stdio.error());
      if (!stdio->task_ends.empty()) return std::string("relayed");
      char text[16] = {};
      const ssize_t got = ::read(stdio->task.in, text, sizeof text);
      return std::to_string(got) + text + (stdio->task.in > 2 ? "" : " on the caller's");
    });
  };
  CHECK(with(spec::StdinKind::Null, "") == "0");
  CHECK(with(spec::StdinKind::File, dir / "in") == "relayed");
  CHECK(with(spec::StdinKind::File, dir / "none") ==
        "cannot open " + (dir / "none") + " as the task's stdin: open(" + (dir / "none") +
            ", O_RDONLY): No such file or directory (ENOENT)");
  CHECK(with(spec::StdinKind::File, dir.path()) ==
        "cannot give " + dir.path() + " (--stdin) to the task: it is a directory");
  // A FIFO that nobody writes to must not hold us.
  REQUIRE(::mkfifo((dir / "fifo").c_str(), 0600) == 0);
  CHECK(with(spec::StdinKind::File, dir / "fifo") == "relayed");
}

TEST_CASE("stdio: closed descriptors become /dev/null before anything takes their numbers") {
  for (int mask = 0; mask < 8; ++mask) {
    CAPTURE(mask);
    CHECK(in_child([&] {
            for (int fd = 0; fd < 3; ++fd)
              if ((mask & (1 << fd)) != 0) ::close(fd);
            if (!supervise::fill_missing_stdio()) return std::string("failed");
            for (int fd = 0; fd < 3; ++fd) {
              const supervise::Kind kind = supervise::classify(fd, {});
              const bool null = std::string(kind.words) == "/dev/null";
              if ((mask & (1 << fd)) != 0 && !null) return std::string("not null");
            }
            return std::string("filled");
          }) == "filled");
  }
}
