// pid 1 cannot be read, stopped, crippled or replaced by the task.
#include <doctest/doctest.h>

#include "harness/host.hpp"
#include "harness/sandbox.hpp"
#include "harness/suite.hpp"

using namespace harness;

TEST_CASE("init's program, memory, descriptors and environment cannot be opened") {
  const Ended ended =
      sh("for f in exe mem maps environ auxv stack syscall fd/3 cwd/x root/etc/passwd map_files; do"
         " head -c 1 /proc/1/$f >/dev/null 2>&1 && echo \"read $f\"; (: >> /proc/1/$f) 2>/dev/null "
         "&& echo \"wrote $f\"; done;"
         "for f in exe cwd root fd/0 fd/1 fd/2 fd/3 fd/4; do readlink /proc/1/$f; done; echo end");
  CHECK(ended.out == "end\n");
}

TEST_CASE("the program on the host cannot be reached through /proc/self/exe or init's") {
  const std::string before = read_file(mayfly_path());
  Run attack({},
             {"/bin/sh", "-c",
              "cp /targets/probe mine; for p in /proc/[0-9]*/exe; do (echo x >> $p) 2>/dev/null; "
              "/targets/probe open $p w; done"});
  const Ended ended = attack.end();
  CHECK(ended.code == 0);
  CHECK_FALSE(contains(ended.out, "open ok"));
  CHECK((read_file(mayfly_path()) == before));
}

TEST_CASE("what is done against init is refused or harmless, and exec still works after it") {
  const Ended ended = sh(R"(
    p=/targets/probe
    $p call ptrace 16 1 0 0        # PTRACE_ATTACH
    $p call ptrace 0x4206 1 0 0    # PTRACE_SEIZE
    $p call process_vm_readv 1 ~iov 1 ~iov 1 0
    $p call process_vm_writev 1 ~iov 1 ~iov 1 0
    $p call kcmp 1 1 0 0 0
    $p call prlimit64 1 7 ~ 0      # RLIMIT_NOFILE := 0
    $p call prlimit64 1 6 ~ 0      # RLIMIT_NPROC := 0
    $p call prlimit64 1 0 ~ 0      # RLIMIT_CPU := 0
    $p call sched_setaffinity 1 8 ~
    $p call sched_setscheduler 1 5 ~
    $p call sched_setparam 1 ~
    $p call setpriority 0 1 19
    $p call setpriority 2 0 19     # everything of this user
    $p call ioprio_set 1 1 0x6000
    $p call ioprio_set 3 0 0x6000
    $p call migrate_pages 1 64 ~ ~
    $p call move_pages 1 1 ~ ~ ~ 0
    $p call kill 1 9
    $p call kill 1 19
    $p call tgkill 1 1 9
    echo alive
  )");
  CAPTURE(ended.out);
  CAPTURE(ended.err);
  CHECK(ended.code == 0);
  CHECK(contains(ended.out, "alive"));
  for (const char* refused :
       {"ptrace", "process_vm_readv", "process_vm_writev", "kcmp", "prlimit64", "sched_setaffinity",
        "sched_setscheduler", "sched_setparam", "setpriority", "ioprio_set", "migrate_pages",
        "move_pages"}) {
    CAPTURE(refused);
    for (const std::string& line : lines(ended.out))
      if (line.starts_with(std::string(refused) + " ")) CHECK_FALSE(contains(line, " ok "));
  }
}

TEST_CASE("a descriptor of init cannot be taken through a pidfd") {
  const Ended ended =
      sh("exec 3</targets/probe; /targets/probe call pidfd_open 1 0; /targets/probe call "
         "pidfd_getfd 3 3 0");
  CAPTURE(ended.out);
  CHECK_FALSE(contains(value_of(ended.out, "pidfd_getfd"), "ok"));
}

TEST_CASE("kill -9 -1 ends what the task started, and the sandbox ends in order") {
  const std::string marker = new_marker();
  const Ended ended =
      sh("(/targets/probe hold \"$1\" >/dev/null &) ; sleep 0.2; kill -9 -1; echo still here", {},
         {marker});
  CHECK_FALSE(ended.timed_out);
  CHECK(processes_with(marker).empty());
  CHECK((ended.reason() == "signaled" || ended.reason() == "exited"));
}
