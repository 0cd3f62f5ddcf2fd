// What goes in and out of a sandbox through its descriptors, and that nobody waits for ever.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "harness/host.hpp"
#include "harness/sandbox.hpp"
#include "harness/suite.hpp"

using namespace harness;

namespace {

std::string noise(std::size_t size) {
  std::string bytes(size, '\0');
  std::uint64_t state = 0x9e3779b97f4a7c15;
  for (char& byte : bytes) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    byte = static_cast<char>(state);
  }
  return bytes;
}

}  // namespace

TEST_CASE("10 MiB of binary through stdin and stdout arrive as they were") {
  const std::string bytes = noise(10u << 20);
  Run cat({}, {"/bin/cat"});
  cat.command.in(bytes);
  const Ended ended = cat.end();
  CHECK(ended.code == 0);
  const bool same = ended.out == bytes;
  CHECK(same);
}

TEST_CASE("stdin from a pipe that closes at once is an end of file") {
  const Ended ended = run({}, {"/bin/cat"});
  CHECK(ended.code == 0);
  CHECK(ended.out.empty());
}

TEST_CASE("what a command has not read of a file on stdin is read by the next program") {
  const TempDir host;
  const std::string list = host.file("list", "a\nb\nc\n");
  const auto said = [&](const std::string& script, const std::string& file) {
    return Command({"/bin/sh", "-c", "exec < \"$1\"; " + script, mayfly_path(), file})
        .cwd(host.path())
        .run()
        .out;
  };
  CHECK(said("while read -r x; do \"$0\" run -- /bin/echo \"$x\"; done", list) == "a\nb\nc\n");
  CHECK(said("\"$0\" run -- sh -c 'read -r x; echo first $x'; cat", list) == "first a\nb\nc\n");
  CHECK(said("\"$0\" run --max-output 1M -- cat; cat", list) == "a\nb\nc\n");
  CHECK(said("\"$0\" run --ttl 1ms -- sleep 9; cat", list) == "a\nb\nc\n");
  // More than any pipe or buffer holds.
  const std::string large = host.file("large", noise(1u << 20));
  CHECK(said("\"$0\" run -- head -c 300000 > head; cat > rest", large).empty());
  const bool is_whole = read_file(host / "head") + read_file(host / "rest") == read_file(large);
  CHECK(is_whole);
  CHECK(read_file(host / "head").size() == 300'000);
}

TEST_CASE("--stdin null and --stdin FILE stand in for the caller's stdin") {
  Run null({"--stdin", "null"}, {"/bin/cat"});
  null.command.in("from the caller");
  CHECK(null.end().out.empty());

  const TempDir host;
  const Ended from_file = run({"--stdin", host.file("input", "from a file")}, {"/bin/cat"});
  CAPTURE(from_file.err);
  CHECK(from_file.out == "from a file");
}

TEST_CASE("a background child that holds stdout does not keep the caller waiting") {
  const std::string marker = new_marker();
  for (const char* script : {"(/targets/probe hold \"$1\" &); echo hi",
                             "(/targets/probe hold \"$1\" >/dev/null 2>&1 &); echo hi",
                             "(trap '' TERM HUP; /targets/probe hold \"$1\" &); echo hi"}) {
    CAPTURE(script);
    const Ended ended = sh(script, {}, {marker});
    CHECK(ended.code == 0);
    CHECK(contains(ended.out, "hi"));
    CHECK_FALSE(ended.timed_out);
    // 0.5 s is the promise; a loaded machine gets some more before the test calls it broken.
    CHECK(ended.eof_after < paced(1500));
    CHECK(processes_with(marker).empty());
  }
}

TEST_CASE("--linger waits for background children, up to the TTL") {
  const Ended waited = sh("(sleep 0.3; echo late) & echo early", {"--linger"});
  CHECK(waited.code == 0);
  CHECK(waited.out == "early\nlate\n");

  const std::string marker = new_marker();
  const Ended cut = sh("/targets/probe hold \"$1\" & echo early; exit 3",
                       {"--linger", "--ttl", paced_text(500), "--grace", "0"}, {marker});
  CHECK(contains(cut.out, "early\n"));
  CHECK(cut.code == 124);
  CHECK(cut.reason() == "ttl");
  CHECK(cut.exited_after >= paced(500));
  CHECK(cut.exited_after < paced(2000));
  CHECK(processes_with(marker).empty());
}

TEST_CASE("--linger gives what was left in the background its grace time, too") {
  const std::string left = "(trap 'echo bye; exit' TERM; while :; do sleep 0.05; done) & exit 3";
  const Ended late = sh(left, {"--linger", "--ttl", paced_text(700), "--grace", "20s"});
  CHECK(late.reason() == "ttl");
  CHECK(late.out == "bye\n");
  CHECK(late.exited_after < paced(15'000));

  const Run told({"--linger", "--grace", "20s"}, {"/bin/sh", "-c", "echo up; " + left});
  Process process = told.command.start();
  std::this_thread::sleep_for(paced(700));
  process.send(SIGTERM);
  const Ended ended = told.end(std::move(process));
  CHECK(ended.reason() == "cancelled");
  CHECK(ended.out == "up\nbye\n");
  CHECK(ended.exited_after < paced(15'000));
}

TEST_CASE("1 MiB on stdout and on stderr to a slow reader: no deadlock") {
  constexpr std::size_t kSize = 1u << 20;
  const Run flood({}, {kProbe, "flood", std::to_string(kSize)});
  Process process = flood.command.start();
  std::this_thread::sleep_for(paced(500));  // both pipes are full by now
  const Ended ended = flood.end(std::move(process));
  CHECK(ended.code == 0);
  CHECK(ended.out.size() == kSize);
  CHECK(ended.err.size() == kSize);
}

TEST_CASE("a task whose reader has gone gets SIGPIPE or EPIPE, not a hang") {
  Run yes({"--ttl", paced_text(20'000)}, {"/bin/sh", "-c", "yes"});
  Pipe out = make_pipe();
  yes.command.fd(1, out.write.get());
  Process process = yes.command.start();
  out.write.reset();
  std::array<char, 100> some{};
  REQUIRE(::read(out.read.get(), some.data(), some.size()) > 0);
  out.read.reset();
  const Ended ended = yes.end(std::move(process));
  CHECK_FALSE(ended.timed_out);
  CHECK(ended.exited_after < paced(10'000));
  CHECK(ended.code != 0);
}

TEST_CASE("a FIFO on stdin ends when its writers are gone, also when they were gone before") {
  const TempDir host;
  const std::string path = host / "fifo";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  Run cat({}, {"/bin/cat"});
  {
    const Fd reader(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    Fd writer(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    REQUIRE(reader);
    REQUIRE(writer);
    REQUIRE(::fcntl(reader.get(), F_SETFL, 0) == 0);
    cat.command.fd(0, reader.get());
    REQUIRE(::write(writer.get(), "early", 5) == 5);
    Process process = cat.command.start();
    process.await_output("early");
    REQUIRE(::write(writer.get(), ", late", 6) == 6);
    writer.reset();
    const Ended late = cat.end(std::move(process));
    CHECK_FALSE(late.timed_out);
    CHECK(late.out == "early, late");

    Fd another(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    REQUIRE(::write(another.get(), "gone", 4) == 4);
    another.reset();
    const Ended gone = cat.end();
    CHECK_FALSE(gone.timed_out);
    CHECK(gone.out == "gone");
  }
  // Never had one, opened by us and by the caller.
  CHECK(run({"--stdin", path}, {"/bin/cat"}).code == 0);
  const Fd alone(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  Run silent({}, {"/bin/cat"});
  silent.command.fd(0, alone.get());
  const Ended ended = silent.end();
  CHECK_FALSE(ended.timed_out);
  CHECK(ended.code == 0);
}

TEST_CASE("a FIFO on stdout: all arrives, and a task whose reader has gone gets SIGPIPE") {
  const TempDir host;
  const std::string path = host / "fifo";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  Fd reader(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  Fd writer(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  REQUIRE(::fcntl(reader.get(), F_SETFL, 0) == 0);
  Run echo({}, {"/bin/sh", "-c", "echo one; sleep 0.1; echo two"});
  echo.command.fd(1, writer.get());
  CHECK(echo.end().code == 0);
  char text[16] = {};
  CHECK(::read(reader.get(), text, sizeof text) == 8);
  CHECK(std::string(text) == "one\ntwo\n");

  Run yes({"--ttl", paced_text(20'000)}, {"/bin/sh", "-c", "yes"});
  yes.command.fd(1, writer.get());
  Process process = yes.command.start();
  writer.reset();
  CHECK(::read(reader.get(), text, sizeof text) > 0);
  reader.reset();
  const Ended ended = yes.end(std::move(process));
  CHECK_FALSE(ended.timed_out);
  CHECK(ended.code == 141);
}

TEST_CASE("one place for stdout and stderr gets both in their order") {
  const char* script = "for i in 1 2 3 4 5 6; do echo o$i; echo e$i >&2; done";
  const std::string wanted = "o1\ne1\no2\ne2\no3\ne3\no4\ne4\no5\ne5\no6\ne6\n";
  const TempDir host;
  const auto said = [&](const Words& options, const Fd& to) {
    Run both(options, {"/bin/sh", "-c", script});
    both.command.fd(1, to.get()).fd(2, to.get());
    const Ended ended = both.end();
    CHECK(ended.code == 0);
    return ended.result["usage"];
  };
  for (const int flags : {O_WRONLY, O_WRONLY | O_APPEND}) {
    const std::string path = host.file("log", "");
    const auto usage = said({}, Fd(::open(path.c_str(), flags | O_CLOEXEC)));
    CHECK(read_file(path) == wanted);
    CHECK(usage["stdout_bytes"] == wanted.size());
    CHECK(usage["stderr_bytes"].is_null());
    CHECK(usage.value("stderr_bytes_why", "") ==
          "in one file with standard output, and counted there");
  }
  REQUIRE(::mkfifo((host / "fifo").c_str(), 0600) == 0);
  const auto from = [](const Fd& reader) {
    char text[256] = {};
    CHECK(::read(reader.get(), text, sizeof text - 1) > 0);
    return std::string(text);
  };
  const Fd fifo(::open((host / "fifo").c_str(), O_RDWR | O_CLOEXEC));
  said({}, fifo);
  CHECK(from(fifo) == wanted);
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  const Fd ours(ends[0]), theirs(ends[1]);
  said({}, theirs);
  CHECK(from(ours) == wanted);
  const Pipe pipe = make_pipe();
  for (const Words& options : {Words{}, {"--max-output", "1M"}, {"--idle", "20s"}}) {
    said(options, pipe.write);
    CHECK(from(pipe.read) == wanted);
  }
  // Both count, and exactly so much is delivered.
  Run limited({"--max-output", "5", "--quiet"}, {"/bin/sh", "-c", script});
  limited.command.fd(1, pipe.write.get()).fd(2, pipe.write.get());
  CHECK(limited.end().reason() == "output_limit");
  CHECK(from(pipe.read) == wanted.substr(0, 5));
}

TEST_CASE("different files for stdout and stderr get what is theirs") {
  const TempDir host;
  const Fd out(::open(host.file("out", "").c_str(), O_WRONLY | O_CLOEXEC));
  const Fd err(::open(host.file("err", "").c_str(), O_WRONLY | O_CLOEXEC));
  Run two({}, {"/bin/sh", "-c", "echo out; echo error >&2"});
  two.command.fd(1, out.get()).fd(2, err.get());
  const Ended ended = two.end();
  CHECK(read_file(host / "out") == "out\n");
  CHECK(read_file(host / "err") == "error\n");
  CHECK(ended.result["usage"]["stdout_bytes"] == 4);
  CHECK(ended.result["usage"]["stderr_bytes"] == 6);
}

TEST_CASE("one file that is open twice is written to at two places") {
  const TempDir host;
  const std::string path = host.file("log", "");
  const Fd out(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  const Fd err(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  REQUIRE(::lseek(err.get(), 100, SEEK_SET) == 100);
  Run two({}, {"/bin/sh", "-c", "echo out; echo error >&2; echo out"});
  two.command.fd(1, out.get()).fd(2, err.get());
  CHECK(two.end().code == 0);
  CHECK(read_file(path) == "out\nout\n" + std::string(92, '\0') + "error\n");
}

TEST_CASE("two terminals, which are opened by one name, get what is theirs") {
  struct Pty {
    Fd master = Fd(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)), slave = {};
    Pty() {
      char name[64] = {};
      REQUIRE(::grantpt(master.get()) == 0);
      REQUIRE(::unlockpt(master.get()) == 0);
      REQUIRE(::ptsname_r(master.get(), name, sizeof name) == 0);
      slave = Fd(::open(name, O_RDWR | O_NOCTTY | O_CLOEXEC));
    }
    std::string said() const {
      char text[64] = {};
      const ssize_t size = ::read(slave.get(), text, sizeof text);
      return size > 0 ? std::string(text, static_cast<std::size_t>(size)) : "nothing";
    }
  };
  const Pty one, other;
  Run two({}, {"/bin/sh", "-c", "echo out; echo error >&2"});
  two.command.fd(1, one.master.get()).fd(2, other.master.get());
  CHECK(two.end().code == 0);
  CHECK(one.said() == "out\n");
  CHECK(other.said() == "error\n");
}

TEST_CASE("the task has descriptors 0 to 2 and no other, whatever the caller holds") {
  const TempDir host;
  const Fd secret(::open(host.file("secret", "s3cret").c_str(), O_RDWR | O_CLOEXEC));
  const Fd directory(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  Run crowded({}, {kProbe, "fds"});
  for (int number = 3; number <= 200; ++number)
    crowded.command.fd(number, number % 2 == 0 ? secret.get() : directory.get());
  const Ended ended = crowded.end();
  CAPTURE(ended.out);
  CAPTURE(ended.err);
  CHECK(ended.code == 0);
  REQUIRE(lines(ended.out).size() == 3);
  for (std::size_t i = 0; i < 3; ++i)
    CHECK(lines(ended.out)[i].starts_with(std::to_string(i) + " "));
}

TEST_CASE("closed descriptors 0 to 2 become /dev/null, and nothing else takes their place") {
  for (const int number : {0, 1, 2}) {
    CAPTURE(number);
    Run closed({}, {"/bin/sh", "-c", "/targets/probe fds > fds 2>/dev/null; cat fds; cat fds >&2"});
    closed.command.closed(number);
    const Ended ended = closed.end();
    const std::string seen = number == 1 ? ended.err : ended.out;
    CAPTURE(seen);
    CHECK(ended.code == 0);
    // fd 1 and 2 of the probe are redirected by the shell; 0 is as the task got it.
    CHECK(lines(seen).size() == 3);
    if (number == 0) CHECK(contains(value_of(seen, "0"), "/dev/null"));
  }
}
