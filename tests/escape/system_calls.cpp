// Calls that reach deep into the kernel, or out of the sandbox, are denied. The probe runs each in
// a child of its own and says what came of it.
#include <doctest/doctest.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/socket.h>

#include "harness/sandbox.hpp"
#include "harness/suite.hpp"

using namespace harness;

namespace {

// What the probe prints after the name of the call.
std::string answer(Words attempt, const Words& options = {}) {
  const std::string key =
      attempt[0] == "call" ? attempt[1] : attempt[0].substr(attempt[0].find('-') + 1);
  attempt.insert(attempt.begin(), kProbe);
  const Ended ended = run(options, attempt);
  CAPTURE(ended.err);
  REQUIRE(ended.code == 0);
  return value_of(ended.out, key);
}

bool denied(const std::string& what) {
  if (what == "EAFNOSUPPORT") return true;  // the policy's answer for families of socket()
  return what == "EPERM" || what == "ENOSYS" || what == "EACCES";
}

constexpr const char* kNewUser = "0x10000000";
constexpr const char* kAfVsock = "40";

}  // namespace

TEST_CASE("system calls outside the policy are denied, whatever their arguments") {
  const Words denied_calls[] = {
    {"keyctl", "0", "-3", "0"},
    {"add_key", "user", "name", "payload", "7", "-3"},
    {"request_key", "user", "name", "0", "-3"},
    {"io_uring_setup", "8", "~"},
    {"io_uring_enter", "0", "0", "0", "0"},
    {"io_uring_register", "0", "0", "0", "0"},
    {"bpf", "0", "~", "48"},
    {"userfaultfd", "0"},
    {"userfaultfd", "1"},
    {"perf_event_open", "~", "0", "-1", "-1", "0"},
    {"mount", "none", "/tmp", "tmpfs", "0", "0"},
    {"umount2", "/tmp", "2"},
    {"pivot_root", "/tmp", "/tmp"},
    {"chroot", "/tmp"},
    {"fsopen", "tmpfs", "0"},
    {"open_tree", "-100", "/", "1"},
    {"move_mount", "-1", "", "-1", "", "0"},
    {"mount_setattr", "-100", "/", "0", "~", "32"},
    {"unshare", kNewUser},
    {"unshare", "0x00020000"},
    {"setns", "0", "0"},
    {"clone", kNewUser, "0", "0", "0", "0"},
    {"open_by_handle_at", "-100", "~", "0"},
    {"init_module", "~", "16", ""},
    {"finit_module", "0", "", "0"},
    {"delete_module", "none", "0"},
    {"kexec_load", "0", "0", "0", "0"},
    {"reboot", "0xfee1dead", "672274793", "0"},
    {"swapon", "/tmp/swap", "0"},
    {"syslog", "3", "~", "100"},
    {"acct", "/tmp/acct"},
    {"quotactl", "0x800002", "0", "0", "~"},
    {"settimeofday", "~", "0"},
    {"clock_settime", "0", "~"},
    {"sethostname", "x", "1"},
    {"setdomainname", "x", "1"},
    {"vhangup"},
    {"fanotify_init", "0", "0"},
    {"socket", kAfVsock, "1", "0"},
    {"socket", "17", "3", "0"},  // AF_PACKET
    {"socket", "2", "3", "1"},   // raw ICMP
    {"socket", "38", "5", "0"},  // AF_ALG
    {"socket", "31", "3", "0"},  // AF_BLUETOOTH
    {"seccomp", "1", "8", "~"},  // NEW_LISTENER
#if defined(__x86_64__)
    {"iopl", "3"},
    {"ioperm", "0", "1", "1"},
    {"modify_ldt", "1", "~", "16"},
    {"uselib", "/lib/x"},
    {"lookup_dcookie", "0", "~", "16"},
#endif
  };
  for (const Words& each : denied_calls) {
    Words attempt = {"call"};
    attempt.insert(attempt.end(), each.begin(), each.end());
    const std::string came = answer(attempt);
    CAPTURE(joined(each));
    CAPTURE(came);
    CHECK(denied(came));
  }
}

TEST_CASE("the probe's call works where the policy allows it") {
  CHECK(answer({"call", "getpid"}).starts_with("ok "));
  CHECK(answer({"call", "socket", "1", "1", "0"}).starts_with("ok "));
}

TEST_CASE("large attributes, as of ACLs that nothing counts, are refused, small ones are not") {
  // Of a name that no file system takes: whatever passes the filter has another answer.
  const auto set = [](const char* size, const Words& options = {}) {
    return answer({"call", "setxattr", "/tmp", "none.a", "~", size, "0"}, options);
  };
  CHECK(set("4096") == "ENOSPC");
  CHECK(set("65536") == "ENOSPC");
  CHECK(set("0x100000001") == "ENOSPC");
  CHECK(set("4095") != "ENOSPC");
  CHECK(set("4096", {"--allow-syscalls", "large_xattrs"}) != "ENOSPC");
  CHECK(answer({"call", "fsetxattr", "1", "none.a", "~", "4096", "0"}) == "ENOSPC");
  CHECK(answer({"call", "lsetxattr", "/tmp", "none.a", "~", "4096", "0"}) == "ENOSPC");
}

TEST_CASE("clone3 answers ENOSYS, so that libc falls back and its flags can be read") {
  CHECK(answer({"call", "clone3", "~", "88"}) == "ENOSYS");
}

TEST_CASE("new user namespaces are refused on every way to one") {
  CHECK(denied(answer({"call", "unshare", kNewUser})));
  CHECK(denied(answer({"call", "clone", kNewUser, "0", "0", "0", "0"})));
  const Ended ended =
      sh("unshare -Ur true && echo made; unshare -U true && echo made; cat "
         "/proc/sys/user/max_user_namespaces");
  CHECK_FALSE(contains(ended.out, "made"));
  CHECK(contains(ended.out, "0\n"));
}

TEST_CASE("the 32-bit entry of the kernel does not get around the filter") {
  // 20 is getpid there. Killed by the filter, or the kernel has no such entry.
  const std::string came = answer({"call-ia32", "20"});
  CAPTURE(came);
  CHECK((came == "SYS" || came == "SEGV" || came == "ENOSYS" || came == "EPERM"));
}

TEST_CASE("the x32 numbers do not get around the filter") {
  const std::string came = answer({"call-x32", "39"});
  CAPTURE(came);
  CHECK((came == "SYS" || came == "ENOSYS" || came == "EPERM"));
}

TEST_CASE("with --unsafe-nesting user namespaces are there, and the rest stays denied") {
  const Words nesting = {"--unsafe-nesting"};
  CHECK(answer({"call", "unshare", kNewUser}, nesting) == "ok 0");
  for (const Words& each :
       {Words{"call", "keyctl", "0", "-3", "0"}, Words{"call", "bpf", "0", "~", "48"},
        Words{"call", "io_uring_setup", "8", "~"},
        Words{"call", "kexec_load", "0", "0", "0", "0"}}) {
    CAPTURE(each[1]);
    CHECK(denied(answer(each, nesting)));
  }
}
