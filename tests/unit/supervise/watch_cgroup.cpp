// What the event loop takes from a cgroup, and does to it, played by a directory.
#include <doctest/doctest.h>

#include <string>

#include "fake_init.hpp"
#include "support.hpp"

using namespace mayfly;
using namespace mayfly::test;

TEST_CASE("watch: the time of work is used up at its limit, and not a microsecond before") {
  const TempDir cgroup;
  write_text(cgroup / "cgroup.kill", "");
  write_text(cgroup / "cgroup.events", "populated 0\n");
  const auto having_used = [&](const std::string& microseconds) {
    write_text(cgroup / "cpu.stat", "usage_usec " + microseconds + "\n");
    return watch({.cgroup = cgroup.path(), .cpu_limit_us = 5000}, [](Script& init) {
      init.started();
      sleep_ms(200);
      init.exited(3);
      return 0;
    });
  };
  CHECK(having_used("4999") == "exited 3 started [started 2, ending exited]");
  const std::string used_up = having_used("5000");
  CHECK(used_up.rfind("cpu_limit 124", 0) == 0);
}

TEST_CASE(
    "watch: a forced end kills the cgroup as well as init, and is none the worse if it cannot") {
  const TempDir cgroup;
  write_text(cgroup / "cgroup.events", "populated 0\nfrozen 0\n");
  const auto ending = [&] {
    return watch({.ttl_ms = 500, .grace_ms = 0, .cgroup = cgroup.path()}, [](Script& init) {
      init.started();
      init.hang();
      return 0;
    });
  };
  CHECK(ending() == "ttl 124 started [started 2, ending ttl]");  // there is no cgroup.kill
  write_text(cgroup / "cgroup.kill", "");
  CHECK(ending() == "ttl 124 started [started 2, ending ttl]");
  CHECK(read_text(cgroup / "cgroup.kill") == "1");
}
