// A terminal that the task has cannot be made to type for someone else.
#include <doctest/doctest.h>

#include "harness/sandbox.hpp"
#include "harness/suite.hpp"

using namespace harness;

TEST_CASE("TIOCSTI and TIOCLINUX fail, also with rubbish in the upper half of the request") {
  const Ended ended = run({}, {kProbe, "terminal"});
  CAPTURE(ended.out);
  REQUIRE(ended.code == 0);
  CHECK(value_of(ended.out, "openpt") == "ok 0");
  CHECK(value_of(ended.out, "open-pts") == "ok 0");
  for (const char* request : {"TIOCSTI", "TIOCSTI+bits", "TIOCLINUX", "TIOCLINUX+bits"}) {
    CAPTURE(request);
    CHECK(value_of(ended.out, request) == "EPERM");
  }
  CHECK(value_of(ended.out, "TIOCGWINSZ") == "ok 0");  // the terminal as such works
}

TEST_CASE("the host's terminals are not in sight") {
  const Ended ended = sh("ls /dev/pts; ls -A /dev/pts | grep -v ptmx | grep -c .");
  CHECK(contains(ended.out, "ptmx"));
  CHECK(lines(ended.out).back() == "0");
}
