// Directories with other file systems mounted below them. The mounts are made in a mount namespace
// of the test's own, as a container or a user's session would have them.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "harness/host.hpp"
#include "harness/sandbox.hpp"
#include "harness/suite.hpp"

using namespace harness;

namespace {

// Who runs mayfly beside the mounts.
enum class Caller {
  Owner,     // may copy a mount without what is mounted below it: whoever made the mounts
  Stranger,  // may not: an ordinary user of a container, for whom the mounts are locked
};

// Words that make the mounts of `script` and execute what follows. In it, $P is the project.
Words beside(const std::string& script, Caller caller) {
  Words words = {"unshare", "--mount", "--propagation", "private"};
  if (!is_root()) {
    words.emplace_back("--user");
    words.emplace_back("--map-root-user");
  }
  const std::string next = caller == Caller::Owner ? "" : "unshare --user --map-root-user ";
  // /run: whoever seems to be root keeps the registry there.
  for (const std::string& word :
       {std::string("sh"), std::string("-ec"),
        "P=$PWD; mount -t tmpfs none /run; " + script + "; cd \"$P\"; exec " + next + "\"$@\"",
        std::string("sh")}) {
    words.push_back(word);
  }
  return words;
}

Words script(const std::string& text) {
  return {"/bin/sh", "-c", text};
}

const char* name_of(Caller caller) {
  return caller == Caller::Owner ? "the owner of the mounts" : "a stranger to them";
}

constexpr Caller kCallers[] = {Caller::Owner, Caller::Stranger};

const std::string kModules =
    "mount -t tmpfs none node_modules; mkdir node_modules/a; echo module > node_modules/a/index";

// A project whose node_modules hides something.
void furnish(const TempDir& project) {
  project.file("node_modules/hidden", "hidden");
  project.file("source", "before\n");
  project.file("run.sh", "#!/bin/sh\necho ran\n", 0755);
  project.file("tree/deep/file", "deep\n");
}

}  // namespace

TEST_CASE("a project with a mount in it is copy-on-write, and so is what is mounted there") {
  for (const Caller caller : kCallers) {
    CAPTURE(name_of(caller));
    const Run work(
        {},
        script("cat node_modules/a/index; ls node_modules; ./run.sh; echo after > source;"
               "rm -r tree; mkdir tree; ls -A tree; rm node_modules/a/index;"
               "echo x > node_modules/new; mv run.sh moved; ls"),
        beside(kModules, caller));
    furnish(work.project());
    const Ended ended = work.end();
    CAPTURE(ended.err);
    CHECK(ended.code == 0);
    CHECK(ended.out.starts_with("module\na\nran\nmoved\nnode_modules\nsource\ntree\n"));
    CHECK(ended.reason() == "exited");
    CHECK(read_file(work.project() / "source") == "before\n");
    CHECK(read_file(work.project() / "tree/deep/file") == "deep\n");
    CHECK(exists(work.project() / "run.sh"));
    CHECK(read_file(work.project() / "node_modules/hidden") == "hidden");
    CHECK_FALSE(exists(work.project() / "moved"));
    CHECK_FALSE(exists(work.project() / "node_modules/new"));
  }
}

TEST_CASE("a write to what is mounted in a project stays inside") {
  for (const Caller caller : kCallers) {
    CAPTURE(name_of(caller));
    const TempDir store;
    store.file("kept", "kept");
    const Run work({},
                   script("rm node_modules/kept && echo x > node_modules/new && ls node_modules"),
                   beside("mount --bind " + store.path() + " node_modules", caller));
    furnish(work.project());
    const Ended ended = work.end();
    CAPTURE(ended.err);
    CHECK(ended.out == "new\n");
    CHECK(read_file(store / "kept") == "kept");
    CHECK_FALSE(exists(store / "new"));
  }
}

TEST_CASE("files keep their times and modes where a directory is rebuilt") {
  for (const Caller caller : kCallers) {
    CAPTURE(name_of(caller));
    const Run work(
        {}, script("stat -c '%n %Y %a' source run.sh; readlink link"),
        beside(kModules + "; touch -d @1000000000 source run.sh; ln -sf source link", caller));
    furnish(work.project());
    const Ended ended = work.end();
    CAPTURE(ended.err);
    CHECK(ended.out == "source 1000000000 644\nrun.sh 1000000000 755\nsource\n");
  }
}

TEST_CASE("/etc with files mounted in it, as in a container, is whole and writable at its top") {
  const TempDir host;
  host.file("secret", "the name server of the host\n");
  const std::string mounts =
      "for f in hosts resolv.conf hostname services; do"
      " [ ! -f /etc/$f ] || mount --bind " +
      host.path() + "/secret /etc/$f; done";
  for (const Caller caller : kCallers) {
    CAPTURE(name_of(caller));
    const Run work(
        {},
        script("grep -l 'name server of the host' /etc/*; cat /etc/hosts; ls /etc/alternatives;"
               "id -un; touch /etc/new && echo made; (echo x > /etc/services) 2>&1"),
        beside(mounts, caller));
    const Ended ended = work.end();
    CAPTURE(ended.err);
    CAPTURE(ended.out);
    CHECK(contains(ended.out, "127.0.0.1 localhost mayfly"));
    CHECK(contains(ended.out, "awk\n"));
    CHECK(contains(ended.out, "made\n"));
    // What is mounted on a file of the sandbox's own is not shown; on any other it is, read-only.
    CHECK_FALSE(contains(ended.out, "/etc/hosts\n"));
    CHECK_FALSE(contains(ended.out, "/etc/resolv.conf\n"));
    CHECK(read_file(host / "secret") == "the name server of the host\n");
    CHECK_FALSE(exists("/etc/new"));
  }
}

TEST_CASE("directories that are closed to the caller stay closed beside what is mounted") {
  if (is_root()) return;  // nothing is closed to root
  REQUIRE(::access("/var/cache/ldconfig", R_OK) != 0);
  Run look({"--cow", "/var:/host"}, script("ls -A /host/tmp /host/cache/ldconfig; cat source"),
           beside("mount -t tmpfs none /var/tmp; touch /var/tmp/seen", Caller::Stranger));
  furnish(look.project());
  const Ended ended = look.end();
  CAPTURE(ended.err);
  CHECK(contains(ended.err, "Permission denied"));
  CHECK(contains(ended.out, "seen\n"));
  CHECK(ended.out.ends_with("before\n"));
}

TEST_CASE("--cow of a tree with mounts below, some in others") {
  const TempDir host;
  host.file("top", "top\n");
  host.file("a/b/hidden", "hidden");
  host.file("a/beside", "beside\n");
  const std::string mounts = "cd " + host.path() +
                             "; mount -t tmpfs none a/b; mkdir a/b/c; echo outer > a/b/o;"
                             "mount -t tmpfs none a/b/c; echo inner > a/b/c/i";
  for (const Caller caller : kCallers) {
    CAPTURE(name_of(caller));
    Run work({"--cow", host.path() + ":/data"},
             script("cd /data; cat top a/beside a/b/o a/b/c/i; ls a/b; for d in . a a/b a/b/c;"
                    "do echo x > $d/new || exit 9; done; echo y >> top; rm a/b/o"),
             beside(mounts, caller));
    // For a layer on disk: who is root in a namespace only has no use for /var/cache.
    const TempDir cache;
    work.command.env("XDG_CACHE_HOME", cache.path());
    const Ended ended = work.end();
    CAPTURE(ended.err);
    CHECK(ended.code == 0);
    CHECK(ended.out == "top\nbeside\nouter\ninner\nc\no\n");
    CHECK(read_file(host / "top") == "top\n");
    CHECK_FALSE(exists(host / "new"));
    CHECK_FALSE(exists(host / "a/new"));
  }
}

TEST_CASE("a source that is a symbolic link is looked at where it leads") {
  const TempDir host;
  host.file("real/mounted/hidden", "hidden");
  host.file("real/beside", "beside\n");
  const std::string mounts = "ln -sfn real " + host.path() + "/link; mount -t tmpfs none " +
                             host.path() + "/real/mounted; echo shown > " + host.path() +
                             "/real/mounted/file";
  for (const char* option : {"--cow", "--ro", "--rw"}) {
    for (const Caller caller : kCallers) {
      CAPTURE(option);
      CAPTURE(name_of(caller));
      const Run work({option, host / "link:/data"},
                     script("cat /data/beside /data/mounted/file; ls /data/mounted"),
                     beside(mounts, caller));
      const Ended ended = work.end();
      CAPTURE(ended.err);
      // To write as the throwaway id takes an id-mapped mount, of the tmpfs below, too.
      if (std::string(option) == "--rw" && caller == Caller::Owner && is_root() &&
          kernel_is_older_than(6, 3)) {
        CHECK(ended.code == 125);
        CHECK(contains(ended.err, "its file system has no id-mapped mounts"));
        continue;
      }
      CHECK(ended.out == "beside\nshown\nfile\n");
    }
  }
}

TEST_CASE("--project ro and rw show what is mounted in it: ro all read-only, rw all live") {
  for (const Caller caller : kCallers) {
    CAPTURE(name_of(caller));
    const Run shown(
        {"--project", "ro"},
        script("cat node_modules/a/index; ls node_modules; for d in . tree node_modules "
               "node_modules/a; do (echo x > $d/new) 2>&1; done"),
        beside(kModules, caller));
    furnish(shown.project());
    const Ended ended = shown.end();
    CAPTURE(ended.err);
    CAPTURE(ended.out);
    CHECK(ended.out.starts_with("module\na\n"));
    std::size_t refusals = 0;
    for (const std::string& line : lines(ended.out))
      refusals += contains(line, "Read-only file system");
    CHECK(refusals == 4);

    const TempDir store;
    store.file("there", "there\n");
    const Run live({"--project", "rw"},
                   script("cat node_modules/there; echo x > node_modules/new;"
                          "ls node_modules; echo y > made"),
                   beside("mount --bind " + store.path() + " node_modules", caller));
    furnish(live.project());
    const Ended wrote = live.end();
    CAPTURE(wrote.err);
    CHECK(wrote.out == "there\nnew\nthere\n");
    CHECK(read_file(store / "new") == "x\n");
    CHECK(exists(live.project() / "made"));
    CHECK_FALSE(exists(live.project() / "node_modules/new"));
  }
}

TEST_CASE("the kernel's file systems below a project are not shown, and refused in a live one") {
  const std::string mounts = "mkdir -p proc; mount --rbind /proc proc";
  for (const Caller caller : kCallers) {
    CAPTURE(name_of(caller));
    const Run work({}, script("ls -A proc; echo end"), beside(mounts, caller));
    furnish(work.project());
    const Ended ended = work.end();
    CAPTURE(ended.err);
    CHECK(ended.out == "end\n");
    CHECK(contains(ended.result.at("notes").dump(), "the kernel's file system proc"));
    for (const char* mode : {"rw", "ro"}) {
      CAPTURE(mode);
      const Run live({"--project", mode}, script("ls proc"), beside(mounts, caller));
      furnish(live.project());
      const Ended refused = live.end();
      CHECK(refused.code == 125);
      CHECK(refused.out.empty());
      CHECK(contains(refused.err, "with what is mounted below it: the kernel's file system proc"));
    }
  }
}

TEST_CASE("a socket that is mounted below what is shown is out of reach") {
  const TempDir host;
  const Fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  (host / "s").copy(address.sun_path, sizeof address.sun_path - 1);
  REQUIRE(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(::listen(listener.get(), 8) == 0);
  REQUIRE(::chmod((host / "s").c_str(), 0777) == 0);
  const std::string mounts = "touch sock; mkdir -p dir; mount --bind " + host.path() +
                             "/s sock; mount --bind " + host.path() + " dir";
  const std::string connect =
      "for s in sock dir/s; do python3 -c 'import socket,sys;"
      "socket.socket(socket.AF_UNIX).connect(sys.argv[1]); print(\"connected\")' $s; done 2>&1";
  for (const Caller caller : kCallers) {
    CAPTURE(name_of(caller));
    const Ended ended = Run({}, script(connect), beside(mounts, caller)).end();
    CAPTURE(ended.err);
    CAPTURE(ended.out);
    CHECK(contains(ended.out, "Error"));
    CHECK_FALSE(contains(ended.out, "connected"));
    CHECK(contains(ended.result.at("notes").dump(), "neither a file nor a directory"));
    const Words live = {"--project", "rw"};
    const std::string only_dir = "mkdir -p dir; mount --bind " + host.path() + " dir";
    const Ended refused = Run(live, script("true"), beside(only_dir, caller)).end();
    CHECK(refused.code == 125);
    CHECK(contains(refused.err, "/dir/s, through which a task could reach the host"));
    // The very attack works where it is let in: so the first half is not green for another reason.
    const Words open = {"--project", "rw", "--unsafe-sockets"};
    const Ended reached = Run(open, script(connect), beside(only_dir, caller)).end();
    CAPTURE(reached.err);
    CHECK(contains(reached.out, "connected"));
  }
}

TEST_CASE("a directory with very many entries is no way out, if something is mounted in it") {
  const auto project = [](const TempDir& host) {
    for (int i = 0; i < 600; ++i)
      host.file("many/" + std::to_string(i), "");
    host.dir("many/mounted");
  };
  const std::string mount = "mount -t tmpfs none many/mounted";
  const std::string write = "echo out | timeout 5 dd of=many/way oflag=nonblock 2>&1; true";
  for (const Caller caller : kCallers) {
    CAPTURE(name_of(caller));
    Run attack({}, script(write), beside(mount, caller));
    project(attack.project());
    const std::string way = attack.project() / "many/way";
    REQUIRE(::mkfifo(way.c_str(), 0666) == 0);
    REQUIRE(::chmod(way.c_str(), 0666) == 0);
    const Fd reader(::open(way.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    const Ended ended = attack.end();
    CAPTURE(ended.err);
    CHECK(ended.code == 0);
    char text[8] = {};
    CHECK(::read(reader.get(), text, sizeof text) == 0);
  }
}

TEST_CASE("a FIFO is no way out of what is shown read-only") {
  const TempDir host;
  REQUIRE(::mkfifo((host / "own").c_str(), 0666) == 0);
  REQUIRE(::chmod((host / "own").c_str(), 0666) == 0);
  const Fd reader(::open((host / "own").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  REQUIRE(reader);
  const auto has_come = [&] {
    char text[16];
    return ::read(reader.get(), text, sizeof text) > 0;
  };
  const Words write = script("timeout 5 sh -c 'echo leak > /shown/own'");
  // By itself, and in a directory that is bound as it is since something is mounted below it.
  const Ended named = Run({"--ro", host / "own:/shown/own"}, write).end();
  CHECK(named.code == 125);
  CHECK(
      contains(named.err, "it holds the FIFO " + (host / "own") + ", through which a task could"));
  CHECK(contains(named.err, "--rw"));
  const std::string below =
      "mkdir -p " + (host / "below") + "; mount -t tmpfs none " + (host / "below");
  for (const Caller caller : kCallers) {
    CAPTURE(name_of(caller));
    const Ended bound = Run({"--ro", host.path() + ":/shown"}, write, beside(below, caller)).end();
    CHECK(bound.code == 125);
    CHECK(contains(bound.err, "it holds the FIFO "));
    const Words project = {"--project", "ro"};
    const Ended own = Run(project, script("true"),
                          beside("mkfifo fifo; mkdir below; mount -t tmpfs none below", caller))
                          .end();
    CHECK(own.code == 125);
    CHECK(contains(own.err, "/fifo, through which a task could write to the host"));
    const Ended in_mount =
        Run(project, script("true"),
            beside("mkdir below; mount -t tmpfs none below; mkfifo below/fifo", caller))
            .end();
    CHECK(in_mount.code == 125);
    CHECK(contains(in_mount.err, "/below/fifo, through which a task could write to the host"));
  }
  // Where nothing is mounted below it is an overlay, in which it leads nowhere.
  CHECK(Run({"--ro", host.path() + ":/shown"}, write).end().code != 0);
  CHECK_FALSE(has_come());
  // The very attack works where it is let in.
  const Ended live = Run({"--rw", host.path() + ":/shown"}, write).end();
  CAPTURE(live.err);
  CHECK(has_come());
}

TEST_CASE("a directory can be named by a descriptor: /proc/self/fd/3") {
  const TempDir host;
  host.file("text", "text\n");
  for (const char* option : {"--ro", "--cow", "--rw"}) {
    CAPTURE(option);
    const Finished finished =
        Command({"/bin/sh", "-c", "exec 3< \"$1\"; shift; exec \"$@\"", "sh", host.path(),
                 mayfly_path(), "run", "--project", "none", option, "/proc/self/fd/3:/shown", "--",
                 "cat", "/shown/text"})
            .run();
    CAPTURE(finished.err);
    CHECK(finished.out == "text\n");
  }
}
