// What the caller names is not always what it seems: kernel file systems, masks below what is made
// read-only, FIFOs, long paths.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "harness/sandbox.hpp"
#include "harness/suite.hpp"

using namespace harness;

TEST_CASE("the kernel's own file systems are shown in no way") {
  for (const char* option : {"--ro", "--rw", "--cow"}) {
    for (const char* source : {"/proc", "/proc/self", "/proc/sys", "/sys"}) {
      CAPTURE(option);
      CAPTURE(source);
      const Ended refused = sh("ls /shown", {option, source + std::string(":/shown")});
      CHECK(refused.code == 125);
      CHECK(refused.out.empty());
      CHECK(contains(refused.err, source));
      CHECK(contains(refused.err, "file system of the kernel"));
    }
  }
  const Ended file = sh("cat /shown", {"--ro", "/proc/cpuinfo:/shown"});
  CHECK(file.code == 125);
  CHECK(contains(file.err, "file system of the kernel"));
}

TEST_CASE("what is masked or shown below a directory that is made read-only stays so") {
  const Ended masked =
      sh("ls -A /proc/sys/kernel/random; cat /proc/sys/kernel/hostname; echo x > "
         "/proc/sys/vm/swappiness",
         {"--mask", "/proc/sys/kernel/random", "--mask", "/proc/sys/kernel/hostname"});
  CHECK(masked.out.empty());
  CHECK(contains(masked.err, "/proc/sys/kernel/hostname: Permission denied"));
  CHECK(contains(masked.err, "Read-only file system"));
  const TempDir host;
  const std::string fake = host.file("fake", "fake name\n");
  CHECK(sh("cat /proc/sys/kernel/hostname", {"--ro", fake + ":/proc/sys/kernel/hostname"}).out ==
        "fake name\n");
}

TEST_CASE("a FIFO as content or environment is refused, a process substitution is read") {
  const TempDir host;
  REQUIRE(::mkfifo((host / "fifo").c_str(), 0644) == 0);
  for (const Words& options :
       {Words{"--file", "/x=@" + (host / "fifo")}, Words{"--env-file", host / "fifo"}}) {
    const Ended refused = sh("echo started", options);
    CHECK_FALSE(refused.timed_out);
    CHECK(refused.code == 125);
    CHECK(contains(refused.err, "FIFO"));
    CHECK(contains(refused.err, host / "fifo"));
  }
}

TEST_CASE("paths longer than mount options of one kind take are shown") {
  const TempDir host;
  std::string path = host.path();
  for (const char letter : {'a', 'b', 'c', 'd'}) {
    path += "/" + std::string(200, letter);
    REQUIRE(::mkdir(path.c_str(), 0755) == 0);
  }
  host.file(path.substr(host.path().size() + 1) + "/file", "content\n");
  for (const char* option : {"--ro", "--cow"})
    CHECK(sh("cat /shown/file", {option, path + ":/shown"}).out == "content\n");
}

TEST_CASE("what moves the directory of the result meanwhile cannot lead the result elsewhere") {
  const TempDir host;
  host.dir("tree/out");
  host.dir("victim");
  Command command({mayfly_path(), "run", "--project", "none", "--result",
                   host / "tree/out/result.json", "--", "/bin/sh", "-c", "echo ready; read line"});
  const Pipe stdin_pipe = make_pipe();
  Process process = command.fd(0, stdin_pipe.read.get()).start();
  process.await_output("ready");
  REQUIRE(::rename((host / "tree/out").c_str(), (host / "tree/gone").c_str()) == 0);
  REQUIRE(::symlink("../victim", (host / "tree/out").c_str()) == 0);
  REQUIRE(::write(stdin_pipe.write.get(), "\n", 1) == 1);
  CHECK(process.finish().code == 0);
  CHECK_FALSE(exists(host / "victim/result.json"));
  CHECK(exists(host / "tree/gone/result.json"));
}
