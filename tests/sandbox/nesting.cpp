// A sandbox in a sandbox: with leave it works, without it the refusal names the cause.
#include <doctest/doctest.h>

#include "harness/sandbox.hpp"
#include "harness/suite.hpp"

using namespace harness;

TEST_CASE("with --unsafe-nesting mayfly runs inside itself") {
  const Ended ended =
      run({"--unsafe-nesting", "--ro", mayfly_path() + ":/mayfly"},
          {"/mayfly", "run", "--ttl", "20s", "--", "/bin/sh", "-c", "echo inner; uname -n"});
  CAPTURE(ended.err);
  CHECK(ended.code == 0);
  CHECK(ended.out == "inner\nmayfly\n");
}

TEST_CASE("without it the inner start is refused, and the message names the cause and the remedy") {
  const Ended ended = run({"--ro", mayfly_path() + ":/mayfly"},
                          {"/mayfly", "run", "--", "/bin/sh", "-c", "echo inner"});
  CHECK(ended.code == 125);
  CHECK(ended.out.empty());
  CHECK(contains(ended.err, "user namespace"));
  CHECK(contains(ended.err, "hint: "));
}

TEST_CASE("inside bubblewrap it works, or says which step failed and why") {
  if (Command({"bwrap", "--version"}).run().code != 0) SKIP_BECAUSE("there is no bwrap");
  const TempDir place;
  const Finished inner =
      Command({"bwrap",     "--ro-bind",   "/",           "/",       "--dev",   "/dev",
               "--proc",    "/proc",       "--tmpfs",     "/tmp",    "--tmpfs", "/run",
               "--ro-bind", mayfly_path(), "/tmp/mayfly", "--chdir", "/tmp",    "/tmp/mayfly",
               "run",       "--",          "/bin/echo",   "inner"})
          .run();
  CAPTURE(inner.err);
  if (inner.code == 0) {
    CHECK(inner.out == "inner\n");
  } else {
    CHECK(inner.code == 125);
    CHECK(inner.err.starts_with("mayfly: cannot "));
    CHECK(contains(inner.err, "(E"));
  }
}
