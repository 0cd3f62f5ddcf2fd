// Foreign seccomp profiles: what they come to, and what is refused, where.
#include "policy/profile.hpp"

#include <doctest/doctest.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/syscall.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <sstream>
#include <string>

#include "policy/groups.hpp"
#include "policy/machine.hpp"
#include "policy/profile_rules.hpp"

using namespace mayfly;
using policy::Profile;
using policy::Program;

namespace {

#if defined(__x86_64__)
const std::string kArch = "SCMP_ARCH_X86_64";
#else
const std::string kArch = "SCMP_ARCH_AARCH64";
#endif

Result<Program> compile(const std::string& text, std::uint64_t capabilities = 0) {
  return policy::compile_profile(
      {.name = "p.json", .text = text, .capabilities = capabilities, .kernel = "6.1.0-17-amd64"});
}

// The answer to a call whose first argument this is.
std::uint32_t answer(const Program& program, long number, std::uint64_t first = 0) {
  seccomp_data data = {};
  data.nr = static_cast<int>(number);
  data.arch = policy::audit_arch();
  data.args[0] = first;
  return policy::run(program.code, data).value_or(0xBAD);
}

constexpr std::uint32_t refuse(int error) {
  return SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error);
}

// All is allowed but one rule for personality.
std::string rule(const std::string& rest) {
  return R"({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["personality"], )" + rest +
         "}]}";
}

}  // namespace

TEST_CASE("the profile that Debian's container tools ship is taken as it is") {
  std::ifstream file("/usr/share/containers/seccomp.json");
  std::stringstream text;
  text << file.rdbuf();
  REQUIRE_FALSE(text.str().empty());  // golang-github-containers-common
  const Result<Program> program = compile(text.str());
  INFO((program ? std::string() : describe(program.error())));
  REQUIRE(program);
  CHECK(answer(*program, __NR_execve) == SECCOMP_RET_ALLOW);
  CHECK(answer(*program, __NR_bpf) == refuse(EPERM));
  CHECK(answer(*program, __NR_personality, 0) == SECCOMP_RET_ALLOW);
  CHECK(answer(*program, __NR_personality, 0x1234) == refuse(ENOSYS));
  CHECK(answer(*program, __NR_clone, SIGCHLD) == SECCOMP_RET_ALLOW);
  CHECK(answer(*program, __NR_chroot) == refuse(EPERM));  // for CAP_SYS_CHROOT only
  CHECK(answer(*program, 2000) == refuse(ENOSYS));
  const Result<Program> with_all = compile(text.str(), ~0ULL);
  REQUIRE(with_all);
  CHECK(answer(*with_all, __NR_bpf) == SECCOMP_RET_ALLOW);
}

TEST_CASE("every operator compares as OCI says, in 64 bits") {
  const struct {
    const char* op;
    std::uint64_t below, at, above;  // refused for 4 GiB + 6, + 7 and + 8?
  } cases[] = {
      {"SCMP_CMP_NE", 1, 0, 1}, {"SCMP_CMP_LT", 1, 0, 0}, {"SCMP_CMP_LE", 1, 1, 0},
      {"SCMP_CMP_EQ", 0, 1, 0}, {"SCMP_CMP_GE", 0, 1, 1}, {"SCMP_CMP_GT", 0, 0, 1},
  };
  for (const auto& each : cases) {
    const std::string op = each.op;
    CAPTURE(op);
    const auto program = compile(rule(R"("action": "SCMP_ACT_ERRNO", "errnoRet": 5, "args": [)"
                                      R"({"index": 0, "value": 4294967303, "op": ")" +
                                      op + "\"}]"));
    REQUIRE(program);
    const auto refused = [&](std::uint64_t first) {
      return answer(*program, __NR_personality, first) == refuse(5) ? 1u : 0u;
    };
    CHECK(refused(4294967302) == each.below);
    CHECK(refused(4294967303) == each.at);
    CHECK(refused(4294967304) == each.above);
  }
  const auto masked =
      compile(rule(R"("action": "SCMP_ACT_ERRNO", "args": [{"index": 0, )"
                   R"("value": 240, "valueTwo": 16, "op": "SCMP_CMP_MASKED_EQ"}])"));
  REQUIRE(masked);
  CHECK(answer(*masked, __NR_personality, 0x1F) == refuse(EPERM));
  CHECK(answer(*masked, __NR_personality, 0x2F) == SECCOMP_RET_ALLOW);
}

TEST_CASE("a rule holds where its includes do and its excludes do not") {
  const std::string kill = R"("action": "SCMP_ACT_KILL_PROCESS", )";
  const auto killed = [&](const std::string& rest, std::uint64_t capabilities = 0) {
    const auto program = compile(rule(kill + rest), capabilities);
    REQUIRE(program);
    return answer(*program, __NR_personality) == SECCOMP_RET_KILL_PROCESS;
  };
  CHECK_FALSE(killed(R"("includes": {"caps": ["CAP_SYS_ADMIN"]})"));
  CHECK(killed(R"("includes": {"caps": ["CAP_SYS_ADMIN"]})", 1ULL << 21));
  CHECK(killed(R"("excludes": {"caps": ["CAP_SYS_ADMIN"]})"));
  CHECK_FALSE(killed(R"("excludes": {"caps": ["CAP_SYS_ADMIN"]})", 1ULL << 21));
  CHECK(killed(R"("includes": {"minKernel": "4.8"})"));
  CHECK_FALSE(killed(R"("includes": {"minKernel": "6.2"})"));
  CHECK_FALSE(killed(R"("includes": {"arches": ["s390x"]})"));
  CHECK(killed(R"("includes": {"arches": ["amd64", "arm64"]})"));
  CHECK(killed(R"("includes": null, "excludes": {}, "args": null)"));
}

TEST_CASE("what is no profile is refused with its place") {
  const struct {
    std::string text;
    const char* message;
  } cases[] = {
      {"[]", "read the seccomp profile p.json:1:1: it is no object"},
      {std::string("{\"defaultAction\": \"SCMP_ACT_ALLOW\"}\0{}", 37),
       "read the seccomp profile p.json:1:36: a NUL byte has no place in JSON"},
      {"{}", "read the seccomp profile p.json:1:1: the key defaultAction is missing"},
      {R"({"defaultAction": "SCMP_ACT_NOTIFY"})",
       "read the seccomp profile p.json:1:19: SCMP_ACT_NOTIFY asks another process, and there is "
       "none"},
      {R"({"defaultAction": "SCMP_ACT_MAYBE"})",
       "read the seccomp profile p.json:1:19: unknown action SCMP_ACT_MAYBE"},
      {R"({"defaultAction": "SCMP_ACT_ALLOW", "sysclls": []})",
       "read the seccomp profile p.json:1:37: unknown key sysclls"},
      {R"({"defaultAction": "SCMP_ACT_ALLOW", "architectures": ["SCMP_ARCH_S390X"]})", nullptr},
      {R"({"defaultAction": "SCMP_ACT_ALLOW", "archMap": [{"architecture": "SCMP_ARCH_S390X"}]})",
       nullptr},
      {R"({"defaultAction": "SCMP_ACT_ALLOW", "archMap": [{"architectur": "SCMP_ARCH_S390X"}]})",
       "read the seccomp profile p.json:1:50: unknown key architectur"},
      {R"({"defaultAction": "SCMP_ACT_ALLOW", "listenerPath": "/run/seccomp.sock"})",
       "read the seccomp profile p.json:1:53: a profile cannot bring a listener of its own"},
      {rule(R"("action": "SCMP_ACT_DENY")"),
       "read the seccomp profile p.json:1:87: unknown action SCMP_ACT_DENY"},
      {rule(R"("action": "SCMP_ACT_ERRNO", "errno": "EMOOD")"),
       "read the seccomp profile p.json:1:114: unknown errno EMOOD"},
      {rule(R"("action": "SCMP_ACT_ERRNO", "errnoRet": 4096)"),
       "read the seccomp profile p.json:1:117: a whole number from 0 to 4095 must be here"},
      {rule(R"("action": "SCMP_ACT_LOG", "arg": [])"),
       "read the seccomp profile p.json:1:103: unknown key arg"},
      {rule(R"("action": "SCMP_ACT_LOG", "includes": {"cap": ["CAP_BPF"]})"),
       "read the seccomp profile p.json:1:116: unknown key cap"},
      {rule(R"("action": "SCMP_ACT_LOG", "args": [{"index": 0, "value": 1, "valu2": 1, )"
            R"("op": "SCMP_CMP_EQ"}])"),
       "read the seccomp profile p.json:1:137: unknown key valu2"},
      {R"({"defaultAction": "SCMP_ACT_ERRNO", "syscalls": []})",
       "use the seccomp profile p.json: it refuses execve, so that no command could run"},
      {rule(R"("action": "SCMP_ACT_LOG", "args": [{"index": 6, "value": 0, "op": "SCMP_CMP_EQ"}])"),
       "read the seccomp profile p.json:1:122: a whole number from 0 to 5 must be here"},
      {rule(
           R"("action": "SCMP_ACT_LOG", "args": [{"index": 0, "value": -1, "op": "SCMP_CMP_EQ"}])"),
       "read the seccomp profile p.json:1:134: a whole number from 0 to 18446744073709551615 must "
       "be here"},
      {rule(R"("action": "SCMP_ACT_LOG", "args": [{"index": 0, "value": 1, "op": "IS"}])"),
       "read the seccomp profile p.json:1:143: unknown operator IS"},
  };
  for (const auto& each : cases) {
    CAPTURE(each.text);
    const auto program = compile(each.text);
    REQUIRE_FALSE(program);
    if (each.message != nullptr) CHECK(program.error().action == each.message);
  }
  CHECK(compile(R"({"defaultAction": "SCMP_ACT_ALLOW", "architectures": [")" + kArch + "\"]}"));
}

TEST_CASE("calls of other architectures kill, whatever the profile says of its own") {
  const auto program = compile(rule(R"("action": "SCMP_ACT_LOG")"));
  REQUIRE(program);
  seccomp_data foreign = {};
  foreign.nr = __NR_getpid;
  foreign.arch = AUDIT_ARCH_S390X;
  CHECK(policy::run(program->code, foreign) == SECCOMP_RET_KILL_PROCESS);
}

TEST_CASE("conditions on one argument are alternatives, those on two must both hold") {
  const auto program = [](const std::string& second) {
    return compile(rule(R"("action": "SCMP_ACT_ERRNO", "args": [)"
                        R"({"index": 0, "value": 1, "op": "SCMP_CMP_EQ"}, {"index": )" +
                        second + R"(, "value": 2, "op": "SCMP_CMP_EQ"}])"));
  };
  const auto alternatives = program("0"), both = program("1");
  REQUIRE(alternatives);
  REQUIRE(both);
  CHECK(answer(*alternatives, __NR_personality, 1) == refuse(EPERM));
  CHECK(answer(*alternatives, __NR_personality, 2) == refuse(EPERM));
  CHECK(answer(*alternatives, __NR_personality, 3) == SECCOMP_RET_ALLOW);
  CHECK(answer(*both, __NR_personality, 1) == SECCOMP_RET_ALLOW);
}
