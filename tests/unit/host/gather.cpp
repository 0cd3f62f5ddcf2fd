// gather() on the machine that runs the tests, against other ways to learn the same.
#include <dirent.h>
#include <doctest/doctest.h>
#include <grp.h>
#include <mntent.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>

#include "host/accounts.hpp"
#include "host/facts.hpp"

using namespace mayfly;
using namespace mayfly::host;

namespace {

std::string output_of(const char* command) {
  std::FILE* pipe = ::popen(command, "r");
  REQUIRE(pipe != nullptr);
  std::string text;
  for (int c; (c = std::fgetc(pipe)) != EOF;)
    text += static_cast<char>(c);
  REQUIRE(::pclose(pipe) == 0);
  return text;
}

HostFacts gathered() {
  auto facts = gather();
  REQUIRE_MESSAGE(facts, describe(facts.error()));
  return std::move(facts).value();
}

// Changes the working directory until the end of the scope.
struct WorkingDir {
  explicit WorkingDir(const std::string& path) : before(std::filesystem::current_path()) {
    std::filesystem::current_path(path);
  }
  WorkingDir(const WorkingDir&) = delete;
  WorkingDir& operator=(const WorkingDir&) = delete;
  ~WorkingDir() { std::filesystem::current_path(before); }
  std::filesystem::path before;
};

struct TempDir {
  TempDir() {
    char name[] = "/tmp/mayfly-gather-XXXXXX";
    REQUIRE(::mkdtemp(name) != nullptr);
    path = name;
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir() { std::filesystem::remove_all(path); }
  std::string path;
};

}  // namespace

TEST_CASE("gather agrees with id(1) about ids and groups") {
  const HostFacts facts = gathered();
  CHECK(std::to_string(facts.uid) + "\n" == output_of("id -u"));
  CHECK(std::to_string(facts.gid) + "\n" == output_of("id -g"));
  std::istringstream words(output_of("id -G"));
  std::set<gid_t> expected;
  for (gid_t gid; words >> gid;)
    expected.insert(gid);
  expected.erase(facts.gid);
  CHECK(std::set<gid_t>(facts.groups.begin(), facts.groups.end()) == expected);
}

TEST_CASE("gather agrees with getmntent(3) about every mount") {
  const HostFacts facts = gathered();
  std::FILE* table = ::setmntent("/proc/self/mounts", "r");
  REQUIRE(table != nullptr);
  std::vector<std::string> expected, got;
  while (const mntent* entry = ::getmntent(table))
    expected.push_back(std::string(entry->mnt_dir) + " " + entry->mnt_type + " " +
                       (::hasmntopt(entry, "ro") != nullptr ? "ro" : "rw"));
  ::endmntent(table);
  for (const MountPoint& mount : facts.mounts)
    got.push_back(mount.path + " " + mount.fstype + " " + (mount.read_only ? "ro" : "rw"));
  CHECK(got == expected);
  CHECK_FALSE(got.empty());
}

TEST_CASE("gather agrees with the C library about passwd and group") {
  const HostFacts facts = gathered();
  std::vector<PasswdEntry> users;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> passwd(std::fopen("/etc/passwd", "r"),
                                                         std::fclose);
  REQUIRE(passwd);
  while (const struct passwd* entry = ::fgetpwent(passwd.get()))
    users.push_back({.name = entry->pw_name,
                     .uid = entry->pw_uid,
                     .gid = entry->pw_gid,
                     .home = entry->pw_dir,
                     .shell = entry->pw_shell});
  CHECK(facts.passwd == users);
  std::vector<GroupEntry> groups;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> group(std::fopen("/etc/group", "r"), std::fclose);
  REQUIRE(group);
  while (const struct group* entry = ::fgetgrent(group.get()))
    groups.push_back({.name = entry->gr_name, .gid = entry->gr_gid});
  CHECK(facts.group == groups);
}

TEST_CASE("gather sees the host's root as it is") {
  namespace fs = std::filesystem;
  const HostFacts facts = gathered();
  for (const char* name : {"usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "etc", "opt"}) {
    CAPTURE(name);
    const fs::path path = fs::path("/") / name;
    const auto entry = std::find_if(facts.top.begin(), facts.top.end(),
                                    [&](const TopEntry& top) { return top.name == name; });
    const bool is_link = fs::is_symlink(path);
    REQUIRE((entry != facts.top.end()) == (is_link || fs::is_directory(path)));
    if (entry == facts.top.end()) continue;
    CHECK((entry->kind == TopEntry::Kind::Symlink) == is_link);
    if (is_link) {
      CHECK(entry->link == fs::read_symlink(path));
    } else if (::access(path.c_str(), R_OK) == 0) {
      CHECK(entry->empty == fs::is_empty(path));
    }
  }
}

TEST_CASE("gather tells whether a cgroup can be made, as trying does") {
  const HostFacts facts = gathered();
  if (facts.cgroup.mount.empty()) {
    CHECK(output_of("grep -c ' - cgroup2 ' /proc/self/mountinfo || true") == "0\n");
    return;
  }
  const std::string own = facts.cgroup.mount + (facts.cgroup.own == "/" ? "" : facts.cgroup.own);
  std::ifstream procs(own + "/cgroup.procs");
  std::vector<long> pids;
  for (long pid; procs >> pid;)
    pids.push_back(pid);
  CHECK(std::find(pids.begin(), pids.end(), ::getpid()) != pids.end());
  const std::string child = own + "/mayfly-unit-" + std::to_string(::getpid());
  const bool made = ::mkdir(child.c_str(), 0755) == 0;
  if (made) CHECK(::rmdir(child.c_str()) == 0);
  CHECK(made == facts.cgroup.writable);
}

TEST_CASE("gather finds the working directory and its work tree") {
  TempDir base;
  const std::string tree = base.path + "/tree", inner = tree + "/a/b";
  std::filesystem::create_directories(inner);
  WorkingDir inside(inner);
  CHECK(gathered().working_dir == inner);
  CHECK(gathered().work_tree == "");

  SUBCASE("a .git directory") {
    std::filesystem::create_directory(tree + "/.git");
    CHECK(gathered().work_tree == tree);
    std::filesystem::create_directory(inner + "/.git");
    CHECK(gathered().work_tree == inner);  // the nearest counts
  }
  SUBCASE("a .git file, as worktrees and submodules have") {
    const auto led_to = [&](const std::string& text) {
      std::ofstream(tree + "/.git") << text;
      CHECK(gathered().work_tree == tree);
      return gathered().git_dir;
    };
    CHECK(led_to("gitdir: elsewhere\n") == tree + "/elsewhere");
    CHECK_FALSE(gathered().has_git_dir);
    std::filesystem::create_directory(tree + "/elsewhere");
    CHECK(gathered().has_git_dir);
    CHECK(led_to("gitdir: ../.git/modules/x\n") == base.path + "/.git/modules/x");
    CHECK(led_to("gitdir: /main/.git/worktrees/x\n") == "/main/.git");
    CHECK(led_to("something else\n") == "");
    CHECK(led_to("") == "");
  }
  SUBCASE("a .git that is a link or a fifo is none") {
    std::filesystem::create_directory_symlink("/tmp", tree + "/.git");
    REQUIRE(::mkfifo((tree + "/a/.git").c_str(), 0600) == 0);
    CHECK(gathered().work_tree == "");
  }
  SUBCASE("a .git of somebody else's counts only in their own tree, and for root") {
    if (::geteuid() != 0) return;  // only root has others' files
    constexpr uid_t kOther = 4711;
    const auto give = [&](const std::string& path) {
      REQUIRE(::lchown(path.c_str(), kOther, kOther) == 0);
    };
    std::filesystem::create_directory(tree + "/.git");
    give(tree + "/.git");
    CHECK(gathered().work_tree == "");  // planted in a directory of root's
    give(inner);
    CHECK(gathered().work_tree == "");
    give(tree);
    CHECK(gathered().work_tree == tree);
    REQUIRE(::lchown(inner.c_str(), 0, 0) == 0);
    CHECK(gathered().work_tree == "");  // root works in a directory of its own below it
  }
  SUBCASE("what it found is known by more than its path") {
    std::filesystem::create_directory(tree + "/.git");
    CHECK(gathered().working_inode == host::inode_of(inner.c_str()));
    CHECK(gathered().tree_inode == host::inode_of(tree.c_str()));
    std::filesystem::rename(inner, tree + "/moved");
    std::filesystem::create_directory(inner);
    CHECK(host::inode_of(".") != host::inode_of(inner.c_str()));
  }
  SUBCASE("the home directory and what is above it are never a work tree") {
    const char* home = std::getenv("HOME");
    const std::string before = home != nullptr ? home : "";
    std::filesystem::create_directory(tree + "/.git");
    std::filesystem::create_directory_symlink(tree, base.path + "/link-to-home");
    for (const std::string& fake : {tree, inner, base.path + "/link-to-home"}) {
      CAPTURE(fake);
      REQUIRE(::setenv("HOME", fake.c_str(), 1) == 0);
      CHECK(gathered().work_tree == "");
    }
    ::setenv("HOME", before.c_str(), 1);
    if (home == nullptr) ::unsetenv("HOME");
  }
}

TEST_CASE("gather: a deleted working directory is none") {
  TempDir base;
  const std::string gone = base.path + "/gone";
  std::filesystem::create_directory(gone);
  WorkingDir inside(gone);
  std::filesystem::remove(gone);
  CHECK(gathered().working_dir == "");
  CHECK(gathered().work_tree == "");
}

TEST_CASE("gather: --unsafe-ids=host looks through all of /etc") {
  const auto facts = gather(EtcCheck::ForHostIds);
  REQUIRE(facts);
  const auto lists = [&](const char* name) {
    return std::find(facts->etc_private.begin(), facts->etc_private.end(), name) !=
           facts->etc_private.end();
  };
  struct stat shadow;
  const bool is_private = ::stat("/etc/shadow", &shadow) == 0 && (shadow.st_mode & 04) == 0;
  CHECK(lists("shadow") == is_private);
  CHECK_FALSE(lists("passwd"));
}
