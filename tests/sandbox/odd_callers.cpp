// Callers that live in an odd world: without descriptors, directory, environment or room for files,
// with limits, masks and signals that nobody expects. Either all works or the message says what
// not.
#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include "harness/host.hpp"
#include "harness/sandbox.hpp"
#include "harness/suite.hpp"

using namespace harness;

namespace {

Run echo(const Words& options = {}) {
  return Run(options, {"/bin/echo", "ran"});
}

void ignore_and_block_all() {
  for (int signal = 1; signal < NSIG; ++signal)
    ::signal(signal, SIG_IGN);
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
}

struct Deaf : Run {
  Deaf(const Words& options, const Words& task) : Run(options, task) {
    command.before_exec(ignore_and_block_all);
  }
};

mode_t mode_of(const std::string& path) {
  struct stat info = {};
  REQUIRE(::stat(path.c_str(), &info) == 0);
  return info.st_mode & 0777;
}

// A runtime directory with an `mkdir -m 700 …/mayfly` in it, in a state that a script makes; the
// path of the runtime directory is $DIR in it. Root's is /run, mounted over in a private namespace;
// an ordinary caller's is wherever XDG_RUNTIME_DIR says.
Finished with_runtime_dir(const std::string& script, const Words& options,
                          const std::string& result) {
  const TempDir home;
  const std::string dir = is_root() ? "/run" : home.dir("runtime");
  Words words = is_root() ? Words{"unshare", "--mount", "--propagation", "private"}
                          : Words{"unshare", "--map-current-user", "--keep-caps", "--mount"};
  words.insert(words.end(), {"/bin/sh", "-ec", script + "\nexec \"$@\"", "sh", mayfly_path(), "run",
                             "--result", result});
  words.insert(words.end(), options.begin(), options.end());
  words.insert(words.end(), {"--", "/bin/sh", "-c", "sleep 0.3; echo ran"});
  const TempDir elsewhere;
  return Command(words).env("DIR", dir).env("XDG_RUNTIME_DIR", dir).cwd(elsewhere.path()).run();
}

}  // namespace

TEST_CASE("all of descriptors 0 to 2 closed: the task has /dev/null three times") {
  Run closed({}, {"/bin/sh", "-c",
                  "for fd in 0 1 2; do test \"$(readlink /proc/$$/fd/$fd)\" = /dev/null || exit 9; "
                  "done; exit 5"});
  closed.command.closed(0).closed(1).closed(2);
  const Ended ended = closed.end();
  CHECK(ended.code == 5);
  CHECK(ended.reason() == "exited");

  Run refused = echo({"--no-such-option"});
  refused.command.closed(0).closed(1).closed(2);
  CHECK(refused.end().code == 125);
}

TEST_CASE("no descriptor of ours takes the place of a closed one of the caller's") {
  for (const int number : {0, 1, 2}) {
    CAPTURE(number);
    const std::string own = "/proc/$$/fd/" + std::to_string(number);
    Run closed({}, {"/bin/sh", "-c", "test \"$(readlink " + own + ")\" = /dev/null"});
    closed.command.closed(number);
    CHECK(closed.end().code == 0);
  }
}

TEST_CASE("a working directory that was deleted: the task starts in its home") {
  const auto in_deleted = [](const Words& options) {
    const TempDir host;
    const std::string gone = host.dir("gone");
    Run run(options, {"/bin/sh", "-c", "pwd; echo $HOME"});
    run.command.cwd(gone).before_exec([gone] { ::rmdir(gone.c_str()); });
    return run.end();
  };
  const Ended ended = in_deleted({});
  CAPTURE(ended.err);
  CHECK(ended.code == 0);
  REQUIRE(lines(ended.out).size() == 2);
  CHECK(lines(ended.out)[0] == lines(ended.out)[1]);

  const Ended refused = in_deleted({"--ro", "here:/there"});
  CHECK(refused.code == 125);
  CHECK(contains(refused.err,
                 "resolve here: the working directory does not exist or cannot be read"));
  CHECK(contains(refused.err, "hint: "));
}

TEST_CASE(
    "a working directory that may not be read or reached: it works, or the message names it") {
  for (const char* closed : {"work", ""}) {
    CAPTURE(closed);
    const TempDir host;
    const std::string work = host.dir("work"), target = host / closed;
    Run run({}, {"/bin/sh", "-c", "pwd"});
    run.command.cwd(work).before_exec([target] { ::chmod(target.c_str(), 0000); });
    const Ended ended = run.end();
    REQUIRE(::chmod(target.c_str(), 0755) == 0);
    CAPTURE(ended.err);
    if (ended.code == 0)
      CHECK(ended.out == work + "\n");
    else
      CHECK((ended.code == 125 && contains(ended.err, work) && contains(ended.err, "(EACCES)")));
  }
}

namespace {

// With every limit of open files: how often the task ran.
int runs_with_few_files(const Words& options, const std::string& output) {
  CAPTURE(joined(options));
  int worked = 0;
  for (unsigned files = 4; files <= 40; files += files < 24 ? 1 : 8) {
    CAPTURE(files);
    Run run(options, {"/bin/echo", "ran"});
    run.command.before_exec([files] {
      const rlimit limit = {files, files};
      ::setrlimit(RLIMIT_NOFILE, &limit);
    });
    const Ended ended = run.end();
    CAPTURE(ended.err);
    CHECK_FALSE(ended.timed_out);
    if (ended.code == 0) {
      CHECK(ended.out == output);
      ++worked;
      continue;
    }
    CHECK(ended.code == 125);
    CHECK(ended.out.empty());
    CHECK_FALSE(contains(ended.err, "mayfly needs /proc"));
    // (Where there are too few for the C library, nothing but the code can be told.)
    if (files < 8) continue;
    CHECK(contains(ended.err, "Too many open files (EMFILE)"));
    CHECK(contains(ended.err, "hint: raise the limit of open files"));
    if (ended.result.is_object() && !ended.id().empty()) CHECK(leftovers_of(ended.id()).empty());
  }
  return worked;
}

}  // namespace

TEST_CASE("any limit of open files: the task runs, or the message says that it is too low") {
  CHECK(runs_with_few_files({}, "ran\n") >= 2);
  CHECK(runs_with_few_files({"--tty", "yes"}, "ran\r\n") >= 2);
  CHECK(runs_with_few_files({"--explain-denials", "--idle", "1m", "--cpu-time", "1m"}, "ran\n") >=
        2);
  CHECK(runs_with_few_files({"--layer", "disk"}, "ran\n") >= 2);
}

TEST_CASE("too few processes: the message names the limit, doctor does, too") {
  if (is_root()) return;  // the kernel holds no such limit against root
  const auto limited = [](Command& command, rlim_t most) {
    command.before_exec([most] {
      const rlimit limit = {most, most};
      ::setrlimit(RLIMIT_NPROC, &limit);
    });
  };
  for (const rlim_t most : {1u, 2u}) {
    CAPTURE(most);
    Run run = echo();
    limited(run.command, most);
    const Ended ended = run.end();
    CAPTURE(ended.err);
    CHECK(ended.code == 125);
    CHECK(contains(ended.err, "(EAGAIN)"));
    CHECK(contains(ended.err, "ulimit -u: " + std::to_string(most)));
    CHECK(contains(ended.err, "raise it, as with ulimit -u 4096"));
  }
  Command doctor({mayfly_path(), "doctor"});
  limited(doctor, 1);
  const Finished told = doctor.run();
  CHECK(contains(told.out, "cause: the caller's limit of processes is reached (ulimit -u: 1)"));
  CHECK_FALSE(contains(told.out, "security policy"));
}

TEST_CASE("an odd umask changes neither what mayfly makes nor what the task sees") {
  for (const mode_t mask : {mode_t{0}, mode_t{0777}}) {
    CAPTURE(mask);
    Run run({"--name", new_marker()}, {"/bin/sh", "-c", "umask; : > made; stat -c %a made"});
    run.command.before_exec([mask] { ::umask(mask); });
    const Ended ended = run.end();
    CAPTURE(ended.err);
    CHECK(ended.code == 0);
    CHECK(ended.out == "0022\n644\n");
    CHECK((mode_of(run.result_file()) & 0022) == 0);
    CHECK((mode_of(run.result_file()) & 0400) != 0);
  }
}

TEST_CASE("all signals ignored and blocked, SIGCHLD too: ends are seen, TERM and the TTL work") {
  const Deaf natural({}, {"/bin/sh", "-c", "sleep 0.1 & wait; exit 3"});
  CHECK(natural.end().code == 3);

  const Deaf killed({}, {"/bin/sh", "-c", "kill -TERM $$; exit 3"});
  CHECK(killed.end().reason() == "signaled");

  const Deaf timed({"--ttl", paced_text(300), "--grace", "0"}, {"/bin/sleep", "20"});
  CHECK(timed.end().reason() == "ttl");

  const Deaf cancelled({"--grace", "0"}, {"/bin/sh", "-c", "echo ready; sleep 20"});
  Process process = cancelled.command.start();
  process.await_output("ready");
  process.send(SIGTERM);
  const Ended ended = cancelled.end(std::move(process));
  CHECK(ended.code == 128 + SIGTERM);
  CHECK(ended.reason() == "cancelled");
}

TEST_CASE("no HOME, PATH or XDG_RUNTIME_DIR, or no environment at all: the task has its own") {
  Run bare({}, {"sh", "-c", "test -w \"$HOME\" && test -w \"$TMPDIR\" && echo \"$PATH\""});
  bare.command.unset("HOME").unset("PATH").unset("XDG_RUNTIME_DIR");
  const Ended ended = bare.end();
  CAPTURE(ended.err);
  CHECK(ended.code == 0);
  CHECK(contains(ended.out, "/usr/bin"));

  Run naked({}, {"sh", "-c", "test -w \"$HOME\" && echo \"$PATH\""});
  naked.command.before_exec([] { ::clearenv(); });
  CHECK(contains(naked.end().out, "/usr/bin"));
}

TEST_CASE("a full runtime directory: a run with a name is refused, the message tells the remedy") {
  const TempDir reports;
  const std::string script =
      "mount -t tmpfs -o size=4k,nr_inodes=100,mode=700 tmpfs \"$DIR\"; mkdir -m 700 "
      "\"$DIR/mayfly\"; head -c 8192 /dev/zero > \"$DIR/full\" 2>/dev/null || :";
  const Finished named =
      with_runtime_dir(script, {"--name", new_marker()}, reports / "result.json");
  CAPTURE(named.err);
  CHECK(named.code == 125);
  CHECK(named.out.empty());
  CHECK(contains(named.err, "cannot register the sandbox "));
  CHECK(contains(named.err, "No space left on device (ENOSPC)"));
  CHECK(contains(named.err, "hint: make room in "));

  // Without a name nothing depends on its entry: the task runs, and the result says it.
  const Finished nameless = with_runtime_dir(script, {}, reports / "other.json");
  CAPTURE(nameless.err);
  CHECK(nameless.code == 0);
  CHECK(nameless.out == "ran\n");
  CHECK(contains(read_file(reports / "other.json"), "No space left on device (ENOSPC)"));
}

TEST_CASE("a read-only runtime directory: refused with the remedy, or nothing depends on it") {
  const TempDir reports;
  for (const bool prepared : {false, true}) {
    CAPTURE(prepared);
    const std::string script = "mount -t tmpfs -o mode=700 tmpfs \"$DIR\"; " +
                               std::string(prepared ? "mkdir -m 700 \"$DIR/mayfly\"; " : "") +
                               "mount -o remount,ro \"$DIR\"";
    for (const Words& options : {Words{}, Words{"--name", new_marker()}}) {
      const Finished finished = with_runtime_dir(script, options, reports / "result.json");
      CAPTURE(finished.err);
      if (prepared && options.empty() && !is_root()) {
        CHECK(finished.code == 0);
        CHECK(finished.out == "ran\n");
        continue;
      }
      CHECK(finished.code == 125);
      CHECK(finished.out.empty());
      CHECK(contains(finished.err, "Read-only file system (EROFS)"));
      CHECK(contains(finished.err, "hint: "));
    }
  }
}

TEST_CASE(
    "an ordinary caller's XDG_RUNTIME_DIR: a missing one is as none, a wrong one is refused") {
  if (is_root()) return;  // root's is /run/mayfly, whatever the environment says
  const TempDir host;
  // As in cron's jobs and after su.
  const std::string name = new_marker();
  Run missing({"--project", "none", "--name", name}, {"/bin/sh", "-c", "echo ready; sleep 20"});
  missing.command.env("XDG_RUNTIME_DIR", host / "missing");
  Process process = missing.command.start();
  process.await_output("ready");
  const bool registered = exists("/tmp/mayfly-" + std::to_string(::geteuid()) + "/" + name);
  process.send(SIGTERM);
  const Ended ended = missing.end(std::move(process));
  CHECK(ended.reason() == "cancelled");
  CHECK(registered);
  CHECK_FALSE(exists(host / "missing"));
  const Finished cleaned =
      Command({mayfly_path(), "gc"}).env("XDG_RUNTIME_DIR", host / "missing").run();
  CHECK(cleaned.code == 0);

  Run file = echo();
  file.command.env("XDG_RUNTIME_DIR", host.file("file", ""));
  const Ended no_directory = file.end();
  CHECK(no_directory.code == 125);
  CHECK(contains(no_directory.err, "it is not a directory, or a symbolic link"));
}
