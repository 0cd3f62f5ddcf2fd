#include "plan/project.hpp"

#include <doctest/doctest.h>

#include "host/accounts.hpp"

using namespace mayfly;
using namespace mayfly::plan;

namespace {

host::HostFacts at(std::string working_dir, std::string work_tree = {}) {
  host::HostFacts facts;
  facts.uid = facts.gid = 1000;
  facts.home = "/home/alice";
  facts.passwd = host::parse_passwd(
      "root:x:0:0::/root:/bin/sh\n"
      "www-data:x:33:33::/var/www:/usr/sbin/nologin\n"
      "alice:x:1000:1000::/home/alice:/bin/sh\n"
      "bob:x:1001:1001::/data/bob:/bin/sh\n");
  facts.working_dir = std::move(working_dir);
  facts.work_tree = std::move(work_tree);
  return facts;
}

Project project(const host::HostFacts& facts, const spec::Spec& spec = {}) {
  const auto chosen = choose_project(spec, facts);
  REQUIRE_MESSAGE(chosen, describe(chosen.error()));
  return *chosen;
}

spec::Spec named(std::string dir) {
  spec::Spec spec;
  spec.project_dir = std::move(dir);
  return spec;
}

}  // namespace

TEST_CASE("the enclosing work tree, else the working directory") {
  CHECK(project(at("/home/alice/p/src", "/home/alice/p")) ==
        Project{.dir = "/home/alice/p", .why = "the enclosing git work tree"});
  CHECK(project(at("/home/alice/p/src")) ==
        Project{.dir = "/home/alice/p/src", .why = "the working directory"});
}

TEST_CASE("a git directory that lies elsewhere is told unless it is shown") {
  host::HostFacts facts = at("/home/alice/p/src", "/home/alice/p");
  facts.git_dir = "/home/alice/main/.git";
  facts.has_git_dir = true;
  const auto notes = [&](MountStep step) {
    Plan plan;
    plan.mounts = {{.kind = MountKind::Layer}, std::move(step)};
    add_git_note(project(facts), facts, plan);
    return plan.notes;
  };
  const MountStep tree{.kind = MountKind::Overlay, .target = "home/alice/p"};
  REQUIRE(notes(tree).size() == 1);
  CHECK(notes(tree)[0].how ==
        "the project's git directory, /home/alice/main/.git, is not shown: --cow "
        "/home/alice/main/.git shows it");
  CHECK(notes(tree)[0].enforcement == Enforcement::NotEnforced);
  CHECK(notes({.kind = MountKind::Tmpfs, .target = "home"}).size() == 1);
  facts.git_dir = "/home/alice/a:b/.git";
  CHECK(notes(tree)[0].how.find(": --cow '/home/alice/a\\:b/.git' shows it") != std::string::npos);
  facts.git_dir = "/home/alice/it's:$x/.git";
  CHECK(notes(tree)[0].how.find(R"(: --cow '/home/alice/it'\''s\:$x/.git' shows it)") !=
        std::string::npos);
  facts.git_dir = "/home/alice/a:b/.git";
  facts.has_git_dir = false;
  CHECK(notes(tree)[0].how ==
        "the project's git directory, /home/alice/a:b/.git, is not there on the host, or not for "
        "the caller");
  facts.git_dir = "/home/alice/main/.git";
  CHECK(notes({.kind = MountKind::Bind, .target = "home/alice/main"}).empty());
  facts.git_dir = "/home/alice/p/.git/modules/x";
  CHECK(notes(tree).empty());
  facts.git_dir.clear();
  CHECK(notes(tree).empty());
}

TEST_CASE("directories where people work are projects") {
  for (const char* good :
       {"/home/alice/x", "/tmp/x", "/var/tmp/x", "/srv/x", "/mnt/x", "/opt/app", "/workspace",
        "/app", "/data/bob/x", "/usr/src/app", "/usr/local/src/app", "/run/media/alice/stick",
        "/var/lib/jenkins/job", "/home/alice2", "/etcetera", "/var/www"}) {
    CAPTURE(good);
    CHECK(project(at(good)).dir == good);
  }
}

TEST_CASE("homes, what is above them, and the system's directories are never taken by themselves") {
  const auto why = [](const char* dir) {
    const Project chosen = project(at(dir));
    CHECK(chosen.dir == "");
    CHECK(chosen.why.find("no project: the working directory is ") == 0);
    CHECK(chosen.why.find("--project cow:DIR") != std::string::npos);
    return chosen.why;
  };
  CHECK(why("/home/alice").find("it is the home directory") != std::string::npos);
  CHECK(why("/home").find("the home directory is in it") != std::string::npos);
  CHECK(why("/").find("the home directory is in it") != std::string::npos);
  CHECK(why("/data/bob").find("it is the home directory of bob") != std::string::npos);
  for (const char* system :
       {"/usr", "/usr/lib/x", "/etc", "/etc/ssh", "/proc", "/proc/1", "/sys", "/dev", "/dev/shm/x",
        "/run", "/run/user/1000", "/boot", "/bin", "/lib64", "/usr/src", "/run/media"}) {
    CAPTURE(system);
    CHECK(why(system).find("it belongs to the system") != std::string::npos);
  }
  for (const char* shared : {"/tmp", "/var", "/var/tmp", "/var/lib", "/opt", "/srv", "/mnt"}) {
    CAPTURE(shared);
    CHECK(why(shared).find("it is shared by all programs or users") != std::string::npos);
  }
}

TEST_CASE("HOME counts as a home beside the one in passwd") {
  host::HostFacts facts = at("/builds/home");
  facts.env_home = "/builds/home";
  CHECK(project(facts).dir == "");
  facts.working_dir = "/builds";
  CHECK(project(facts).dir == "");
  facts.working_dir = "/builds/home/p";
  CHECK(project(facts).dir == "/builds/home/p");
}

TEST_CASE("a work tree that may not be the project gives way to the working directory") {
  CHECK(project(at("/tmp/x", "/tmp")).dir == "/tmp/x");  // somebody put a .git into /tmp
  CHECK(project(at("/home/alice/x", "/home/alice")).dir == "/home/alice/x");
  CHECK(project(at("/tmp", "/tmp")).dir == "");
}

TEST_CASE("no working directory, --project none") {
  CHECK(project(at("")) ==
        Project{.dir = "", .why = "no project: the working directory is gone or unreachable"});
  spec::Spec none;
  none.project = spec::ProjectMode::None;
  CHECK(project(at("/home/alice/x"), none) ==
        Project{.dir = "", .why = "no project: --project none"});
}

TEST_CASE("--project MODE:DIR names any directory but the root and the kernel's own") {
  CHECK(project(at("/x"), named("/home/alice")) ==
        Project{.dir = "/home/alice", .why = "named by --project"});
  CHECK(project(at("/x"), named("sub/../other/")).dir == "/x/other");
  CHECK(project(at("/x"), named("/usr/share")).dir == "/usr/share");
  CHECK(project(at(""), named("/abs")).dir == "/abs");
  for (const char* bad : {"/", "/..", "/proc", "/proc/self/cwd", "/sys/x", "/dev/shm"}) {
    CAPTURE(bad);
    const auto refused = choose_project(named(bad), at("/x"));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().kind == ErrorKind::Usage);
    const bool is_root = std::string_view(bad).size() < 4;
    CHECK(refused.error().action.find(is_root ? "/ as the project: it is the root of the host"
                                              : "as the project: it is the kernel's") !=
          std::string::npos);
  }
  const auto relative = choose_project(named("sub"), at(""));
  REQUIRE_FALSE(relative);
  CHECK(relative.error().action == "use sub as the project: the working directory is gone");
}
