#include "plan/start_dir.hpp"

#include <doctest/doctest.h>

using namespace mayfly;
using namespace mayfly::plan;

namespace {

using enum spec::FsKind;

spec::FsEntry entry(spec::FsKind kind, std::string target, std::string source = {}) {
  spec::FsEntry made;
  made.kind = kind;
  made.target = std::move(target);
  made.source = std::move(source);
  return made;
}

host::HostFacts at(std::string working_dir) {
  host::HostFacts facts;
  facts.working_dir = std::move(working_dir);
  facts.top = {{.name = "usr"}, {.name = "etc"}, {.name = "opt", .empty = true}};
  facts.etc_private = {"ssl/private"};
  facts.sources = {{.path = "/file", .kind = host::SourceFact::Kind::File}};
  return facts;
}

std::string start(const spec::Spec& spec, const std::string& working_dir,
                  const std::string& project = "/tmp/x/p") {
  Plan plan;
  plan.ids.home = "HOME";
  const auto dir = start_dir(spec, at(working_dir), project, plan);
  REQUIRE(dir);
  return *dir;
}

}  // namespace

TEST_CASE("start_dir: as asked, else where the caller is if that is seen, else HOME") {
  spec::Spec spec;
  CHECK(start(spec, "/tmp/x/p") == "/tmp/x/p");
  CHECK(start(spec, "/tmp/x/p/src") == "/tmp/x/p/src");
  CHECK(start(spec, "/usr/share") == "/usr/share");
  for (const char* other : {"/tmp/x/p2", "/tmp/x", "/srv/x", "", "/", "/tmp", "/run", "/run/user/0",
                            "/proc", "/proc/1", "/dev", "/etc/ssl/private"}) {
    CAPTURE(other);
    CHECK(start(spec, other) == "HOME");
  }
  CHECK(start(spec, "/etc/ssl") == "/etc/ssl");
  spec.root = spec::RootKind::Empty;
  CHECK(start(spec, "/usr/share") == "HOME");
  spec.chdir = "/inside/../kept";
  CHECK(start(spec, "/usr") == "/inside/../kept");  // links inside decide what ".." means
  spec.chdir = "relative";
  const auto refused = start_dir(spec, at("/usr"), {}, {});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().action == "start in relative: it is not an absolute path");
}

TEST_CASE("start_dir: the last entry over the caller's directory decides") {
  const std::string dir = "/tmp/x/p";
  const struct {
    std::vector<spec::FsEntry> entries;
    bool with_project;
    bool with_nothing;  // without a project
  } cases[] = {
      {{}, true, false},
      {{entry(Tmpfs, "/tmp")}, false, false},
      {{entry(Mask, "/tmp/x")}, false, false},
      {{entry(Ro, "/tmp/x", "/other")}, false, false},
      {{entry(Cow, "/tmp/x", "/tmp/x")}, true, true},
      {{entry(Mask, dir)}, true, false},
      {{entry(Tmpfs, dir)}, true, true},
      {{entry(Dir, dir)}, true, true},
      {{entry(Ro, dir, "/other")}, true, true},
      {{entry(Ro, dir, "/file")}, false, false},
      {{entry(Dir, "/tmp/x")}, true, false},
      {{entry(Dir, dir + "/below")}, true, false},
      {{entry(File, "/tmp/y")}, true, false},
      {{entry(Tmpfs, "/tmp"), entry(Dir, dir)}, true, true},
      {{entry(Dir, dir), entry(Tmpfs, "/tmp")}, false, false},
      {{entry(Tmpfs, "/tmp"), entry(Rw, dir, dir), entry(Mask, dir)}, true, true},
  };
  for (const auto& each : cases) {
    CAPTURE(&each - cases);
    spec::Spec spec;
    spec.fs = each.entries;
    CHECK(start(spec, dir) == (each.with_project ? dir : "HOME"));
    CHECK(start(spec, dir, "") == (each.with_nothing ? dir : "HOME"));
  }
}

TEST_CASE("start_dir: what could not be shown of a tree has an empty directory in its place") {
  Plan plan;
  plan.ids.home = "HOME";
  plan.mounts = {{.kind = MountKind::Overlay, .target = "tmp/p"},
                 {.kind = MountKind::Mask, .target = "tmp/p/hidden"}};
  CHECK(*start_dir({}, at("/tmp/p/hidden/x"), "/tmp/p", plan) == "HOME");
  CHECK(*start_dir({}, at("/tmp/p/hidden"), "/tmp/p", plan) == "/tmp/p/hidden");
}
