#include "host/input.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "../supervise/support.hpp"

using namespace mayfly;
using namespace mayfly::test;

namespace {

constexpr std::int64_t kShort = 50'000'000;

std::string refusal(const std::string& path) {
  const Result<Fd> opened = host::open_input(path);
  return opened ? "fine" : describe(opened.error()) + " | " + opened.error().hint;
}

std::array<Fd, 2> make_pipe() {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  return {Fd(ends[0]), Fd(ends[1])};
}

}  // namespace

TEST_CASE("input: what may never end is refused at once, by what was opened") {
  const TempDir dir;
  const std::string hint = " | name a file, or use a process substitution: <(COMMAND)";
  // Without a writer: a plain open would wait for one.
  REQUIRE(::mkfifo((dir / "fifo").c_str(), 0600) == 0);
  CHECK(refusal(dir / "fifo") ==
        "cannot read " + (dir / "fifo") + ": it is a FIFO, which may never end" + hint);
  const Fd screen(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  REQUIRE(screen);
  REQUIRE(::unlockpt(screen.get()) == 0);
  char name[64];
  REQUIRE(::ptsname_r(screen.get(), name, sizeof name) == 0);
  REQUIRE(::symlink(name, (dir / "terminal").c_str()) == 0);
  CHECK(refusal(dir / "terminal") ==
        "cannot read " + (dir / "terminal") + ": it is a terminal, which may never end" + hint);
  write_text(dir / "file", "x");
  CHECK(refusal(dir / "file") == "fine");
  CHECK(refusal("/dev/null") == "fine");
  CHECK(refusal(dir / "none") == "cannot open " + (dir / "none") + ": openat(\"" + (dir / "none") +
                                     "\"): No such file or directory (ENOENT) | ");
}

TEST_CASE("input: files and pipes are read to their end, and no further than the bound") {
  const TempDir dir;
  const std::string text(200'000, 'x');
  write_text(dir / "file", text);
  const Result<Fd> file = host::open_input(dir / "file");
  REQUIRE(file);
  CHECK(host::read_input(file->get(), "file", text.size()).value() == text);
  REQUIRE(::lseek(file->get(), 0, SEEK_SET) == 0);
  const Result<std::string> large = host::read_input(file->get(), "file", text.size() - 1);
  REQUIRE_FALSE(large);
  CHECK(large.error().sys_errno == EFBIG);

  std::array<Fd, 2> pipe = make_pipe();
  REQUIRE(::write(pipe[1].get(), "A=1\n", 4) == 4);
  const Result<Fd> substituted = host::open_input("/proc/self/fd/" + std::to_string(pipe[0].get()));
  REQUIRE(substituted);
  pipe[1].reset();
  CHECK(host::read_input(substituted->get(), "pipe", 100).value() == "A=1\n");
}

TEST_CASE("input: a pipe whose end does not come is given up, also if it says something") {
  const std::array<Fd, 2> pipe = make_pipe();
  for (const char* said : {"", "A=1\n"}) {
    const auto size = static_cast<ssize_t>(std::string(said).size());
    REQUIRE(::write(pipe[1].get(), said, static_cast<std::size_t>(size)) == size);
    const Result<std::string> late = host::read_input(pipe[0].get(), "standard input", 100, kShort);
    REQUIRE_FALSE(late);
    CHECK(describe(late.error()) == "cannot read standard input: its end did not come in 0.0s");
    CHECK(late.error().hint ==
          "end what writes to it sooner, or write to a file first and name that");
  }
}
