// Whoever may rename a directory can put a link in its place while a sandbox starts that is to show
// it: what was looked at is what is shown, or there is no start.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "harness/host.hpp"
#include "harness/sandbox.hpp"
#include "harness/suite.hpp"

using namespace harness;

namespace {

// A process that exchanges two names as fast as it can, for at most a minute.
class Swapper {
 public:
  Swapper(const std::string& one, const std::string& other) : pid_(::fork()) {
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::alarm(60);
    for (;;)
      ::renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE);
  }
  Swapper(const Swapper&) = delete;
  Swapper& operator=(const Swapper&) = delete;
  ~Swapper() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

 private:
  pid_t pid_;
};

// What many starts from a directory whose name leads elsewhere half of the time have shown.
struct Seen {
  int started = repeats(40, 400), refused = 0, shown = 0;
  std::string out;
};

Seen start_often(const Words& options, const std::string& script) {
  const TempDir host;
  host.file("private/key", "KEPT SECRET");
  host.file("private/own", "SECRET, TOO");
  host.file("private/filter", R"({"defaultAction": "SCMP_ACT_ALLOW"})");
  host.file("tree/here/own", "own");
  std::filesystem::create_directory_symlink(host / "private", host / "tree/link");
  const Fd here(::open((host / "tree/here").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  REQUIRE(here);
  const Swapper swapper(host / "tree/here", host / "tree/link");
  Words words = {mayfly_path(), "run", "--quiet"};
  words.insert(words.end(), options.begin(), options.end());
  words.insert(words.end(), {"--", "/bin/sh", "-c", script});
  Seen seen;
  for (int i = 0; i < seen.started; ++i) {
    Command command(words);
    command.before_exec([&] {
      if (::fchdir(here.get()) != 0) ::_exit(99);
    });
    const Finished ended = command.run();
    seen.out += ended.out;
    seen.refused += ended.code == 125 ? 1 : 0;
    seen.shown += contains(ended.out, "own") ? 1 : 0;
  }
  CHECK(seen.refused + seen.shown > 0);
  const bool is_whole = read_file(host / "private/key") == "KEPT SECRET" &&
                        !std::filesystem::exists(host / "private/made");
  CHECK(is_whole);
  return seen;
}

const char* const kLook = "cat ./* \"$@\" 2>/dev/null; echo x > made";

}  // namespace

TEST_CASE("a project that is replaced while a sandbox starts is shown as it was, or not at all") {
  for (const Words& options :
       {Words{}, Words{"--project", "rw"}, Words{"--project", "ro"}, Words{"--project", "cow:."}}) {
    CAPTURE(joined(options));
    CHECK_FALSE(contains(start_often(options, kLook).out, "SECRET"));
  }
}

TEST_CASE("what is named from a directory that is replaced meanwhile is looked for from there") {
  const Seen bound =
      start_often({"--project", "none", "--rw", ".:/q"}, "cat /q/* 2>/dev/null; echo x > /q/made");
  CHECK_FALSE(contains(bound.out, "SECRET"));
  const Seen copied = start_often({"--project", "none", "--file", "/q=@key"}, "cat /q");
  CHECK_FALSE(contains(copied.out, "SECRET"));
  CHECK(copied.refused == copied.started);
  start_often({"--project", "none", "--result", "made"}, "echo own");
  const Seen typed = start_often({"--project", "none", "--stdin", "own"}, "cat");
  CHECK_FALSE(contains(typed.out, "SECRET"));
  CHECK(typed.shown == typed.started);
  const Seen filtered = start_often({"--project", "none", "--seccomp", "filter"}, "echo own");
  CHECK(filtered.refused == filtered.started);
  const Seen live = start_often({"--project", "none", "--rw", ".:/q", "--result", "r"}, "echo own");
  CHECK(live.refused == live.started);
}
