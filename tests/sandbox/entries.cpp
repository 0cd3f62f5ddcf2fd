// What mayfly makes by itself for a sandbox: entries and mount points. Never on the host, as asked
// for or not at all, and what is in the way is told by name.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <string>
#include <utility>

#include "harness/host.hpp"
#include "harness/sandbox.hpp"
#include "harness/suite.hpp"

using namespace harness;

namespace {

struct Refused {
  Words options;
  Words words;  // all of them are in the message
};

void check_refused(const Refused& each, const Words& common = {}) {
  Words options = common;
  options.insert(options.end(), each.options.begin(), each.options.end());
  CAPTURE(joined(options));
  const Ended ended = sh("echo started", options);
  CAPTURE(ended.err);
  CHECK(ended.code == 125);
  CHECK(ended.out.empty());
  for (const std::string& word : each.words) {
    CAPTURE(word);
    CHECK(contains(ended.err, word));
  }
}

}  // namespace

TEST_CASE("nothing is made in a live tree: no file, directory, link or mount point") {
  const TempDir host;
  const std::string kept = host.file("live/kept", "kept", 0400);
  host.dir("live/sub");
  host.dir("other");
  const Words live = {"--rw", host / "live:/x"};
  const std::string source = host / "live";
  const Refused cases[] = {
      {{"--file", "/x/kept=clobber"}, {"make /x/kept (--file)", source, "live at /x (--rw)"}},
      {{"--file", "/x/new=text"}, {"/x/new (--file)", "hint: show that tree with --cow"}},
      {{"--dir", "/x/sub:700"}, {"/x/sub (--dir)", "stay there"}},
      {{"--dir", "/x/made"}, {"/x/made (--dir)"}},
      {{"--symlink", "/x/link=/q"}, {"/x/link (--symlink)"}},
      {{"--tmpfs", "/x/tm"}, {"/x/tm", "ENOENT", "make " + source + "/tm first"}},
      {{"--cow", host / "other:/x/a/b"}, {"/x/a/b", "make " + source + "/a/b first"}},
      {{"--ro", host / "other:/x/ro"}, {"/x/ro", "make " + source + "/ro first"}},
      {{"--rw", host / "other:/x/rw"}, {"/x/rw", "make " + source + "/rw first"}},
      {{"--ro", kept + ":/x/file"}, {"/x/file", "make " + source + "/file first"}},
      // A mask that finds nothing leaves the tree as it is.
      {{"--mask", "/x/none", "--dir", "/x/none"}, {"/x/none (--dir)"}},
  };
  for (const Refused& each : cases)
    check_refused(each, live);
  CHECK(read_file(kept) == "kept");
  CHECK(Command({"ls", source}).run().out == "kept\nsub\n");
  CHECK(Command({"stat", "-c", "%a", source + "/sub"}).run().out == "755\n");
}

TEST_CASE("a live project is no place for entries, and says how it may be shown instead") {
  const TempDir project;
  const std::string target = project / "new";
  const Ended ended = sh("true", {"--project", "rw:" + project.path(), "--file", target + "=x"});
  CHECK(ended.code == 125);
  CHECK(contains(ended.err, "(--project rw)"));
  CHECK(contains(ended.err, "hint: show that tree with --project cow"));
  CHECK_FALSE(exists(target));
}

TEST_CASE("what exists in a live tree can be mounted over, and stays as it is on the host") {
  const TempDir host;
  host.file("live/sub/kept", "kept");
  const Ended ended = sh("ls /x/sub; cat /x/sub/made", {"--rw", host / "live:/x", "--tmpfs",
                                                        "/x/sub", "--file", "/x/sub/made=inside"});
  CAPTURE(ended.err);
  CHECK(ended.out == "made\ninside");
  CHECK(Command({"ls", host / "live/sub"}).run().out == "kept\n");
}

TEST_CASE("a directory is made as asked for or refused, on what is there already, too") {
  const Ended ended =
      sh("stat -c '%a %n' /usr /srv/sticky /etc/hostname; cat /etc/hostname; ls -d /etc/apt",
         {"--dir", "/usr:711", "--dir", "/srv/sticky:1777", "--file", "/etc/hostname:600=hi",
          "--dir", "/usr/lib"});
  CAPTURE(ended.err);
  CHECK(ended.out.starts_with("711 /usr\n1777 /srv/sticky\n600 /etc/hostname\nhi"));
  check_refused({{"--dir", "/etc/passwd"}, {"/etc/passwd", "a file is there already"}});
  check_refused({{"--dir", "/d:4777"}, {"04777", "setuid", "hint: write it 0777"}});
  check_refused({{"--dir", "/d:2777"}, {"02777", "setgid"}});
  check_refused({{"--file", "/f:4755=x"}, {"04755", "setuid", "/f"}});
  check_refused({{"--tmpfs", "/t:mode=2777"}, {"02777", "setgid", "/t"}});
  check_refused({{"--file", "/f:1755=x"}, {"01755", "sticky"}});
}

TEST_CASE("what a read-only tree has is not changed, which explain says, too") {
  const TempDir host;
  const std::string dir = host.dir("dir"), file = host.file("file", "text");
  for (const Words& entry : {Words{"--dir", dir + ":700"}, Words{"--file", file + "=other"}}) {
    Words words = {mayfly_path(), "explain", "run", "--ro", host.path()};
    words.insert(words.end(), entry.begin(), entry.end());
    words.emplace_back("true");
    const Finished told = Command(words).run();
    words.erase(words.begin() + 1);
    const Finished ran = Command(words).run();
    CHECK(ran.code == 125);
    CHECK(contains(ran.err, "it is there already, and nothing can be changed in " + host.path()));
    CHECK_FALSE(contains(ran.err, " on the host first"));
    CHECK(told.err == ran.err);
  }
  CHECK(sh("true", {"--ro", host.path(), "--dir", dir}).code == 0);
}

TEST_CASE("what is in the way is told by name") {
  const TempDir host;
  host.dir("tree");
  const std::string file = host.file("file", "x");
  REQUIRE(::mkfifo((host / "tree/fifo").c_str(), 0600) == 0);
  const std::string dir_at = host / "tree:/x";
  const std::string file_at = file + ":/x";
  const char* const onto_file = "a directory cannot be put on one";
  const char* const onto_dir = "a file cannot be put on one";
  const Refused cases[] = {
      {{"--ro", dir_at, "--ro", file_at}, {"EISDIR", onto_dir}},
      {{"--ro", file_at, "--ro", dir_at}, {"ENOTDIR", onto_file}},
      {{"--file", "/x=1", "--tmpfs", "/x"},
       {"/x (--tmpfs): /x (--file) comes first", "hint: leave"}},
      {{"--ro", dir_at, "--tmpfs", "/x/new"}, {"EROFS", "make " + (host / "tree/new")}},
      {{"--ro", dir_at, "--file", "/x/new=1"}, {"EROFS", "/x, which is read-only"}},
      {{"--file", "/dev/null=hi"}, {"/dev/null", "a device is there already"}},
      {{"--file", "/bin=hi"}, {"/bin", "a symbolic link is there already"}},
      {{"--symlink", "/usr=/x"}, {"/usr", "a directory is there already"}},
      {{"--cow", dir_at, "--file", "/x/fifo=hi"}, {"/x/fifo", "a FIFO is there already"}},
      {{"--file", "/bin/x=hi"}, {"/bin/x", "a parent that is a symlink"}},
      {{"--tmpfs", "/q:size=4K", "--file", "/q/f=@/bin/sh"}, {"ENOSPC", "the tmpfs at /q is full"}},
  };
  for (const Refused& each : cases)
    check_refused(each);
}

namespace {

Words entry(const std::string& kind, const std::string& target, const TempDir& host) {
  const Words nodes = {"--dir", "--mask", "--tmpfs"};
  if (std::find(nodes.begin(), nodes.end(), kind) != nodes.end()) return {kind, target};
  if (kind == "--file" || kind == "--symlink") return {kind, target + "=text"};
  return {kind, host / "shown:" + target};
}

Finished with_entries(Words words, const Words& first, const Words& second) {
  words.insert(words.begin(), mayfly_path());
  for (const Words* each : {&first, &second})
    words.insert(words.end(), each->begin(), each->end());
  words.emplace_back("true");
  return Command(words).run();
}

}  // namespace

TEST_CASE(
    "entries that are in each other's way are refused before anything starts, and only they") {
  const TempDir host;
  host.dir("shown");
  const char* const kinds[] = {"--file", "--dir",  "--symlink", "--tmpfs",
                               "--cow",  "--mask", "--ro"};
  const std::pair<const char*, const char*> places[] = {
      {"/x", "/x"}, {"/x/below", "/x"}, {"/x", "/x/below"}};
  int refused = 0;
  for (const std::string first : kinds) {
    for (const std::string second : kinds) {
      for (const auto& [at_first, at_second] : places) {
        const Words options[] = {entry(first, at_first, host), entry(second, at_second, host)};
        CAPTURE(joined(options[0]));
        CAPTURE(joined(options[1]));
        const Finished ran = with_entries({"run"}, options[0], options[1]);
        const Finished told = with_entries({"explain", "run"}, options[0], options[1]);
        // What --ro and --mask leave there is for the host to say; it may take no entry.
        const bool known = first != "--ro" && first != "--mask" && second != "--ro";
        if (told.code != 0 || known) {
          CHECK(told.code == ran.code);
          CHECK(told.err == ran.err);
        }
        refused += told.code != 0 ? 1 : 0;
      }
    }
  }
  CHECK(refused > 30);
}

TEST_CASE("entries of a policy that are in each other's way are told with their place") {
  const TempDir host;
  const std::string policy =
      host.file("policy.toml", "mounts = [\n  { file = \"/x=text\" },\n  { dir = \"/x/y\" },\n]\n");
  check_refused({{"--policy", policy},
                 {policy + ":3:", "mounts.dir: cannot make /x/y (--dir): /x (--file) comes first",
                  "hint: leave"}});
}

TEST_CASE("the sandbox's own /proc cannot be covered where it is needed, and takes no entries") {
  const TempDir host;
  const char* const needed = "the sandbox needs its own /proc";
  check_refused({{"--ro", host.path() + ":/proc"}, {"/proc (--ro)", needed}});
  check_refused({{"--tmpfs", "/proc/sys"}, {"/proc/sys (--tmpfs)", needed}});
  check_refused({{"--tmpfs", "/proc/sys/user"}, {"/proc/sys/user (--tmpfs)", needed}});
  check_refused({{"--mask", "/proc"}, {"/proc (--mask)", needed}});
  check_refused({{"--file", "/proc/x=hi"}, {"/proc/x (--file)", "takes no entries"}});
  check_refused({{"--tmpfs", "/proc/new"}, {"/proc/new", "nothing can be made in /proc"}});
  CHECK(sh("cat /proc/cpuinfo", {"--mask", "/proc/cpuinfo"}).out.empty());
}

TEST_CASE("the whole root of the host can be shown copy-on-write") {
  const TempDir host;
  host.file("file", "content");
  const Ended ended = sh("cat \"/host$1\"; ls -A /host/proc /host/dev; echo x > /host/made",
                         {"--cow", "/:/host"}, {host / "file"});
  CAPTURE(ended.err);
  CHECK(ended.code == 0);
  CHECK(contains(ended.out, "content"));
  CHECK_FALSE(contains(ended.result.at("notes").dump(), "//"));
  CHECK_FALSE(exists("/made"));
  check_refused({{"--ro", "/:/host"}, {"share /", "the kernel's file system"}});
}

TEST_CASE(
    "a tree on top of the home directory: it is made anew, or the words say what is missing") {
  const TempDir host;
  const std::string home = sh("echo $HOME").out;
  const std::string top = home.substr(0, home.find_first_of("/\n", 1));
  for (const char* option : {"--cow", "--tmpfs"}) {
    CAPTURE(option);
    const bool is_tree = option == std::string("--cow");
    const Words options = {option, (is_tree ? host.path() + ":" : std::string()) + top, "--project",
                           "none"};
    const Ended ended = run(options, {"/bin/sh", "-c", "cd; pwd"});
    CAPTURE(ended.err);
    CHECK(ended.code == 0);
    CHECK(ended.out == home);
  }
  if (top + "\n" == home) return;  // the tree is the home directory itself
  const Ended ended = run({"--ro", host.path() + ":" + top, "--project", "none"}, {"/bin/true"});
  CAPTURE(ended.err);
  CHECK(ended.code == 125);
  CHECK(contains(ended.err, "the home directory lies in what is shown at " + top));
}

TEST_CASE("a program on a file system that is mounted noexec: the message names it") {
  const TempDir host;
  host.dir("full");
  const std::string script =
      "mount -t tmpfs none /run; mount -t tmpfs -o noexec none \"$0\"; cp "
      "/bin/true \"$0/tool\"; exec \"$@\"";
  Words around = {"unshare", "--mount", "--propagation", "private"};
  if (!is_root()) around.insert(around.end(), {"--user", "--map-root-user"});
  around.insert(around.end(), {"sh", "-ec", script, host / "full"});
  const Ended ended = Run({"--ro", host / "full/tool:/t"}, {"/t"}, around).end();
  CAPTURE(ended.err);
  CHECK(ended.code == 126);
  CHECK(contains(ended.err, "mounted noexec"));
  CHECK(contains(ended.err, "--file /t:755=@" + (host / "full/tool")));
}
