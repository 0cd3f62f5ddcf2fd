#include "plan/root_view.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "lookup.hpp"

using namespace mayfly;
using namespace mayfly::plan;
using mayfly::test::at;
using mayfly::test::node;

namespace {

host::HostFacts usual_host() {
  using Top = host::TopEntry;
  host::HostFacts facts;
  facts.uid = facts.gid = 1000;
  facts.mounts = {{.path = "/", .fstype = "ext4"}, {.path = "/proc", .fstype = "proc"}};
  facts.top = {{.name = "usr"},
               {.name = "etc"},
               {.name = "opt", .empty = true},
               {.name = "bin", .kind = Top::Kind::Symlink, .link = "usr/bin"}};
  facts.etc_private = {"shadow", "ssl/private"};
  return facts;
}

Plan plan_for(const spec::Spec& spec, const host::HostFacts& facts, const std::string& project,
              bool range = false) {
  Plan plan;
  plan.ids.range = range;
  plan.ids.home = "/home/me";
  plan.layer_bytes = 1 << 20;
  RootView view;
  view.project.dir = project;
  view.etc_files = {
      {.kind = Node::Kind::File, .path = "passwd", .data = "me:x:1000:1000::/:/bin/sh\n"},
      {.kind = Node::Kind::File, .path = "resolv.conf"}};
  const Result<void> planned = plan_root(spec, facts, view, plan);
  REQUIRE(planned);
  return plan;
}

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

Error refusal(const spec::Spec& spec, const host::HostFacts& facts, const std::string& project) {
  Plan plan;
  plan.ids.home = "/home/me";
  RootView view;
  view.project.dir = project;
  const Result<void> planned = plan_root(spec, facts, view, plan);
  REQUIRE_FALSE(planned);
  return planned.error();
}

}  // namespace

TEST_CASE("the host root is an allowlist: nothing but the trees that were named") {
  const Plan plan = plan_for({}, usual_host(), "");
  for (const char* hidden : {"home", "var", "srv", "mnt", "boot", "sys", "run", "root"}) {
    CHECK(at(plan, hidden) == nullptr);
  }
  REQUIRE(at(plan, "usr") != nullptr);
  CHECK(at(plan, "usr")->kind == MountKind::Overlay);
  CHECK(at(plan, "usr")->lowers == std::vector<std::string>{"/usr"});
  CHECK(at(plan, "opt") == nullptr);  // empty on the host: the skeleton's directory is enough
  CHECK(node(plan.mounts.front(), "bin")->data == "usr/bin");
  CHECK(node(plan.mounts.front(), "opt") != nullptr);
}

TEST_CASE("parents in the skeleton come before what lies in them") {
  const Plan plan = plan_for({}, usual_host(), "/srv/a/b");
  std::vector<std::string> seen;
  for (const Node& made : plan.mounts.front().skeleton) {
    const std::size_t slash = made.path.rfind('/');
    if (slash != std::string::npos) {
      CHECK_MESSAGE(std::count(seen.begin(), seen.end(), made.path.substr(0, slash)) == 1,
                    made.path);
    }
    CHECK(std::count(seen.begin(), seen.end(), made.path) == 0);
    seen.push_back(made.path);
  }
}

TEST_CASE("secrets of /etc are whited out and our own files are on top") {
  const Plan plan = plan_for({}, usual_host(), "");
  const MountStep* etc = at(plan, "etc");
  REQUIRE(etc != nullptr);
  CHECK(node(*etc, "shadow")->kind == Node::Kind::Whiteout);
  CHECK(node(*etc, "ssl")->kind == Node::Kind::Dir);
  CHECK(node(*etc, "ssl/private")->kind == Node::Kind::Whiteout);
  CHECK(node(*etc, "passwd")->kind == Node::Kind::File);
}

TEST_CASE("a range maps program trees and the project, never /etc and /opt") {
  host::HostFacts facts = usual_host();
  facts.top[2].empty = false;
  const Plan plan = plan_for({}, facts, "/srv/p", true);
  CHECK(at(plan, "usr")->id_mapped);
  CHECK(at(plan, "srv/p")->id_mapped);
  CHECK_FALSE(at(plan, "etc")->id_mapped);
  CHECK_FALSE(at(plan, "opt")->id_mapped);
}

TEST_CASE("a tree that would take too many mounts is bound read-only, and a note says so") {
  host::HostFacts facts = usual_host();
  facts.mounts.push_back({.path = "/usr/local/share", .fstype = "nfs"});
  const Plan plan = plan_for({}, facts, "");
  CHECK(at(plan, "usr")->kind == MountKind::Bind);
  CHECK(at(plan, "usr")->access == Access::ReadOnly);
  REQUIRE(plan.notes.size() == 1);
  CHECK(plan.notes[0].what == "/usr");
}

TEST_CASE("entries keep their order and refuse what cannot be") {
  host::HostFacts facts = usual_host();
  using Kind = host::SourceFact::Kind;
  facts.sources = {
      {.path = "/data", .kind = Kind::Directory},
      {.path = "/f", .kind = Kind::File},
      {.path = "/live", .kind = Kind::Directory, .channels = {.socket = "/live/docker.sock"}}};
  spec::Spec spec;
  spec.fs = {{.kind = spec::FsKind::Tmpfs, .target = "/data"},
             {.kind = spec::FsKind::Ro, .source = "/data", .target = "/data/in"},
             {.kind = spec::FsKind::Ro, .source = "/f", .target = "/f"}};
  const Plan plan = plan_for(spec, facts, "");
  const auto index = [&](const char* target) { return at(plan, target) - plan.mounts.data(); };
  CHECK(index("data") < index("data/in"));
  CHECK(at(plan, "data/in")->kind == MountKind::Overlay);
  CHECK(at(plan, "data/in")->access == Access::ReadOnly);
  CHECK(at(plan, "f")->kind == MountKind::Bind);
  CHECK(at(plan, "f")->target_is_file);

  spec.fs = {{.kind = spec::FsKind::Rw, .source = "/live", .target = "/live"}};
  CHECK(describe(refusal(spec, facts, "")) ==
        "cannot share /live: it holds the socket /live/docker.sock, through which a task could "
        "reach the host");
  spec.unsafe.unsafe_sockets = true;
  CHECK(at(plan_for(spec, facts, ""), "live")->access == Access::ReadWrite);

  spec.fs = {{.kind = spec::FsKind::Cow, .source = "/f", .target = "/f"}};
  CHECK(refusal(spec, facts, "").action == "make /f copy-on-write: it is no directory");
  facts.mounts.push_back({.path = "/srv/p/node_modules", .fstype = "ext4"});
  CHECK(refusal({}, facts, "/srv/p").action ==
        "make /srv/p copy-on-write: other file systems are mounted below it, and too much lies "
        "beside them");
}

TEST_CASE("below a live tree no entry and no mount point is made") {
  host::HostFacts facts = usual_host();
  facts.sources = {{.path = "/data", .kind = host::SourceFact::Kind::Directory}};
  using spec::FsKind;
  const spec::FsEntry live{.kind = FsKind::Rw, .source = "/data", .target = "/x"};
  spec::Spec spec;
  for (const FsKind kind : {FsKind::File, FsKind::Dir, FsKind::Symlink}) {
    spec.fs = {live, {.kind = kind, .target = "/x/a", .data = "b"}};
    CHECK(
        contains(refusal(spec, facts, "").action, "it lies in /data, which is live at /x (--rw)"));
    spec.fs = {live, {.kind = FsKind::Tmpfs, .target = "/x/t"}, {.kind = kind, .target = "/x/t/a"}};
    CHECK(at(plan_for(spec, facts, ""), "x/t/a") != nullptr);
  }
  spec.fs = {
      live, {.kind = FsKind::Tmpfs, .target = "/x/t"}, {.kind = FsKind::Tmpfs, .target = "/t"}};
  const Plan plan = plan_for(spec, facts, "");
  CHECK(at(plan, "x")->make_target);
  CHECK_FALSE(at(plan, "x/t")->make_target);
  CHECK(at(plan, "t")->make_target);
}

TEST_CASE("a tree on top of the home directory gets one where it can be made") {
  host::HostFacts facts = usual_host();
  facts.sources = {{.path = "/data", .kind = host::SourceFact::Kind::Directory}};
  spec::Spec spec;
  const auto has_home = [&](spec::FsKind kind, const char* target) {
    spec.fs = {{.kind = kind, .source = "/data", .target = target}};
    const Plan plan = plan_for(spec, facts, "");
    return at(plan, "home/me") != nullptr && at(plan, "home/me")->kind == MountKind::Nodes;
  };
  CHECK(has_home(spec::FsKind::Cow, "/home"));
  CHECK(has_home(spec::FsKind::Tmpfs, "/home"));
  CHECK_FALSE(has_home(spec::FsKind::Ro, "/home"));
  CHECK_FALSE(has_home(spec::FsKind::Rw, "/home"));
  CHECK_FALSE(has_home(spec::FsKind::Cow, "/home/me"));
  CHECK_FALSE(has_home(spec::FsKind::Cow, "/elsewhere"));
}

TEST_CASE(
    "a root directory lies below our own skeleton, so its links at /dev or /etc lead nowhere") {
  spec::Spec spec;
  spec.root = spec::RootKind::Directory;
  spec.root_dir = "/images/alpine";
  const Plan plan = plan_for(spec, usual_host(), "");
  const MountStep& root = plan.mounts.front();
  CHECK(root.lowers == std::vector<std::string>{"/images/alpine"});
  for (const char* ours : {"dev", "proc", "etc", "etc/resolv.conf", "tmp"}) {
    CHECK_MESSAGE(node(root, ours) != nullptr, ours);
  }
  CHECK(node(root, "etc/passwd") == nullptr);  // the image's own accounts count
}
