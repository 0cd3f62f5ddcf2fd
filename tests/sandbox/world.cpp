// What a task sees of the world it is in: environment, directory, names, processes, ids.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <set>

#include "harness/host.hpp"
#include "harness/sandbox.hpp"
#include "harness/suite.hpp"

using namespace harness;

TEST_CASE("the environment is the documented one: nothing of the caller's leaks in") {
  Run leaky({}, {"/usr/bin/env"});
  leaky.command.env("MY_SECRET_TOKEN", "s3cret")
      .env("LD_PRELOAD", "/tmp/evil.so")
      .env("SSH_AUTH_SOCK", "/tmp/agent");
  const Ended ended = leaky.end();
  CHECK(ended.code == 0);
  CHECK_FALSE(contains(ended.out, "s3cret"));
  CHECK_FALSE(contains(ended.out, "evil"));
  CHECK_FALSE(contains(ended.out, "SSH_AUTH_SOCK"));
  CHECK(contains(ended.out, "PATH=/"));
  CHECK(contains(ended.out, "HOME=/"));
}

TEST_CASE("--env, --pass-env and --env-file add to it, the last one wins") {
  const TempDir host;
  const std::string file = host.file("env", "# a comment\nFROM_FILE=one two\nBOTH=file\n");
  Run passed({"--env", "SET=value", "--env", "NAMED", "--pass-env", "CI_*", "--env", "BOTH=flag",
              "--env-file", file},
             {"/usr/bin/env"});
  passed.command.env("NAMED", "by name").env("CI_JOB", "7").env("CJ_JOB", "8");
  const Ended ended = passed.end();
  CAPTURE(ended.err);
  for (const char* line :
       {"SET=value\n", "NAMED=by name\n", "CI_JOB=7\n", "FROM_FILE=one two\n", "BOTH=file\n"}) {
    CAPTURE(line);
    CHECK(contains(ended.out, line));
  }
  CHECK_FALSE(contains(ended.out, "CJ_JOB"));
}

TEST_CASE("the task starts in the caller's directory, and .. stays inside") {
  const Run here(
      {}, {"/bin/sh", "-c", "pwd; cat file; ls -A /proc/self/cwd/..; ls -A / | tr '\\n' ' '"});
  here.project().file("file", "project file\n");
  const Ended ended = here.end();
  CAPTURE(ended.err);
  CHECK(ended.code == 0);
  CHECK(lines(ended.out).at(0) == here.project().path());
  CHECK(lines(ended.out).at(1) == "project file");
  // Beside the project there are other temporary directories on the host: not in here.
  CHECK(lines(ended.out).at(2) ==
        here.project().path().substr(here.project().path().rfind('/') + 1));
}

TEST_CASE("a command found in the caller's directory only is found as ./NAME") {
  Run local({}, {"./tool", "a", "b c"});
  local.project().file("tool", "#!/bin/sh\necho \"$#:$2\"\n", 0755);
  CHECK(local.end().out == "2:b c\n");
}

TEST_CASE("a PATH that names nothing, or the directory itself: 127 and words, as in a shell") {
  for (const char* path : {"PATH=", "PATH=:", "PATH=/no/such"}) {
    CAPTURE(path);
    const Ended ended = run({"--env", path}, {"no-such-tool"});
    CHECK(ended.code == 127);
    CHECK(ended.reason() == "exec_failed");
    CHECK(contains(ended.err, "run no-such-tool in the sandbox: No such file or directory"));
  }
  Run local({"--env", "PATH=:/usr/bin:/bin"}, {"tool"});
  local.project().file("tool", "#!/bin/sh\necho here\n", 0755);
  CHECK(local.end().out == "here\n");
}

TEST_CASE("--chdir names another directory, one that is missing is refused before the start") {
  CHECK(run({"--chdir", "/usr"}, {"/bin/pwd"}).out == "/usr\n");
  const Ended refused = sh("echo started", {"--chdir", "/no/such/place"});
  CHECK(refused.code == 125);
  CHECK(refused.out.empty());
  CHECK(contains(refused.err, "/no/such/place"));
  CHECK(contains(refused.err, "ENOENT"));
}

TEST_CASE("without --chdir: where the caller is if there is such a directory, else home") {
  const auto start = [](const Words& options) {
    Words words = {mayfly_path(), "run"};
    words.insert(words.end(), options.begin(), options.end());
    const Words task = {"/bin/sh", "-c", "[ \"$PWD\" = \"$HOME\" ] && echo home || pwd"};
    words.insert(words.end(), task.begin(), task.end());
    return words;
  };
  const TempDir host;
  host.dir("p");
  host.dir("other");
  const std::string here = host / "p", above = host.path();
  const struct {
    Words options;
    bool is_there;
  } cases[] = {
      {{"--tmpfs", above}, false},
      {{"--tmpfs", "/tmp"}, false},
      {{"--mask", above}, false},
      {{"--project", "none", "--tmpfs", here}, true},
      {{"--project", "none", "--dir", here}, true},
      {{"--project", "none", "--ro", (host / "other") + ":" + here}, true},
      {{"--tmpfs", "/tmp", "--dir", here}, true},
      {{"--mask", here}, true},
      {{"--project", "none", "--mask", here}, false},
  };
  for (const auto& each : cases) {
    CAPTURE(joined(each.options));
    Command command(start(each.options));
    const Finished ended = command.cwd(here).run();
    CAPTURE(ended.err);
    CHECK(ended.code == 0);
    CHECK(ended.out == (each.is_there ? here + "\n" : "home\n"));
  }
  for (const char* own : {"/", "/tmp", "/run", "/proc", "/dev"}) {
    CAPTURE(own);
    CHECK(Command(start({})).cwd(own).run().out == "home\n");
  }
}

TEST_CASE("a link to the project is as good a name of it as its path") {
  const TempDir host;
  host.file("p/part/file", "before\n");
  REQUIRE(::symlink((host / "p").c_str(), (host / "link").c_str()) == 0);
  const auto start = [&](const Words& options, const std::string& script) {
    Words words = {mayfly_path(), "run"};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", "/bin/sh", "-c", script});
    return Command(words).cwd(host / "p/part").run();
  };
  // What is named through it is what shows in the project, too.
  const std::string look = "echo x > ../part/file; cat file " + host.path() + "/link/part/file";
  const Finished shown =
      start({"--project", "cow:" + (host / "p"), "--ro", host / "link/part"}, look);
  CAPTURE(shown.err);
  CHECK(shown.out == "before\nbefore\n");
  CHECK(contains(shown.err, "Read-only file system"));
  host.dir("p/deep");
  const auto seen = [&](const Words& options, const char* script) {
    const Finished ended = start(options, script);
    CAPTURE(joined(options));
    CAPTURE(ended.err);
    CHECK(ended.code == 0);
    CHECK(read_file(host / "p/part/file") == "before\n");
    return ended.out;
  };
  const std::string cow = "cow:" + (host / "p"), live = "rw:" + (host / "link");
  const std::string file = host / "link/part/file";
  CHECK(seen({"--project", cow, "--mask", file}, "cat file || true") == "");
  CHECK(seen({"--project", cow, "--file", file + "=new"}, "cat file") == "new");
  CHECK(seen({"--project", cow, "--tmpfs", host / "link/part"}, "ls -A ../part") == "");
  // And the other way round: the project is named through it, the part is not.
  const char* write = "cd ../part; echo x > file; cat file";
  CHECK(seen({"--project", live, "--ro", "."}, write) == "before\n");
  CHECK(seen({"--project", live, "--cow", "."}, write) == "x\n");
  CHECK(seen({"--project", live, "--mask", host / "p/part/file"}, "cat ../part/file || true") ==
        "");
  const Finished made = start({"--project", live, "--file", host / "p/deep/new=x"}, "true");
  CHECK(made.code == 125);
  CHECK(contains(made.err, "link/deep/new"));
  CHECK_FALSE(exists(host / "p/deep/new"));
  // A project that is named through it is there, and the command starts in it.
  const Finished started = start({"--project", "cow:" + (host / "link")}, "pwd; cat file");
  CAPTURE(started.err);
  CHECK(started.out == host.path() + "/link/part\nbefore\n");
}

TEST_CASE("with --user the top of a tree is that user's where it is on the host") {
  if (!is_root()) return;  // who is not root has one id inside
  const TempDir host;
  host.file("p/file", "");
  const std::string tree = host / "p";
  REQUIRE(::chown(tree.c_str(), 1234, 1234) == 0);
  for (const Words& shown : {Words{"--project", "cow:" + tree},
                             {"--project", "none", "--cow", tree},
                             {"--layer", "disk", "--project", "cow:" + tree}}) {
    CAPTURE(joined(shown));
    const auto owner_for = [&](const std::string& user) {
      Words options = shown;
      options.insert(options.end(), {"--user", user + ":" + user});
      return sh("stat -c %u:%g " + tree + "; touch " + tree + "/new 2>&1 && echo made", options)
          .out;
    };
    CHECK(owner_for("1234") == "1234:1234\nmade\n");
    CHECK(contains(owner_for("1235"), "0:1234\n"));
  }
}

TEST_CASE("a start where the user may not enter names the directory and the remedy") {
  const TempDir host;
  host.dir("p");
  Words words = {mayfly_path(), "run", "--project", "none", "--dir", (host / "p") + ":000", "true"};
  Command command(words);
  const Finished ended = command.cwd(host / "p").run();
  CAPTURE(ended.err);
  CHECK(ended.code == 125);
  CHECK(contains(ended.err, "start in " + (host / "p")));
  CHECK(contains(ended.err, "EACCES"));
  CHECK(contains(ended.err, "hint: the command starts where its caller is"));
}

TEST_CASE("the host name is the sandbox's own") {
  char host[256] = "";
  ::gethostname(host, sizeof host);
  CHECK(run({}, {"/bin/uname", "-n"}).out == "mayfly\n");
  CHECK(run({"--hostname", "worker-7"}, {"/bin/uname", "-n"}).out == "worker-7\n");
  char after[256] = "";
  ::gethostname(after, sizeof after);
  CHECK(std::string(host) == after);
}

TEST_CASE("the umask is 022, or the one asked for") {
  CHECK(sh("umask").out == "0022\n");
  CHECK(sh("umask; touch f; stat -c %a f", {"--umask", "077"}).out == "0077\n600\n");
}

TEST_CASE("every namespace is the sandbox's own") {
  const Ended ended = run({}, {kProbe, "namespaces"});
  REQUIRE(ended.code == 0);
  for (const std::string name : {"user", "mnt", "pid", "net", "ipc", "uts"}) {
    CAPTURE(name);
    struct stat ours;
    REQUIRE(::stat(("/proc/self/ns/" + name).c_str(), &ours) == 0);
    CHECK(value_of(ended.out, name) != std::to_string(ours.st_ino));
  }
}

TEST_CASE("the process table holds init and the task, and nothing of the host") {
  const Ended ended = run({}, {kProbe, "processes"});
  REQUIRE(ended.code == 0);
  CAPTURE(ended.out);
  CHECK(lines(ended.out).size() == 2);
  // init is there, alive and not stopped; whether it sleeps or runs at this moment is chance.
  CHECK(contains("SRD", value_of(ended.out, "1").substr(0, 1)));
}

TEST_CASE("the task has no controlling terminal and leads its own session") {
  const Ended ended = sh("cut -d' ' -f 1,5,6,7 /proc/$$/stat; : > /dev/tty");
  REQUIRE_FALSE(ended.out.empty());
  int pid = 0, group = -1, session = -1, terminal = -1;
  std::sscanf(ended.out.c_str(), "%d %d %d %d", &pid, &group, &session, &terminal);
  CHECK(group == pid);
  CHECK(session == pid);
  CHECK(terminal == 0);
  CHECK(ended.code != 0);  // /dev/tty cannot be opened
}

TEST_CASE("limits: no core dump to be had, no realtime priority") {
  const Ended ended = run({}, {kProbe, "limits"});
  REQUIRE(ended.code == 0);
  CHECK(value_of(ended.out, "core") == "1 1");
  CHECK(value_of(ended.out, "rtprio") == "0 0");
}

TEST_CASE("--pids bounds the number of processes") {
  const Ended ended = sh("i=0; while [ $i -lt 60 ]; do sleep 2 & i=$((i+1)); done; echo all",
                         {"--pids", "24", "--ttl", paced_text(10'000)});
  CHECK_FALSE(contains(ended.out, "all"));
  CHECK(contains(ended.err, "ork"));  // "Cannot fork"
}

TEST_CASE("--label and --name come back in the result") {
  const Ended ended =
      run({"--name", "build-42", "--label", "team=core", "--label", "a=b=c"}, {"/bin/true"});
  CHECK(ended.code == 0);
  CHECK(ended.result.at("name") == "build-42");
  CHECK(ended.result.at("labels").at("team") == "core");
  CHECK(ended.result.at("labels").at("a") == "b=c");
}

TEST_CASE("no two sandboxes have one id") {
  std::set<std::string> ids;
  for (int i = 0; i < 8; ++i)
    ids.insert(run({}, {"/bin/true"}).id());
  CHECK(ids.size() == 8);
  CHECK(ids.count("") == 0);
}
