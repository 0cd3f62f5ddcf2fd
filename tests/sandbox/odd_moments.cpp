// Callers who do not read, signals that come too early, limits and descriptors that are not as
// usual: the end is in time and told right.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <string>

#include "harness/sandbox.hpp"
#include "harness/suite.hpp"

using namespace harness;
using std::chrono::milliseconds;

namespace {

// mayfly as a shell starts it after `first`.
Finished after(const std::string& first, const Words& options, const Words& command) {
  Words words = {"/bin/sh", "-c", first + "; exec \"$@\"", "sh", mayfly_path(), "run"};
  words.insert(words.end(), options.begin(), options.end());
  words.emplace_back("--");
  words.insert(words.end(), command.begin(), command.end());
  return Command(words).run();
}

}  // namespace

TEST_CASE("whoever holds stderr and does not read it holds nobody up") {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const Fd reader(ends[0]), writer(ends[1]);
  Run full({"--project", "none", "--ttl", paced_text(300), "--grace", "0"},
           {"/bin/sh", "-c", "head -c 200000 /dev/zero >&2"});
  full.command.fd(2, writer.get());
  const Ended ended = full.end();
  CHECK_FALSE(ended.timed_out);
  CHECK(ended.code == 124);
}

TEST_CASE("a signal that comes before the command was executed reaches the command") {
  int told = 0;
  for (int i = 0; i < 30; ++i) {
    CAPTURE(i);
    Run early({}, {"/bin/sleep", "5"});
    Process process = early.command.start();
    ::usleep(static_cast<useconds_t>(i) * 700);
    const int signal = i % 2 == 0 ? SIGUSR1 : SIGTERM;
    process.send(signal);
    const Ended ended = early.end(std::move(process));
    CAPTURE(ended.err);
    // Before mayfly has looked at signals at all, it dies of them as any program does.
    const bool too_early = !ended.result.is_object();
    if (too_early) continue;
    CHECK(ended.reason() == (signal == SIGTERM ? "cancelled" : "signaled"));
    CHECK(ended.code == 128 + signal);
    ++told;
  }
  CHECK(told > 0);
}

TEST_CASE("limits of the caller that are lower than ours stay, and no limit kills without a word") {
  CHECK(after("ulimit -c 0", {}, {"/bin/sh", "-c", "ulimit -H -c"}).out == "0\n");
  CHECK(after("ulimit -p 300", {}, {"/bin/sh", "-c", "echo ran; ulimit -p"}).out == "ran\n300\n");
  const Finished told = Command({"/bin/sh", "-c", "ulimit -p 300; ulimit -c 0; exec \"$@\"", "sh",
                                 mayfly_path(), "explain", "--json", "run", "true"})
                            .run();
  const auto limits = nlohmann::json::parse(told.out).at("limits").at("rlimits");
  CHECK(limits.at("nproc") == nlohmann::json{{"soft", 300}, {"hard", 300}});
  CHECK(limits.at("core") == nlohmann::json{{"soft", 0}, {"hard", 0}});
  const Finished tiny = after("ulimit -f 0", {}, {"/bin/true"});
  CHECK(tiny.code == 125);
  CHECK(contains(tiny.err, "File too large (EFBIG)"));
  CHECK(contains(tiny.err, "ulimit -f"));
}

TEST_CASE("a status descriptor that is closed or full is a failure, whatever its number") {
  for (const char* closing : {"exec 3>&-", "exec 5>&-"}) {
    const std::string number(closing + 5, 1);
    const Finished closed = after(closing, {"--status-fd", number}, {"/bin/true"});
    CHECK(closed.code == 125);
    CHECK(contains(closed.err, "descriptor " + number));
    CHECK(contains(closed.err, "EBADF"));
  }
  const Finished full = after("exec 3>/dev/full", {"--status-fd", "3"}, {"/bin/true"});
  CHECK(full.code == 125);
  CHECK(contains(full.err, "ENOSPC"));
}

TEST_CASE("a status descriptor that is the file of the result is refused") {
  const TempDir host;
  const std::string file = host / "result";
  const Finished same =
      after("exec 3>" + file, {"--status-fd", "3", "--result", file}, {"/bin/true"});
  CHECK(same.code == 125);
  CHECK(contains(same.err, ": descriptor 3 (--status-fd) is this file, too"));
}

TEST_CASE("a result is no way to replace what /dev and /proc name") {
  const TempDir host;
  // A name that no machine has: some keep a channel of theirs in /dev.
  const std::string unused = "/dev/mayfly-test-" + std::to_string(::getpid());
  REQUIRE_FALSE(exists(unused));
  for (const std::string& name : {std::string("/dev/stdout"), std::string("/dev/fd/1"),
                                  std::string("/proc/self/fd/1"), unused}) {
    CAPTURE(name);
    // As where stdout is a file, so that what the name leads to is one.
    const Finished ended = Command({"/bin/sh", "-c", "exec \"$@\" > out", "sh", mayfly_path(),
                                    "run", "--result", name, "--", "/bin/true"})
                               .cwd(host.path())
                               .run();
    CHECK(ended.code == 125);
    CHECK(contains(ended.err, "cannot write the result to " + name));
    CHECK(contains(ended.err, "--status-fd"));
  }
  CHECK_FALSE(exists(unused));
}

TEST_CASE("a result may have the longest name that a file can have") {
  const TempDir host;
  const std::string path = host / std::string(255, 'r');
  CHECK(Command({mayfly_path(), "run", "--result", path, "--", "/bin/true"}).run().code == 0);
  CHECK(exists(path));
}

TEST_CASE("while others are waited for, SIGINT ends them") {
  Run lingering({"--linger", "--grace", "0"}, {"/bin/sh", "-c", "sleep 30 & echo away; exit 6"});
  Process process = lingering.command.start();
  process.await_output("away");
  ::usleep(700'000);
  process.send(SIGINT);
  const Ended ended = lingering.end(std::move(process));
  CHECK_FALSE(ended.timed_out);
  CHECK(ended.exited_after < paced(15'000));
  CHECK(ended.out == "away\n");
  CHECK(ended.reason() == "cancelled");
  CHECK(ended.code == 128 + SIGINT);
}
