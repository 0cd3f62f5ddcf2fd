// Places are directories with files to the code that looks at them, so that a test can make some.
#include "host/cgroup_places.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../supervise/support.hpp"

using namespace mayfly;
using namespace mayfly::host;
using mayfly::test::TempDir;
using mayfly::test::write_text;

namespace {

const Controllers kWanted = Controllers(Controller::Memory) | Controller::Cpu;

struct Fake {
  std::string procs, available, enabled, type = "domain\n";
};

std::string make(const TempDir& top, const std::string& name, const Fake& fake) {
  const std::string path = top / name;
  ::mkdir(path.c_str(), 0755);
  write_text(path + "/cgroup.procs", fake.procs);
  write_text(path + "/cgroup.controllers", fake.available);
  write_text(path + "/cgroup.subtree_control", fake.enabled);
  write_text(path + "/cgroup.type", fake.type);
  return path;
}

CgroupPlace look(const std::string& path, CgroupPlace::Kind kind = CgroupPlace::Kind::Ancestor) {
  return look_at_place(kind, path, kWanted);
}

std::string self() {
  return std::to_string(::getpid()) + "\n";
}

}  // namespace

TEST_CASE("places: what is enabled already needs no more, whoever lives below") {
  const TempDir top;
  const CgroupPlace place = look(make(top, "a", {"", "cpu memory pids\n", "cpu memory\n"}));
  CHECK(place.gives == kWanted);
  CHECK(place.enabled == kWanted);
  CHECK_FALSE(place.move_self);
  CHECK(place.why_not.empty());
}

TEST_CASE("places: where only we live, we leave; where others do, nothing is enabled") {
  const TempDir top;
  const std::string own = make(top, "own", {self(), "cpuset cpu io memory pids\n", "\n"});
  CgroupPlace place = look(own);
  CHECK(place.gives.has(kWanted));
  CHECK(place.move_self);
  place = look(make(top, "shared", {self() + "1\n", "cpu memory\n", ""}));
  CHECK(place.gives.none());
  CHECK(place.why_not.find("other processes live in") == 0);
}

TEST_CASE("places: strangers below keep others from enabling, but not who names the cgroup") {
  const TempDir top;
  const std::string path = make(top, "up", {"", "cpu memory\n", ""});
  make(top, "up/below", {"0\n", "", ""});  // a process that our pid namespace does not show
  CHECK(look(path).why_not.find("processes of other users live in") == 0);
  CHECK(look(path, CgroupPlace::Kind::Named).gives == kWanted);
  // Sandboxes of ours are not looked into.
  ::rename((path + "/below").c_str(), (path + "/mayfly-x").c_str());
  CHECK(look(path).gives == kWanted);
}

TEST_CASE("places: a threaded cgroup, one without the controller, one that is not ours") {
  const TempDir top;
  CHECK(look(make(top, "t", {"", "cpu memory\n", "", "domain threaded\n"})).why_not ==
        (top / "t") + " is domain threaded, not a domain");
  const CgroupPlace some = look(make(top, "c", {"", "cpu pids\n", ""}));
  CHECK(some.gives.has(Controller::Cpu));
  CHECK(some.why_not == (top / "c") + " has no memory controller");
  const CgroupPlace none = look(make(top, "n", {"", "\n", ""}));
  CHECK(none.gives.none());
  CHECK(none.why_not == (top / "n") + " has no memory, cpu controller");
  CHECK(look(top / "missing").why_not == (top / "missing") + " is not writable for the caller");
}

TEST_CASE("controllers: parsed and named in the order in which they are enabled") {
  CHECK(names_of(parse_controllers("cpuset cpu io memory hugetlb pids rdma\n")) ==
        "memory, pids, cpu, io");
  CHECK(names_of(parse_controllers("")).empty());
}
