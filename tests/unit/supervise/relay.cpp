#include "supervise/relay.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "fake_init.hpp"
#include "support.hpp"
#include "sys/event.hpp"

using namespace mayfly;
using namespace mayfly::test;
using supervise::Direction;
using supervise::Endpoint;
using supervise::Relay;

namespace {

sys::Pipe make_pipe() {
  return sys::pipe().value();
}

Endpoint own(Fd fd) {
  REQUIRE(sys::set_nonblocking(fd));
  return Endpoint::own(std::move(fd));
}

// Turns the relay until it is finished or `limit_ms` passed. Returns how often it woke up.
int turn(Relay& relay, int limit_ms) {
  const std::int64_t deadline = sys::boottime_ns() + std::int64_t{limit_ms} * 1'000'000;
  int turns = 0;
  while (!relay.finished()) {
    std::vector<pollfd> polls;
    relay.add_polls(polls);
    std::int64_t left = deadline - sys::boottime_ns();
    if (left <= 0) break;
    if (const auto next = relay.next_try_ns()) left = std::min(left, *next - sys::boottime_ns());
    REQUIRE(sys::ppoll(polls, std::max<std::int64_t>(left, 0)));
    relay.handle(polls, sys::boottime_ns());
    ++turns;
  }
  return turns;
}

std::string pattern(std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i)
    text[i] = static_cast<char>((i * 2654435761u) >> 13);
  return text;
}

std::string read_slowly(int fd, int pause_us) {
  std::string text;
  char buffer[8192];
  for (ssize_t got; (got = ::read(fd, buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(got));
    ::usleep(static_cast<unsigned>(pause_us));
  }
  return text;
}

void write_all(Fd fd, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t put = ::write(fd.get(), text.data() + at, text.size() - at);
    if (put <= 0) return;
    at += static_cast<std::size_t>(put);
  }
}

struct Terminal {
  Fd master, slave;
};
Terminal open_terminal() {
  Terminal terminal;
  terminal.master = Fd(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  REQUIRE(::grantpt(terminal.master.get()) == 0);
  REQUIRE(::unlockpt(terminal.master.get()) == 0);
  char name[64];
  REQUIRE(::ptsname_r(terminal.master.get(), name, sizeof name) == 0);
  terminal.slave = Fd(::open(name, O_RDWR | O_NOCTTY | O_CLOEXEC));
  REQUIRE(terminal.slave);
  termios raw{};
  REQUIRE(::tcgetattr(terminal.slave.get(), &raw) == 0);
  ::cfmakeraw(&raw);
  REQUIRE(::tcsetattr(terminal.slave.get(), TCSANOW, &raw) == 0);
  return terminal;
}

}  // namespace

TEST_CASE("relay: 1 MiB to a slow reader arrives whole, without a busy loop") {
  const std::string sent = pattern(1 << 20);
  sys::Pipe task = make_pipe(), caller = make_pipe();
  Relay relay;
  relay.add_output(own(std::move(task.read_end)),
                   Endpoint::borrow(caller.write_end.get(), Direction::Write), "stdout");
  std::thread writer([&] { write_all(std::move(task.write_end), sent); });
  std::string received;
  std::thread reader([&] { received = read_slowly(caller.read_end.get(), 500); });
  const int turns = turn(relay, 20'000);
  CHECK(relay.finished());
  CHECK(relay.losses() == "");
  writer.join();
  caller.write_end.reset();
  relay = Relay();  // its own descriptor of the pipe
  reader.join();
  CHECK(received == sent);
  CHECK(turns < 4000);
}

TEST_CASE("relay: a reader that takes nothing wakes nobody up, and is named") {
  sys::Pipe task = make_pipe(), caller = make_pipe();
  Relay relay;
  relay.add_output(own(std::move(task.read_end)),
                   Endpoint::borrow(caller.write_end.get(), Direction::Write), "stdout");
  std::thread writer([&] { write_all(std::move(task.write_end), pattern(1 << 20)); });
  const int turns = turn(relay, 300);
  CHECK(turns < 50);
  CHECK_FALSE(relay.finished());
  CHECK(relay.losses() == "output to stdout was lost: its reader takes nothing");
  ::signal(SIGPIPE, SIG_IGN);
  relay = Relay();
  writer.join();
}

TEST_CASE("relay: a reader that leaves gives the task a broken pipe, not silence") {
  ::signal(SIGPIPE, SIG_IGN);
  sys::Pipe task = make_pipe(), caller = make_pipe();
  Relay relay;
  relay.add_output(own(std::move(task.read_end)),
                   Endpoint::borrow(caller.write_end.get(), Direction::Write), "stdout");
  // Seen although nothing is written.
  caller.read_end.reset();
  turn(relay, 5'000);
  CHECK(relay.finished());
  CHECK(relay.losses() == "");
  CHECK(::write(task.write_end.get(), "x", 1) == -1);
  CHECK(errno == EPIPE);
}

TEST_CASE("relay: a full disk is told") {
  sys::Pipe task = make_pipe();
  const Fd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  REQUIRE(full);
  Relay relay;
  relay.add_output(own(std::move(task.read_end)), Endpoint::borrow(full.get(), Direction::Write),
                   "stderr");
  REQUIRE(::write(task.write_end.get(), "x", 1) == 1);
  turn(relay, 5'000);
  CHECK(relay.finished());
  CHECK(relay.losses() == "output to stderr was lost: it failed with ENOSPC");
}

TEST_CASE("relay: input arrives, and its end") {
  const TempDir dir;
  const std::string sent = pattern(300'000);
  write_text(dir / "in", sent);
  const Fd file(::open((dir / "in").c_str(), O_RDONLY | O_CLOEXEC));
  sys::Pipe task = make_pipe();
  Relay relay;
  relay.add_input(Endpoint::borrow(file.get(), Direction::Read), own(std::move(task.write_end)),
                  "stdin");
  CHECK(relay.finished());  // nobody waits for input to be delivered
  std::string received;
  std::thread reader([&] { received = read_slowly(task.read_end.get(), 0); });
  std::vector<pollfd> polls;
  for (relay.add_polls(polls); !polls.empty(); relay.add_polls(polls)) {
    REQUIRE(sys::ppoll(polls, 5'000'000'000));
    relay.handle(polls, sys::boottime_ns());
    polls.clear();
  }
  reader.join();
  CHECK(received == sent);
}

TEST_CASE("relay: a task that closes its stdin is no reason to go on reading") {
  sys::Pipe task = make_pipe(), caller = make_pipe();
  Relay relay;
  relay.add_input(Endpoint::borrow(caller.read_end.get(), Direction::Read),
                  own(std::move(task.write_end)), "stdin");
  task.read_end.reset();
  std::vector<pollfd> polls;
  relay.add_polls(polls);
  REQUIRE(sys::ppoll(polls, 5'000'000'000));
  relay.handle(polls, sys::boottime_ns());
  polls.clear();
  relay.add_polls(polls);
  CHECK(polls.empty());
}

TEST_CASE("relay: the flags of the caller's open file descriptions stay as they are") {
  const Terminal terminal = open_terminal();
  sys::Pipe pipe = make_pipe();
  int sockets[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) == 0);
  const Fd left(sockets[0]), right(sockets[1]);
  for (const int fd : {terminal.slave.get(), pipe.write_end.get(), left.get()}) {
    const int before = ::fcntl(fd, F_GETFL);
    Endpoint endpoint = Endpoint::borrow(fd, Direction::Write);
    // Never blocks, though the description does. (A terminal may have room again a little later.)
    const auto is_full_at_last = [&] {
      for (int i = 0; i < 10'000; ++i) {
        const supervise::Moved moved = endpoint.write(std::string(1024, 'x'));
        if (moved.status == supervise::Moved::Status::Later) return true;
        REQUIRE(moved.status == supervise::Moved::Status::Some);
      }
      return false;
    };
    CHECK(is_full_at_last());
    CHECK(is_full_at_last());
    CHECK(::fcntl(fd, F_GETFL) == before);
    CHECK((before & O_NONBLOCK) == 0);
  }
}

TEST_CASE("relay: the master side of a terminal is not opened anew, which would make another one") {
  const Terminal terminal = open_terminal();
  Endpoint endpoint = Endpoint::borrow(terminal.master.get(), Direction::Write);
  REQUIRE(endpoint.write(std::string("typed")).status == supervise::Moved::Status::Some);
  char text[16] = {};
  CHECK(::read(terminal.slave.get(), text, sizeof text) == 5);
  CHECK(std::string(text) == "typed");
}

TEST_CASE("relay: a terminal on both sides of the task") {
  const Terminal terminal = open_terminal();
  sys::Pipe in = make_pipe(), out = make_pipe();
  Relay relay;
  relay.add_input(Endpoint::borrow(terminal.slave.get(), Direction::Read),
                  own(std::move(in.write_end)), "stdin");
  relay.add_output(own(std::move(out.read_end)),
                   Endpoint::borrow(terminal.slave.get(), Direction::Write), "stdout");
  // The task: echoes one line.
  std::thread task([&, read_end = std::move(in.read_end), write_end = std::move(out.write_end)] {
    char line[16];
    const ssize_t got = ::read(read_end.get(), line, sizeof line);
    if (got > 0 && ::write(write_end.get(), line, static_cast<std::size_t>(got)) < 0) return;
  });
  REQUIRE(::write(terminal.master.get(), "hello\n", 6) == 6);
  turn(relay, 10'000);
  task.join();
  CHECK(relay.finished());
  char echo[16] = {};
  CHECK(::read(terminal.master.get(), echo, sizeof echo) == 6);
  CHECK(std::string(echo) == "hello\n");
}

TEST_CASE("relay: reading a terminal from the background waits, and goes on in the foreground") {
  const std::string answer = in_child([] {
    // A session of our own, whose terminal's foreground is another process group.
    ::setsid();
    const int master = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    ::grantpt(master);
    ::unlockpt(master);
    char name[64];
    ::ptsname_r(master, name, sizeof name);
    const int slave = ::open(name, O_RDWR | O_CLOEXEC);
    if (::ioctl(slave, TIOCSCTTY, 0) != 0 && errno != EPERM) return std::string("no terminal");
    ::signal(SIGTTOU, SIG_IGN);
    sigset_t stops;
    ::sigemptyset(&stops);
    ::sigaddset(&stops, SIGTTIN);
    ::sigprocmask(SIG_BLOCK, &stops, nullptr);
    Child other([] {
      ::pause();
      return 0;
    });
    ::setpgid(other.pid(), other.pid());
    if (::tcsetpgrp(slave, other.pid()) != 0) return std::string("no foreground");
    if (::write(master, "typed\n", 6) != 6) return std::string("no input");

    Endpoint source = Endpoint::borrow(slave, Direction::Read);
    char buffer[16] = {};
    if (source.read(buffer).status != supervise::Moved::Status::Paused) {
      return std::string("not paused");
    }
    sys::Pipe pipe = sys::pipe().value();
    if (!sys::set_nonblocking(pipe.write_end)) return std::string("?");
    Relay relay;
    relay.add_input(std::move(source), Endpoint::own(std::move(pipe.write_end)), "stdin");
    int wakes = 0;
    for (const std::int64_t end = sys::boottime_ns() + 700'000'000; sys::boottime_ns() < end;) {
      if (wakes == 2) ::tcsetpgrp(slave, ::getpgrp());
      std::vector<pollfd> polls;
      relay.add_polls(polls);
      std::int64_t wait = 100'000'000;
      if (const auto next = relay.next_try_ns())
        wait = std::max<std::int64_t>(0, *next - sys::boottime_ns());
      if (!sys::ppoll(polls, wait)) return std::string("?");
      relay.handle(polls, sys::boottime_ns());
      if (++wakes > 100) return std::string("busy loop");
    }
    const ssize_t got = ::read(pipe.read_end.get(), buffer, sizeof buffer);
    return std::string(buffer, static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  });
  CHECK(answer == "typed\n");
}

TEST_CASE("relay in the loop: output is delivered after the end") {
  CHECK(in_child([] {
          sys::Pipe task = make_pipe(), caller = make_pipe();
          Child reader([&] {
            caller.write_end.reset();
            task.write_end.reset();
            sleep_ms(300);
            return read_slowly(caller.read_end.get(), 0).size() == 120'000 ? 0 : 1;
          });
          Scene scene;
          const int task_end = task.write_end.release();
          scene.task_ends = {task_end};
          scene.relay = [&](Relay& relay) {
            relay.add_output(own(std::move(task.read_end)),
                             Endpoint::borrow(caller.write_end.get(), Direction::Write), "stdout");
          };
          const std::string end = watch_here(scene, [&](Script& init) {
            init.started();
            write_all(Fd(task_end), std::string(120'000, 'x'));
            init.exited(0);
            return 0;
          });
          caller.write_end.reset();
          return end + " " + std::to_string(reader.wait());
        }) == "exited 0 started [started 2, ending exited] 0");
}

TEST_CASE(
    "relay in the loop: a reader that takes nothing ends in an unclean outcome, not in a hang") {
  CHECK(in_child([] {
          sys::Pipe task = make_pipe(), caller = make_pipe();
          Scene scene;
          scene.teardown_ms = 300;
          const int task_end = task.write_end.release();
          scene.task_ends = {task_end};
          scene.relay = [&](Relay& relay) {
            relay.add_output(own(std::move(task.read_end)),
                             Endpoint::borrow(caller.write_end.get(), Direction::Write), "stdout");
          };
          return watch_here(scene, [&](Script& init) {
            init.started();
            write_all(Fd(task_end), std::string(120'000, 'x'));
            init.exited(0);
            return 0;
          });
        }) ==
        "exited 0 started unclean: output to stdout was lost: its reader takes nothing "
        "[started 2, ending exited]");
}

namespace {

struct Limited {
  sys::Pipe task = make_pipe(), caller = make_pipe();
  Relay relay;
  explicit Limited(std::uint64_t bytes) {
    relay.add_output(own(std::move(task.read_end)),
                     Endpoint::borrow(caller.write_end.get(), Direction::Write), "stdout");
    relay.limit_output(bytes);
  }
  std::string received() {
    relay = Relay();
    caller.write_end.reset();
    return read_slowly(caller.read_end.get(), 0);
  }
};

}  // namespace

TEST_CASE("relay: exactly as much output as the limit allows is no breach") {
  Limited limited(5);
  REQUIRE(::write(limited.task.write_end.get(), "hello", 5) == 5);
  CHECK_FALSE(limited.relay.will_be_over_limit());
  limited.task.write_end.reset();
  turn(limited.relay, 5'000);
  CHECK(limited.relay.finished());
  CHECK_FALSE(limited.relay.is_over_limit());
  CHECK(limited.relay.delivered("stdout") == 5u);
  CHECK(limited.received() == "hello");
}

TEST_CASE("relay: of more output exactly the limit is delivered, and the rest is refused") {
  for (const std::uint64_t limit : {std::uint64_t{1}, std::uint64_t{40'000}}) {
    Limited limited(limit);
    std::thread writer([&] { write_all(std::move(limited.task.write_end), pattern(100'000)); });
    std::string received;
    turn(limited.relay, 5'000);
    CHECK(limited.relay.finished());
    CHECK(limited.relay.is_over_limit());
    CHECK(limited.relay.losses() == "");
    CHECK(limited.relay.delivered("stdout") == limit);
    writer.join();  // by EPIPE
    CHECK(limited.received() == pattern(100'000).substr(0, limit));
  }
}

TEST_CASE("relay: that there will be too much is seen before it is read") {
  Limited limited(4);
  REQUIRE(::write(limited.task.write_end.get(), "hello", 5) == 5);
  CHECK(limited.relay.will_be_over_limit());
  CHECK_FALSE(limited.relay.is_over_limit());
}

TEST_CASE("relay: an input that closes in between does not mix up the others") {
  sys::Pipe in = make_pipe(), task_in = make_pipe(), task_out = make_pipe(), out = make_pipe();
  Relay relay;
  relay.add_input(Endpoint::borrow(in.read_end.get(), Direction::Read),
                  own(std::move(task_in.write_end)), "stdin");
  relay.add_output(own(std::move(task_out.read_end)),
                   Endpoint::borrow(out.write_end.get(), Direction::Write), "stdout");
  task_in.read_end.reset();  // POLLERR at the input's sink
  REQUIRE(::write(task_out.write_end.get(), "late", 4) == 4);
  std::vector<pollfd> polls;
  relay.add_polls(polls);
  REQUIRE(sys::ppoll(polls, 5'000'000'000));
  relay.stop_input();
  relay.handle(polls, sys::boottime_ns());
  CHECK(relay.delivered("stdout") == 4u);
}

TEST_CASE("relay: the end of a terminal's input is typed, and a lost reader hangs it up") {
  Terminal terminal = open_terminal();
  termios cooked{};
  REQUIRE(::tcgetattr(terminal.slave.get(), &cooked) == 0);
  cooked.c_lflag |= ICANON;
  REQUIRE(::tcsetattr(terminal.slave.get(), TCSANOW, &cooked) == 0);
  sys::Pipe in = make_pipe(), out = make_pipe();
  Fd copy(::fcntl(terminal.master.get(), F_DUPFD_CLOEXEC, 3));
  REQUIRE(sys::set_nonblocking(terminal.master));
  Relay relay;
  relay.add_terminal(Endpoint::borrow(in.read_end.get(), Direction::Read),
                     Endpoint::borrow(out.write_end.get(), Direction::Write),
                     std::move(terminal.master), std::move(copy));
  REQUIRE(::write(in.write_end.get(), "no newline", 10) == 10);
  in.write_end.reset();
  // Not before the task is there.
  turn(relay, 100);
  int typed = -1;
  CHECK(::ioctl(in.read_end.get(), FIONREAD, &typed) == 0);
  CHECK(typed == 10);
  relay.open_terminal();
  turn(relay, 300);
  CHECK_FALSE(relay.finished());
  char text[64];
  CHECK(::read(terminal.slave.get(), text, sizeof text) == 10);
  CHECK(::read(terminal.slave.get(), text, sizeof text) == 0);

  out.read_end.reset();
  turn(relay, 5'000);
  CHECK(relay.finished());
  CHECK(::read(terminal.slave.get(), text, sizeof text) <= 0);
  CHECK(::write(terminal.slave.get(), "x", 1) == -1);
  CHECK(errno == EIO);
}

TEST_CASE("relay: a terminal that begins lines with a return gets none of the task's") {
  Terminal inner = open_terminal();
  const Terminal outer = open_terminal();
  sys::Pipe in = make_pipe();
  Fd copy(::fcntl(inner.master.get(), F_DUPFD_CLOEXEC, 3));
  REQUIRE(sys::set_nonblocking(inner.master));
  Relay relay;
  relay.add_terminal(Endpoint::borrow(in.read_end.get(), Direction::Read),
                     Endpoint::borrow(outer.slave.get(), Direction::Write), std::move(inner.master),
                     std::move(copy));
  relay.mind_screen(outer.slave.get(), nullptr);
  const auto shown = [&](const std::string& text) {
    REQUIRE(::write(inner.slave.get(), text.data(), text.size()) ==
            static_cast<ssize_t>(text.size()));
    turn(relay, 200);
    char buffer[64] = {};
    CHECK(::read(outer.master.get(), buffer, sizeof buffer - 1) > 0);
    return std::string(buffer);
  };
  CHECK(shown("a\r\nb\rc") == "a\r\nb\rc");
  CHECK(relay.is_in_line());
  termios cooked{};
  REQUIRE(::tcgetattr(outer.slave.get(), &cooked) == 0);
  cooked.c_oflag |= OPOST | ONLCR;
  REQUIRE(::tcsetattr(outer.slave.get(), TCSANOW, &cooked) == 0);
  CHECK(shown("a\r\nb\rc\r\n") == "a\r\nb\rc\r\n");
  CHECK_FALSE(relay.is_in_line());
}
