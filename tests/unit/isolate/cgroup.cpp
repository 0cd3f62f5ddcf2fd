// A sandbox's own cgroup, played by a directory: what is asked for is set, or the start fails.
#include "isolate/cgroup.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "../supervise/support.hpp"
#include "sys/entries.hpp"

using namespace mayfly;
using namespace mayfly::test;
using host::Controller;
namespace cgroup = isolate::cgroup;

namespace {

plan::CgroupKnob knob(const char* file, const std::string& value) {
  return {.controller = Controller::Memory, .file = file, .value = value, .expected = value};
}

// A directory that plays a cgroup, of which the kernel would have made these files.
class Played {
 public:
  explicit Played(const std::string& type = "domain\n") {
    write_text(dir_ / "cgroup.type", type);
    write_text(dir_ / "memory.max", "max\n");
    made_.path = dir_.path();
    made_.directory = Fd(::open(dir_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    REQUIRE(made_.directory);
  }
  [[nodiscard]] const std::string& path() const { return made_.path; }
  [[nodiscard]] std::string text(const std::string& file) const { return read_text(dir_ / file); }
  [[nodiscard]] Result<void> limit(plan::CgroupKnob one) const {
    plan::CgroupLimits limits;
    limits.knobs = {std::move(one)};
    return cgroup::limit(made_, limits);
  }

 private:
  TempDir dir_;
  cgroup::Made made_;
};

}  // namespace

TEST_CASE("cgroup: a limit is written, and one that cannot be is no start") {
  const Played played;
  REQUIRE(played.limit(knob("memory.max", "4096")));
  CHECK(played.text("memory.max").starts_with("4096"));

  const Result<void> absent = played.limit(knob("memory.high", "4096"));
  REQUIRE_FALSE(absent);
  CHECK(absent.error().action == "hold the sandbox to memory.high 4096");
  CHECK(absent.error().sys_errno == ENOENT);
  CHECK(absent.error().hint.starts_with("the memory controller is not enabled for "));

  // What only newer kernels have may be missing, but may not fail.
  plan::CgroupKnob optional = knob("memory.swap.max", "0");
  optional.optional = true;
  CHECK(played.limit(optional));
  REQUIRE(::symlink("cgroup.type/x", (played.path() + "/memory.swap.max").c_str()) == 0);
  CHECK_FALSE(played.limit(optional));
}

TEST_CASE("cgroup: a limit that the kernel made another one is no start") {
  const Played played;
  plan::CgroupKnob rounded = knob("memory.max", "4097");
  rounded.expected = "4096";
  const Result<void> set = played.limit(rounded);
  REQUIRE_FALSE(set);
  CHECK(describe(set.error()).find("the kernel made it 4097") != std::string::npos);
}

TEST_CASE("cgroup: one that takes no processes is refused before it is limited") {
  const Played played("domain invalid\n");
  const Result<void> set = played.limit(knob("memory.max", "4096"));
  REQUIRE_FALSE(set);
  CHECK(set.error().action.find("it is domain invalid") != std::string::npos);
  CHECK(played.text("memory.max") == "max\n");
}

TEST_CASE("cgroup: it is removed once the last process has left it, and a full one is told of") {
  const std::string parent = writable_cgroup();
  if (parent.empty()) return skip("needs a cgroup v2 directory that this user may write");
  const std::string id = "t" + std::to_string(::getpid()) + "-left";
  const Result<cgroup::Made> made = cgroup::make(parent, id);
  REQUIRE(made);
  {
    Child sleeper([] {
      for (;;)
        ::pause();
      return 0;
    });
    REQUIRE(cgroup::add(*made, sleeper.pid()));
    const Result<void> removed = cgroup::remove(made->path);
    REQUIRE_FALSE(removed);
    CHECK(removed.error().sys_errno == EBUSY);
    CHECK(exists(made->path));
  }
  CHECK(cgroup::remove(made->path));
  CHECK_FALSE(exists(made->path));
  CHECK(cgroup::remove(made->path));  // somebody else was faster
}
