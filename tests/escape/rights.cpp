// The task has no right that it was not given, and finds no way to one.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "harness/sandbox.hpp"
#include "harness/suite.hpp"

using namespace harness;

TEST_CASE("no capabilities, no_new_privs, a filter") {
  const Ended ended = sh("tr '\\t' ' ' < /proc/self/status");
  REQUIRE(ended.code == 0);
  for (const char* set : {"CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:"}) {
    CAPTURE(set);
    CHECK(value_of(ended.out, set) == "0000000000000000");
  }
  CHECK(value_of(ended.out, "NoNewPrivs:") == "1");
  CHECK(value_of(ended.out, "Seccomp:") == "2");
}

TEST_CASE("a setuid program gives nothing") {
  Run setuid({}, {"/bin/sh", "-c",
                  "cp /targets/probe /tmp/p && chmod 6755 /tmp/p && /tmp/p ids; ./prepared ids"});
  setuid.project().file("prepared", read_file(targets_path() + "/probe"), 06755);
  const Ended ended = setuid.end();
  CAPTURE(ended.out);
  const Ended plain = run({}, {kProbe, "ids"});
  CHECK(ended.started());
  CHECK(ended.out == plain.out + plain.out);
  CHECK(sh("su -c 'echo root' 2>&1; sudo -n true 2>&1; passwd -l root 2>&1; newgrp root </dev/null "
           "2>&1; true")
            .out.find("\nroot") == std::string::npos);
}

TEST_CASE("a root caller's task has an id on the host that is nobody's") {
  if (!is_root()) return;  // an ordinary caller's task keeps that caller's id: there is no other
  const Ended ended = sh("cat /proc/self/uid_map /proc/self/gid_map; cat /etc/shadow");
  CAPTURE(ended.err);
  CHECK(contains(ended.err, "denied"));
  REQUIRE(lines(ended.out).size() == 2);
  for (const std::string& map : lines(ended.out)) {
    unsigned inside = 1, outside = 0, count = 0;
    REQUIRE(std::sscanf(map.c_str(), "%u %u %u", &inside, &outside, &count) == 3);
    CHECK(inside == 0);
    CHECK(outside >= 0x80000);
    CHECK(outside + count <= 0x6FFFFFFF);
  }
}

TEST_CASE("a live tree takes no setuid or setgid file, and gives root its own rights in it") {
  const TempDir host;
  REQUIRE(::chmod(host.dir("drop").c_str(), 0755) == 0);
  const Ended ended =
      sh("cd /drop; cp /bin/true a; chmod 4755 a; chmod u+s a; chmod g+s a; install -m 6755 "
         "/bin/true b;"
         "cp /bin/true c; chmod 755 c; python3 -c 'import os; os.open(\"d\", os.O_CREAT, 0o4755)';"
         "find . -perm /6000; ls",
         {"--rw", host / "drop" + std::string(":/drop")});
  CAPTURE(ended.err);
  CHECK_FALSE(contains(ended.out, "./"));
  CHECK(contains(ended.out, "c\n"));
  struct stat made = {};
  REQUIRE(::lstat((host / "drop/c").c_str(), &made) == 0);
  CHECK((made.st_mode & 07777) == 0755);
  CHECK(made.st_uid == ::geteuid());
  for (const char* name : {"a", "b", "d"}) {
    if (::lstat((host / "drop/" + name).c_str(), &made) == 0) CHECK((made.st_mode & 06000) == 0);
  }
}

TEST_CASE("a root caller's supplementary groups are dropped") {
  if (!is_root()) return;  // an ordinary caller cannot drop them: the result lists them
  const Ended ended = run({}, {kProbe, "ids"});
  CHECK(value_of(ended.out, "groups") == "none");
}

TEST_CASE("files of /etc that only root or a group may read stay unreadable") {
  const Ended ended =
      sh("cat /etc/shadow /etc/gshadow /etc/ssh/ssh_host_*_key /etc/sudoers 2>&1 >/dev/null | grep "
         "-cv 'denied\\|No such'; "
         "cat /etc/shadow /etc/gshadow 2>/dev/null | wc -c");
  CHECK(ended.out == "0\n0\n");
}

TEST_CASE("ids cannot be changed to any other") {
  const Ended ended =
      sh("/targets/probe call setuid 1; /targets/probe call setgroups 1 ~; /targets/probe ids");
  CHECK_FALSE(contains(value_of(ended.out, "setgroups"), "ok"));
  CHECK_FALSE(contains(value_of(ended.out, "setuid"), "ok"));
}

TEST_CASE("the caller's home, /run, /root and other temporary files are not in sight") {
  const TempDir other;
  other.file("secret", "s3cret");
  const Ended ended =
      sh("cat \"$1\" 2>&1; ls -A /root /home /run /var/run /mnt /media /srv /boot 2>/dev/null | "
         "grep -v ':$' | grep -vxF -e .mayfly -e \"$USER\" | grep . ; :",
         {}, {other / "secret"});
  CAPTURE(ended.out);
  CHECK_FALSE(contains(ended.out, "s3cret"));
  CHECK(lines(ended.out).size() == 1);
}
