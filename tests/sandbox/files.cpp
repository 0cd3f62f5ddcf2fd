// Files: what is written stays inside, what is shown is shown as asked, and overlays behave.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "harness/host.hpp"
#include "harness/sandbox.hpp"
#include "harness/suite.hpp"

using namespace harness;

namespace {

mode_t mode_of(const std::string& path) {
  struct stat info = {};
  REQUIRE(::lstat(path.c_str(), &info) == 0);
  return info.st_mode & 07777;
}

// A project with something in it to change.
void furnish(const TempDir& project) {
  project.file("kept", "kept");
  project.file("changed", "before");
  project.file("removed", "removed");
  project.file("tree/deep/file", "deep");
  project.file("script", "#!/bin/sh\n", 0755);
}

}  // namespace

TEST_CASE("the project is changed inside and untouched outside") {
  const Run work({}, {"/bin/sh", "-ec",
                      "echo after > changed; rm removed; mkdir made; echo x > made/x; rm -r tree;"
                      "chmod 600 kept; mv script renamed; ls; cat changed"});
  furnish(work.project());
  const Ended ended = work.end();
  CAPTURE(ended.err);
  CHECK(ended.code == 0);
  CHECK(ended.out == "changed\nkept\nmade\nrenamed\nafter\n");
  CHECK(read_file(work.project() / "changed") == "before");
  CHECK(read_file(work.project() / "removed") == "removed");
  CHECK(read_file(work.project() / "tree/deep/file") == "deep");
  CHECK(mode_of(work.project() / "kept") == 0644);
  CHECK(exists(work.project() / "script"));
  CHECK_FALSE(exists(work.project() / "made"));
  CHECK_FALSE(exists(work.project() / "renamed"));
}

TEST_CASE("--project rw writes through, ro refuses, none hides") {
  const Run live({"--project", "rw"},
                 {"/bin/sh", "-ec", "echo after > changed; rm removed; echo new > new"});
  furnish(live.project());
  // A root caller's task is nobody in particular on the host: 125 says so, or the write works.
  const Ended wrote = live.end();
  CAPTURE(wrote.err);
  CHECK(wrote.code == 0);
  CHECK(read_file(live.project() / "changed") == "after\n");
  CHECK_FALSE(exists(live.project() / "removed"));
  CHECK(exists(live.project() / "new"));

  const Run shown({"--project", "ro"}, {"/bin/sh", "-c", "cat changed; echo x > changed"});
  furnish(shown.project());
  const Ended refused = shown.end();
  CHECK(refused.out == "before");
  CHECK(refused.code != 0);
  CHECK(contains(refused.err, "Read-only file system"));

  const Run hidden({"--project", "none", "--chdir", "/"},
                   {"/bin/sh", "-c", "cat \"$1\"", "sh", "PLACE"});
  furnish(hidden.project());
  const Ended none =
      run({"--project", "none", "--chdir", "/"}, {"/bin/cat", hidden.project() / "kept"});
  CHECK(none.code == 1);
  CHECK(contains(none.err, "No such file"));
}

TEST_CASE("the project is the enclosing git work tree") {
  const TempDir tree;
  REQUIRE(Command({"git", "init", "-q", tree.path()}).run().code == 0);
  tree.file("top", "top of the tree");
  Run below({}, {"/bin/sh", "-c", "cat ../../top; echo x > ../../made; pwd"});
  below.command.cwd(tree.dir("a/b"));
  const Ended ended = below.end();
  CAPTURE(ended.err);
  CHECK(ended.out == "top of the tree" + tree.path() + "/a/b\n");
  CHECK_FALSE(exists(tree / "made"));
}

TEST_CASE(
    "a linked work tree's git directory that is not shown is told by explain and the result") {
  const TempDir host;
  const std::string linked = host.dir("linked");
  host.file("linked/.git", "gitdir: " + host.dir("main/.git/worktrees/linked") + "\n");
  const std::string said =
      "the project's git directory, " + (host / "main/.git") + ", is not shown";
  const auto is_told = [&](const Words& options) {
    Run in_tree(options, {"true"});
    in_tree.command.cwd(linked);
    const Ended ended = in_tree.end();
    CHECK(ended.code == 0);
    Words words = {mayfly_path(), "explain", "run"};
    words.insert(words.end(), options.begin(), options.end());
    words.emplace_back("true");
    const bool is_explained = contains(Command(words).cwd(linked).run().out, said);
    CHECK(contains(ended.result.at("notes").dump(), said) == is_explained);
    return is_explained;
  };
  CHECK(is_told({}));
  CHECK_FALSE(is_told({"--cow", host / "main/.git"}));
}

TEST_CASE("the home directory and what is above it is no project") {
  const TempDir home;
  home.file("private", "private");
  Run at_home({}, {"/bin/sh", "-c", "cat \"$0\" 2>&1", home / "private"});
  at_home.command.env("HOME", home.path()).cwd(home.path());
  const Ended ended = at_home.end();
  CHECK(contains(ended.out, "No such file"));
}

TEST_CASE("--ro shows a directory and a file, every write fails with EROFS and reaches nothing") {
  const TempDir host;
  host.file("tree/sub/file", "content");
  const std::string single = host.file("single", "single");
  const Ended ended = sh(
      "cat /shown/sub/file /single; for p in /shown/new /shown/sub/new /shown/sub/file /single; do"
      " (echo x > $p) 2>&1; done; rm -f /shown/sub/file 2>&1; mkdir /shown/d 2>&1; chmod 777 "
      "/shown/sub 2>&1",
      {"--ro", host / "tree" + std::string(":/shown"), "--ro", single + ":/single"});
  CAPTURE(ended.out);
  CHECK(ended.out.starts_with("contentsingle"));
  std::size_t refusals = 0;
  for (const std::string& line : lines(ended.out))
    refusals += contains(line, "Read-only file system");
  CHECK(refusals == 7);
  CHECK(read_file(host / "tree/sub/file") == "content");
  CHECK(read_file(single) == "single");
}

TEST_CASE("mountinfo proves it: what is shown with --ro is a read-only mount") {
  const TempDir host;
  host.file("tree/file", "content");
  const Ended ended =
      sh("cat /proc/self/mountinfo", {"--ro", host / "tree" + std::string(":/shown")});
  bool found = false;
  for (const std::string& line : lines(ended.out)) {
    if (!contains(line, " /shown ")) continue;
    found = true;
    CHECK(contains(line, " /shown ro"));
    CHECK(contains(line, "nosuid"));
    CHECK(contains(line, "nodev"));
  }
  CHECK(found);
}

TEST_CASE("--cow: writes are seen inside and not outside") {
  const TempDir host;
  host.file("tree/file", "before");
  const Ended ended = sh("echo after > /mine/file; echo new > /mine/new; cat /mine/file /mine/new",
                         {"--cow", host / "tree" + std::string(":/mine")});
  CAPTURE(ended.err);
  CHECK(ended.out == "after\nnew\n");
  CHECK(read_file(host / "tree/file") == "before");
  CHECK_FALSE(exists(host / "tree/new"));
}

TEST_CASE("the top of a tree has the mode, the times and the group that it has on the host") {
  const TempDir host;
  constexpr unsigned kGroup = 60;
  host.file("tree/file", "");
  const std::string tree = host / "tree";
  if (is_root()) REQUIRE(::chown(tree.c_str(), 0, kGroup) == 0);
  for (const mode_t mode : {mode_t{02770}, mode_t{01777}, mode_t{0500}, mode_t{0700}}) {
    REQUIRE(::chmod(tree.c_str(), mode) == 0);
    const timespec times[2] = {{.tv_sec = 1'000'000'000, .tv_nsec = 5},
                               {.tv_sec = 1'100'000'000, .tv_nsec = 7}};
    REQUIRE(::utimensat(AT_FDCWD, tree.c_str(), times, 0) == 0);
    for (const Words& shown : {Words{"--project", "cow:" + tree},
                               {"--project", "ro:" + tree},
                               {"--project", "none", "--ro", tree},
                               {"--layer", "disk", "--project", "none", "--cow", tree}}) {
      CAPTURE(joined(shown));
      const Finished ended = sh("stat -c '%a %g %.9Y' " + tree, shown);
      CAPTURE(ended.err);
      char mode_text[8];
      std::snprintf(mode_text, sizeof mode_text, "%o", static_cast<unsigned>(mode));
      CHECK(ended.out == mode_text + std::string(" ") +
                             std::to_string(is_root() ? kGroup : ::getegid()) +
                             " 1100000000.000000007\n");
    }
  }
}

TEST_CASE("--tmpfs has the size that was asked for: beyond it ENOSPC") {
  const Ended ended =
      sh("dd if=/dev/zero of=/scratch/f bs=64k count=32 2>&1; stat -c %s /scratch/f",
         {"--tmpfs", "/scratch:size=1M"});
  CHECK(contains(ended.out, "No space left on device"));
  CHECK(lines(ended.out).back() == "1048576");
}

TEST_CASE("the layer has a size and a number of inodes: beyond them ENOSPC") {
  if (kernel_is_older_than(6, 6)) {  // then it is on disk, where the sandbox is ended instead
    CHECK(sh("dd if=/dev/zero of=/tmp/f bs=64k count=64; sleep 60", {"--layer-size", "1M"})
              .reason() == "layer_limit");
    return;
  }
  const Ended full = sh("dd if=/dev/zero of=/tmp/f bs=64k count=64 2>&1", {"--layer-size", "1M"});
  CHECK(contains(full.out, "No space left on device"));
  const Ended many = sh("i=0; while [ $i -lt 400 ]; do : > /tmp/$i || exit 9; i=$((i+1)); done",
                        {"--layer-inodes", "300"});
  CHECK(many.code != 0);
  CHECK(contains(many.err, "No space left on device"));
  CHECK(contains(many.err, "No space left on device"));
}

TEST_CASE("--file, --dir and --symlink make what they say, with the mode asked for") {
  const TempDir host;
  const std::string source = host.file("source", std::string("from\0the host", 13));
  const Ended ended =
      sh("cat /etc/motd2; stat -c '%a %n' /etc/motd2 /srv/box /srv/secret; readlink /srv/link; cmp "
         "/srv/copy \"$1\" && echo same",
         {"--file", "/etc/motd2=hello", "--dir", "/srv/box:700", "--file", "/srv/secret:600=key",
          "--symlink", "/srv/link=../etc/motd2", "--file", "/srv/copy=@" + source, "--ro", source},
         {source});
  CAPTURE(ended.err);
  CHECK(ended.out == "hello644 /etc/motd2\n700 /srv/box\n600 /srv/secret\n../etc/motd2\nsame\n");
}

TEST_CASE("--mask hides a directory and a file, and cannot be undone from inside") {
  const TempDir host;
  host.file("tree/secret/key", "s3cret");
  host.file("tree/plain", "s3cret, too");
  const Words options = {"--cow",  host / "tree" + std::string(":/shown"),
                         "--mask", "/shown/secret",
                         "--mask", "/shown/plain"};
  const Ended ended =
      sh("ls -A /shown/secret; cat /shown/secret/key /shown/plain;"
         "rm -rf /shown/secret /shown/plain; mv /shown/secret /shown/elsewhere; cat "
         "/shown/elsewhere/key",
         options);
  CHECK(ended.started());
  CHECK_FALSE(contains(ended.out, "s3cret"));
  CHECK(ended.code != 0);
}

TEST_CASE("--mask of a directory is an empty one, of a file one that nobody may open, for good") {
  const TempDir host;
  host.file("tree/secret/key", "s3cret");
  host.file("tree/plain", "s3cret, too");
  const Ended ended = sh(
      "stat -c '%F %a' /shown/secret /shown/plain; ls -A /shown/secret | wc -l; cat /shown/plain; "
      "for change in 'mkdir /shown/secret/new' 'chmod 755 /shown/secret' "
      "'chmod 644 /shown/plain'; do $change; done",
      {"--cow", host / "tree" + std::string(":/shown"), "--mask", "/shown/secret", "--mask",
       "/shown/plain"});
  CAPTURE(ended.err);
  CHECK(ended.out == "directory 555\nregular empty file 0\n0\n");
  const std::vector<std::string> complaints = lines(ended.err);
  REQUIRE(complaints.size() == 4);
  CHECK(contains(complaints[0], "Permission denied"));
  for (std::size_t i = 1; i < complaints.size(); ++i)
    CHECK_MESSAGE(contains(complaints[i], "Read-only file system"), complaints[i]);
}

TEST_CASE("file system options apply in the order given") {
  const TempDir host;
  host.file("a/file", "a");
  host.file("b/file", "b");
  const Words ab = {"--ro", host / "a" + std::string(":/shown"), "--ro",
                    host / "b" + std::string(":/shown")};
  CHECK(run(ab, {"/bin/cat", "/shown/file"}).out == "b");
  const Words ba = {"--ro", host / "b" + std::string(":/shown"), "--ro",
                    host / "a" + std::string(":/shown")};
  CHECK(run(ba, {"/bin/cat", "/shown/file"}).out == "a");
}

TEST_CASE("the usual operations on lower files work: replace, rename, link, truncate, times") {
  const Run work({}, {"/bin/sh", "-ec", R"(
    rm -r tree; mkdir tree; ls -A tree; echo new > tree/deep
    mv kept other; ln other linked; echo more >> linked; cat other
    ln -s nowhere dangling; readlink dangling
    : > changed; stat -c %s changed
    touch -d @1000 script; stat -c %Y script
    mkdir one; mv one two; rmdir two
    chmod 4755 script; stat -c %a script
    mkfifo pipe; test -p pipe
  )"});
  furnish(work.project());
  const Ended ended = work.end();
  CAPTURE(ended.err);
  CHECK(ended.code == 0);
  CHECK(ended.out == "keptmore\nnowhere\n0\n1000\n4755\n");
}

TEST_CASE("renaming a lower directory works, or fails with the EXDEV that mv copes with") {
  const Run work({}, {"/bin/sh", "-ec", "mv tree moved; cat moved/deep/file; test ! -e tree"});
  furnish(work.project());
  const Ended ended = work.end();
  CAPTURE(ended.err);
  CHECK(ended.code == 0);
  CHECK(ended.out == "deep");
}

TEST_CASE("what a task wrote is gone with it: the next one does not see it") {
  CHECK(sh("echo x > /tmp/left; echo x > /var/tmp/left").code == 0);
  const Ended next = sh("ls -A /tmp/left /var/tmp/left");
  CHECK(next.started());
  CHECK(next.code != 0);
}

TEST_CASE("the system's own directories cannot be written through to the host") {
  const std::string name = "/usr/" + new_marker();
  const Ended ended = sh("echo x > \"$1\"; echo x >> /etc/hostname; echo done", {}, {name});
  CHECK(contains(ended.out, "done"));
  CHECK_FALSE(exists(name));
}
