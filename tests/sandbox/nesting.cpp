// A sandbox in a sandbox: with leave it works, without it the refusal names the cause.
#include <doctest/doctest.h>
#include <unistd.h>

#include "harness/host.hpp"
#include "harness/sandbox.hpp"
#include "harness/suite.hpp"

using namespace harness;

namespace {

// It works, or it says which step could not be done, with which error, and what to do.
void check_works_or_explains(const Finished& inner) {
  CAPTURE(inner.err);
  if (inner.code == 0) {
    CHECK(inner.out == "inner\n");
    return;
  }
  CHECK(inner.code == 125);
  CHECK(inner.out.empty());
  CHECK(inner.err.starts_with("mayfly: cannot "));
  CHECK(contains(inner.err, "(E"));
  CHECK(contains(inner.err, "hint: "));
}

const Words kInner = {"run", "--ttl", paced_text(20'000), "--", "/bin/echo", "inner"};

Words followed_by_inner(Words words) {
  words.insert(words.end(), kInner.begin(), kInner.end());
  return words;
}

}  // namespace

TEST_CASE("with --unsafe-nesting mayfly runs inside itself, or says what is in the way") {
  check_works_or_explains(run({"--unsafe-nesting", "--ro", mayfly_path() + ":/mayfly"},
                              followed_by_inner({"/mayfly"})));
}

TEST_CASE("who is root only in a user namespace may nest, and has its registry by the id outside") {
  if (is_root()) return;  // whose id 0 is the host's there, too
  const bool others = exists("/tmp/mayfly-0");
  const TempDir home;
  const Finished finished = Command({"unshare", "--user", "--map-root-user", mayfly_path(), "run",
                                     "--unsafe-nesting", "--", "echo", "ran"})
                                .env("HOME", home.path())
                                .unset("XDG_RUNTIME_DIR")
                                .run();
  CHECK_MESSAGE(finished.code == 0, finished.err);
  CHECK(finished.out == "ran\n");
  CHECK(exists("/tmp/mayfly-0") == others);
  CHECK(exists("/tmp/mayfly-" + std::to_string(::geteuid())));
}

TEST_CASE("without it the inner start is refused, the message names the namespaces and a remedy") {
  const Ended ended = run({"--ro", mayfly_path() + ":/mayfly"}, followed_by_inner({"/mayfly"}));
  CHECK(ended.code == 125);
  CHECK(ended.out.empty());
  CHECK(contains(ended.err, "NEWUSER"));
  CHECK(contains(ended.err, "hint: "));
}

TEST_CASE("inside bubblewrap it works, or says what is in the way") {
  if (Command({"bwrap", "--version"}).run().code != 0) SKIP_BECAUSE("there is no bwrap");
  check_works_or_explains(
      Command(followed_by_inner({"bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
                                 "--tmpfs", "/tmp", "--tmpfs", "/run", "--ro-bind", mayfly_path(),
                                 "/tmp/mayfly", "--chdir", "/tmp", "/tmp/mayfly"}))
          .run());
}

TEST_CASE("inside bubblewrap with a masked /proc it works, or says what is in the way") {
  if (Command({"bwrap", "--version"}).run().code != 0) SKIP_BECAUSE("there is no bwrap");
  check_works_or_explains(
      Command(followed_by_inner(
                  {"bwrap",   "--ro-bind", "/",          "/",         "--dev",       "/dev",
                   "--proc",  "/proc",     "--ro-bind",  "/dev/null", "/proc/keys",  "--tmpfs",
                   "/tmp",    "--tmpfs",   "/run",       "--ro-bind", mayfly_path(), "/tmp/mayfly",
                   "--chdir", "/tmp",      "/tmp/mayfly"}))
          .run());
}
