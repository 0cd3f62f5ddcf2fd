// Programs that people run start under the stock policy and do real work there.
#include <doctest/doctest.h>
#include <unistd.h>

#include "harness/sandbox.hpp"
#include "harness/suite.hpp"

using namespace harness;

namespace {

bool installed(const std::string& path) {
  return ::access(path.c_str(), X_OK) == 0;
}

// Runs the script and expects exactly this on stdout.
void check_output(const std::string& script, const std::string& wanted, const Words& options = {}) {
  CAPTURE(script);
  Run program(options, {"/bin/sh", "-c", script});
  program.command.deadline(paced(60'000));
  const Ended ended = program.end();
  CAPTURE(ended.err);
  CHECK(ended.code == 0);
  CHECK(ended.out == wanted);
}

}  // namespace

TEST_CASE("the shell and the core utilities work") {
  check_output("seq 3 | sort -r | tr '\\n' ' '", "3 2 1 ");
  check_output("mkdir -p a/b && touch a/b/c && find a -type f && rm -r a && ls", "a/b/c\n");
  check_output(
      "test -c /dev/null && test -c /dev/urandom && test -c /dev/zero && test -d /dev/shm && echo "
      "ok",
      "ok\n");
  check_output("head -c 4 /dev/urandom | wc -c", "4\n");
  check_output("echo through | tee /dev/stderr >/dev/null 2>&1; echo x > /dev/stdout", "x\n");
}

TEST_CASE("python3 runs, with threads, processes, temporary files and shared memory") {
  if (!installed("/usr/bin/python3")) SKIP_BECAUSE("there is no /usr/bin/python3");
  check_output("/usr/bin/python3 -c 'print(6 * 7)'", "42\n");
  check_output(
      "/usr/bin/python3 -c 'import subprocess; print(subprocess.check_output([\"echo\", \"hi\"]))'",
      "b'hi\\n'\n");
  check_output(
      "/usr/bin/python3 -c 'import tempfile; f = tempfile.NamedTemporaryFile(); f.write(b\"x\"); "
      "print(\"ok\")'",
      "ok\n");
  check_output(
      "/usr/bin/python3 -c 'import multiprocessing as m; "
      "print(m.get_context(\"fork\").Pool(2).map(abs, [-1, -2]))'",
      "[1, 2]\n");
  check_output(
      "/usr/bin/python3 -c 'import threading; t = threading.Thread(target=print, args=(\"t\",)); "
      "t.start(); t.join()'",
      "t\n");
}

TEST_CASE("gcc compiles a program that runs") {
  if (!installed("/usr/bin/gcc")) SKIP_BECAUSE("there is no /usr/bin/gcc");
  check_output(
      "printf 'int puts(const char*); int main(void) { return puts(\"built\") < 0; }' > hello.c"
      " && /usr/bin/gcc -o hello hello.c && ./hello",
      "built\n");
}

TEST_CASE("make runs its recipes") {
  if (!installed("/usr/bin/make")) SKIP_BECAUSE("there is no /usr/bin/make");
  check_output("printf 'all: x\\n\\t@cat x\\nx:\\n\\t@echo made > x\\n' > Makefile && make -s -j2",
               "made\n");
}

TEST_CASE("git works on the project") {
  if (!installed("/usr/bin/git")) SKIP_BECAUSE("there is no /usr/bin/git");
  check_output(
      "git init -q . && git -c user.name=n -c user.email=e@example.org commit -q --allow-empty -m "
      "first"
      " && git log --format=%s",
      "first\n");
}

// The heavy runtimes are tested where they are; no one needs to install them for it.
TEST_CASE("node, perl, java and go start, where they are installed") {
  if (installed("/usr/bin/perl")) check_output("/usr/bin/perl -e 'print 6 * 7'", "42");
  if (installed("/usr/bin/node")) check_output("/usr/bin/node -e 'console.log(6 * 7)'", "42\n");
  if (installed("/usr/bin/java"))
    check_output("/usr/bin/java -version 2>&1 | grep -c version", "1\n");
  if (installed("/usr/bin/go")) check_output("/usr/bin/go version | cut -c1-10", "go version\n");
}

TEST_CASE("an empty root runs a static program that was put there") {
  const Ended ended = run({"--root", "empty", "--project", "none"}, {kProbe, "ids"});
  CAPTURE(ended.err);
  CHECK(ended.code == 0);
  CHECK(contains(ended.out, "uids "));
}

TEST_CASE("a project that is asked for is shown in a root other than the host's, too") {
  const TempDir root;
  for (const char* name : {"etc", "proc", "dev", "tmp"})
    static_cast<void>(root.dir(name));
  for (const std::string& kind : {std::string("empty"), root.path()}) {
    CAPTURE(kind);
    Run shown({"--root", kind, "--project", "cow"}, {kProbe, "open", "file", "rw"});
    shown.project().file("file", "kept", 0666);
    const Ended ended = shown.end();
    CAPTURE(ended.err);
    CHECK(ended.code == 0);
    CHECK(contains(ended.out, "open ok"));
    CHECK(contains(ended.out, "write ok"));
    CHECK(read_file(shown.project() / "file") == "kept");
    // By itself neither shows it.
    Run hidden({"--root", kind}, {kProbe, "open", shown.project() / "file", "r"});
    CHECK(contains(hidden.end().out, "ENOENT"));
  }
}

TEST_CASE("a directory as root: its programs run, writes do not reach it") {
  const TempDir root;
  for (const char* name : {"bin", "etc", "proc", "dev", "tmp"})
    static_cast<void>(root.dir(name));
  const std::string probe = read_file(targets_path() + "/probe");
  root.file("bin/probe", probe, 0755);
  root.file("etc/motd", "from the directory", 0644);
  const Ended seen =
      run({"--root", root.path(), "--project", "none"}, {"/bin/probe", "open", "/etc/motd", "r"});
  CAPTURE(seen.err);
  CHECK(seen.code == 0);
  CHECK(value_of(seen.out, "open") == "ok 0");
  CHECK(value_of(seen.out, "read") == "ok 1");
  CHECK(read_file(root / "etc/motd") == "from the directory");
}
