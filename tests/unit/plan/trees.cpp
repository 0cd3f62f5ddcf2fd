#include "plan/trees.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "lookup.hpp"

using namespace mayfly;
using namespace mayfly::plan;
using mayfly::test::at;
using mayfly::test::node;

namespace {

using Entry = host::TreeEntry;
using Part = host::TreePart;

// /etc as in a container: two files mounted in it, and a directory in a directory.
host::HostFacts container(bool detachable) {
  host::HostFacts facts;
  facts.mounts = {{.path = "/etc/hosts"}, {.path = "/etc/services"}, {.path = "/etc/ssl/certs"}};
  Part etc{.path = "/etc", .mounts_below = true, .detachable = detachable};
  if (!detachable) {
    etc.entries = {{.path = "apt"},
                   {.path = "fstab",
                    .kind = Entry::Kind::File,
                    .mode = 0644,
                    .data = "# fstab",
                    .modified_ns = 7},
                   {.path = "hosts", .kind = Entry::Kind::FilePoint},
                   {.path = "passwd", .kind = Entry::Kind::File, .data = "the host's"},
                   {.path = "services", .kind = Entry::Kind::FilePoint},
                   {.path = "shadow", .kind = Entry::Kind::Unread},
                   {.path = "ssl", .kind = Entry::Kind::Opened},
                   {.path = "ssl/certs", .kind = Entry::Kind::DirPoint},
                   {.path = "ssl/private"},
                   {.path = "big", .kind = Entry::Kind::Unread, .mode = 0640}};
  }
  facts.trees = {{.path = "/etc",
                  .parts = {etc,
                            {.path = "/etc/hosts", .kind = Part::Kind::File, .fstype = "ext4"},
                            {.path = "/etc/services", .kind = Part::Kind::File, .fstype = "ext4"},
                            {.path = "/etc/ssl/certs", .fstype = "ext4"}}}};
  return facts;
}

TreeView etc_view() {
  return {.source = "/etc",
          .target = "etc",
          .own = {{.kind = Node::Kind::File, .path = "passwd", .data = "mine"},
                  {.kind = Node::Kind::File, .path = "hosts", .data = "mine"},
                  {.kind = Node::Kind::Whiteout, .path = "shadow"},
                  {.kind = Node::Kind::Dir, .path = "ssl"},
                  {.kind = Node::Kind::Whiteout, .path = "ssl/private"},
                  {.kind = Node::Kind::Whiteout, .path = "ssl/certs/secret"}}};
}

}  // namespace

TEST_CASE("who may copy a mount alone gets one overlay of it, and the mounts on it again") {
  Plan plan;
  REQUIRE(add_tree(etc_view(), container(true), plan));
  REQUIRE(plan.mounts.size() == 3);
  CHECK(plan.mounts[0].lowers == std::vector<std::string>{"/etc"});
  CHECK(plan.mounts[0].detached);
  CHECK(node(plan.mounts[0], "passwd")->data == "mine");
  CHECK(node(plan.mounts[0], "shadow")->kind == Node::Kind::Whiteout);
  CHECK(at(plan, "etc/hosts") == nullptr);  // our own file takes its place
  CHECK(at(plan, "etc/services")->kind == MountKind::Bind);
  CHECK(at(plan, "etc/services")->access == Access::ReadOnly);
  CHECK(at(plan, "etc/ssl/certs")->lowers == std::vector<std::string>{"/etc/ssl/certs"});
  CHECK_FALSE(at(plan, "etc/ssl/certs")->detached);
  // What is to be hidden is hidden where it shows.
  CHECK(node(*at(plan, "etc/ssl/certs"), "secret")->kind == Node::Kind::Whiteout);
}

TEST_CASE("for others the directory is made anew, and what is private does not come back") {
  Plan plan;
  REQUIRE(add_tree(etc_view(), container(false), plan));
  const MountStep& top = plan.mounts.front();
  CHECK(top.lowers.empty());
  CHECK(node(top, "fstab")->data == "# fstab");
  CHECK(node(top, "fstab")->modified_ns == 7);
  CHECK(node(top, "passwd")->data == "mine");
  CHECK(node(top, "shadow") == nullptr);
  CHECK(node(top, "ssl/private") == nullptr);
  CHECK(at(plan, "etc/shadow") == nullptr);
  CHECK(at(plan, "etc/ssl/private") == nullptr);
  CHECK(at(plan, "etc/hosts") == nullptr);
  CHECK(at(plan, "etc/apt")->lowers == std::vector<std::string>{"/etc/apt"});
  CHECK(at(plan, "etc/big")->kind == MountKind::Bind);
  CHECK(at(plan, "etc/big")->access == Access::ReadOnly);
  CHECK(at(plan, "etc/ssl/certs")->kind == MountKind::Overlay);
  CHECK(node(*at(plan, "etc/ssl/certs"), "secret")->kind == Node::Kind::Whiteout);
  const auto names = [&](const char* what) {
    return std::any_of(plan.notes.begin(), plan.notes.end(),
                       [&](const Note& note) { return note.what == what; });
  };
  CHECK(names("/etc/services"));
  CHECK(names("/etc/big"));
  CHECK_FALSE(names("/etc/hosts"));
}

TEST_CASE(
    "the kernel's file systems and what is no file are hidden, and nothing below them shows") {
  host::HostFacts facts;
  facts.trees = {{.path = "/p",
                  .parts = {{.path = "/p", .mounts_below = true, .detachable = true},
                            {.path = "/p/proc", .fstype = "proc"},
                            {.path = "/p/proc/sys", .fstype = "proc"},
                            {.path = "/p/run/sock", .kind = Part::Kind::Other, .fstype = "tmpfs"},
                            {.path = "/p/usb", .fstype = "vfat"}}}};
  Plan plan;
  REQUIRE(add_tree({.source = "/p", .target = "p"}, facts, plan));
  CHECK(at(plan, "p/proc")->kind == MountKind::Mask);
  CHECK(at(plan, "p/proc/sys") == nullptr);
  CHECK(at(plan, "p/run/sock")->kind == MountKind::Mask);
  CHECK(at(plan, "p/usb")->kind == MountKind::Bind);
  CHECK(at(plan, "p/usb")->access == Access::ReadOnly);
  CHECK(plan.notes.size() == 3);
  CHECK(danger_of_binding("/p", facts, {.sockets = true, .fifos = true}) ==
        "the kernel's file system proc is mounted on /p/proc");
}

TEST_CASE("the tree may be the root itself") {
  for (const bool detachable : {true, false}) {
    host::HostFacts facts;
    facts.trees = {{.path = "/",
                    .parts = {{.path = "/", .mounts_below = true, .detachable = detachable},
                              {.path = "/dev", .fstype = "devtmpfs"},
                              {.path = "/srv/data", .fstype = "ext4"}}}};
    if (!detachable) facts.trees[0].parts[0].entries = {{.path = "usr"}};
    Plan plan;
    REQUIRE(add_tree({.source = "/", .target = "host"}, facts, plan));
    REQUIRE(at(plan, "host/dev") != nullptr);
    CHECK(at(plan, "host/dev")->kind == MountKind::Mask);
    REQUIRE(at(plan, "host/srv/data") != nullptr);
    CHECK(at(plan, "host/srv/data")->lowers == std::vector<std::string>{"/srv/data"});
    if (!detachable) CHECK(at(plan, "host/usr")->lowers == std::vector<std::string>{"/usr"});
    CHECK(plan.notes[0].what == "/dev");
  }
}

TEST_CASE("a directory that is too crowded is bound as it is, unless a socket is mounted in it") {
  host::HostFacts facts;
  facts.trees = {{.path = "/p",
                  .parts = {{.path = "/p",
                             .mounts_below = true,
                             .entries = {{.path = "lib", .kind = Entry::Kind::Crowded}}},
                            {.path = "/p/lib/x", .fstype = "tmpfs"}}}};
  const TreeView view{.source = "/p", .target = "p"};
  Plan plan;
  REQUIRE(add_tree(view, facts, plan));
  CHECK(at(plan, "p/lib")->kind == MountKind::Bind);
  CHECK(at(plan, "p/lib")->source == "/p/lib");
  CHECK(at(plan, "p/lib/x") == nullptr);

  facts.trees[0].parts[1].channels.socket = "/p/lib/x/s";
  Plan closed;
  REQUIRE(add_tree(view, facts, closed));
  CHECK(at(closed, "p/lib")->kind == MountKind::Mask);
  REQUIRE(closed.notes.size() == 1);
  CHECK(closed.notes[0].how ==
        "not shown: it holds the socket /p/lib/x/s, through which a task "
        "could reach the host");

  facts.trees[0].parts[0].crowded = true;
  Plan refused;
  CHECK_FALSE(add_tree(view, facts, refused));
  CHECK(refused.mounts.empty());
}

TEST_CASE("a crowded directory with a socket or FIFO of its own is not bound") {
  const TreeView view{.source = "/p", .target = "p"};
  for (const host::Channels& channels :
       {host::Channels{.socket = "/p/lib/s"}, host::Channels{.fifo = "/p/lib/f"}}) {
    host::HostFacts facts;
    facts.trees = {
        {.path = "/p",
         .parts = {
             {.path = "/p",
              .mounts_below = true,
              .entries = {{.path = "lib", .kind = Entry::Kind::Crowded, .channels = channels}}}}}};
    Plan hidden;
    REQUIRE(add_tree(view, facts, hidden));
    CHECK(at(hidden, "p/lib")->kind == MountKind::Mask);

    facts.trees[0].parts = {
        {.path = "/p", .mounts_below = true, .crowded = true, .channels = channels}};
    Plan refused;
    CHECK_FALSE(add_tree(view, facts, refused));
    CHECK(refused.mounts.empty());
  }
}

TEST_CASE("what is mounted where the caller may not look is not shown") {
  host::HostFacts facts;
  facts.trees = {{.path = "/p",
                  .parts = {{.path = "/p", .mounts_below = true, .detachable = true},
                            {.path = "/p/private", .fstype = "ext4", .closed = true}}}};
  Plan plan;
  REQUIRE(add_tree({.source = "/p", .target = "p"}, facts, plan));
  CHECK(at(plan, "p/private")->kind == MountKind::Mask);
}

TEST_CASE("of a tree whose top is checked all parts are") {
  const host::Inode top{.device = 1, .number = 2}, lower{.device = 1, .number = 3},
      part{.device = 4, .number = 2};
  host::HostFacts facts;
  facts.trees = {
      {.path = "/p",
       .parts = {{.path = "/p",
                  .mounts_below = true,
                  .inode = top,
                  .entries = {{.path = "lower", .inode = lower},
                              {.path = "unread", .kind = Entry::Kind::Unread, .inode = lower},
                              {.path = "full", .kind = Entry::Kind::Crowded, .inode = lower}}},
                 {.path = "/p/part", .fstype = "tmpfs", .inode = part}}}};
  for (const bool checked : {true, false}) {
    TreeView view{.source = "/p", .target = "p"};
    if (checked) view.inode = top;
    Plan plan;
    REQUIRE(add_tree(view, facts, plan));
    const auto inode_of = [&](const char* target) { return at(plan, target)->inode; };
    for (const char* target : {"p/lower", "p/unread", "p/full"}) {
      CHECK(inode_of(target) == (checked ? std::optional(lower) : std::nullopt));
    }
    CHECK(inode_of("p/part") == (checked ? std::optional(part) : std::nullopt));
  }
}

TEST_CASE("what is looked at: only trees with mounts below, and entries only for copy-on-write") {
  host::HostFacts facts;
  facts.mounts = {{.path = "/usr/local"}, {.path = "/data/x"}, {.path = "/code/p/m"}};
  facts.top = {{.name = "usr"}, {.name = "etc"}};
  facts.working_dir = "/code/p";
  facts.sources = {{.path = "/link", .real = "/data"}};
  spec::Spec spec;
  spec.argv = {"true"};
  spec.project = spec::ProjectMode::Ro;
  spec.fs = {{.kind = spec::FsKind::Rw, .source = "/link", .target = "/a"},
             {.kind = spec::FsKind::Cow, .source = "/link", .target = "/b"}};
  using host::TreeDetail;
  const auto wanted = wanted_trees(spec, facts);
  REQUIRE(wanted);
  CHECK(*wanted == std::vector<WantedTree>{{"/usr", TreeDetail::Entries},
                                           {"/code/p", TreeDetail::Parts},
                                           {"/data", TreeDetail::Entries}});
}

TEST_CASE("what could not be looked through may hold a way out, and is told as that") {
  const host::Channels channels{.socket = "/p/own",
                                .fifo = "/p/box",
                                .unseen = "/p/box",
                                .why_unseen = "the caller cannot list it, but can get in"};
  CHECK(danger_of(channels, {}) ==
        "it holds the socket /p/own, through which a task could reach the host");
  CHECK(danger_of(channels, {.sockets = true}) ==
        "a FIFO, through which a task could write to the host, may lie in /p/box: the caller "
        "cannot list it, but can get in");
  CHECK(danger_of(channels, {.sockets = true, .fifos = true}) == "");
}
