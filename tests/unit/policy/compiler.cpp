// What the policy compiler says of files that are wrong.
#include <doctest/doctest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <tests/policy_compiler.hpp>
#include <vector>

#include "base/on_exit.hpp"
#include "policy/machine.hpp"

using namespace mayfly;

namespace {

// A small catalogue that compiles. Every test below breaks one thing of it.
constexpr std::string_view kCalls = R"([numbers]
mseal = 462
[constants]
PER_LINUX32 = 8
[init]
calls = ["read"]
[[group]]
name = "io"
reason = "Reading."
calls = ["read", "write", "personality", "mseal"]
[[group]]
name = "odd"
reason = "Odd ones."
answer = "ENOSYS"
cases = [{ calls = ["personality"], when = [{ arg = 0, is = ["PER_LINUX32"] }] }]
)";
constexpr std::string_view kPolicy = R"([syscalls]
allow = ["io"]
deny = ["odd"]
)";

class Workshop {
 public:
  Workshop() {
    std::string name = "/tmp/mayfly-policy-test-XXXXXX";
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    directory_ = name;
    write("calls.toml", kCalls);
    write("base.toml", kPolicy);
  }
  Workshop(const Workshop&) = delete;
  Workshop& operator=(const Workshop&) = delete;
  ~Workshop() {
    for (const std::string& name : files_)
      ::unlink((directory_ + "/" + name).c_str());
    ::rmdir(directory_.c_str());
  }

  void write(const std::string& name, std::string_view text) {
    std::FILE* file = std::fopen((directory_ + "/" + name).c_str(), "w");
    REQUIRE(file != nullptr);
    REQUIRE(std::fwrite(text.data(), 1, text.size(), file) == text.size());
    REQUIRE(std::fclose(file) == 0);
    files_.push_back(name);
  }

  // Runs the compiler in the directory; what it wrote to stderr, and its exit code.
  std::string compile(const std::string& policy, const std::string& arch, int& code,
                      const std::string& calls = "calls.toml") {
    files_.push_back("out.cpp");
    const std::string command = "cd " + directory_ + " && '" + kPolicyCompiler + "' " + arch +
                                " out.cpp '" + calls + "' '" + policy + "' 2>&1";
    std::FILE* pipe = ::popen(command.c_str(), "r");
    REQUIRE(pipe != nullptr);
    std::string output;
    std::array<char, 512> buffer;
    while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr)
      output += buffer.data();
    const int status = ::pclose(pipe);
    REQUIRE(WIFEXITED(status));
    code = WEXITSTATUS(status);
    return output;
  }

  std::string read(const std::string& name) {
    std::FILE* file = std::fopen((directory_ + "/" + name).c_str(), "r");
    REQUIRE(file != nullptr);
    const OnExit close([&] { std::fclose(file); });
    std::string text;
    std::array<char, 4096> buffer;
    while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), file))
      text.append(buffer.data(), count);
    return text;
  }

 private:
  std::string directory_;
  std::vector<std::string> files_;
};

// The program in what the compiler wrote.
std::vector<sock_filter> program_in(const std::string& text) {
  std::vector<sock_filter> program;
  std::size_t at = text.find("kDefault[] = {");
  while ((at = text.find("\n    {", at)) != std::string::npos) {
    unsigned code = 0, yes = 0, no = 0, value = 0;
    if (std::sscanf(text.c_str() + at, " {%x, %u, %u, %x},", &code, &yes, &no, &value) != 4) break;
    program.push_back({.code = static_cast<std::uint16_t>(code),
                       .jt = static_cast<std::uint8_t>(yes),
                       .jf = static_cast<std::uint8_t>(no),
                       .k = value});
    at += 1;
  }
  return program;
}

std::string edited(std::string_view text, std::string_view from, std::string_view to) {
  std::string result(text);
  const std::size_t at = result.find(from);
  REQUIRE(at != std::string::npos);
  return result.replace(at, from.size(), to);
}

// One replacement in the catalogue, or in the policy, and the whole message that must follow.
struct Broken {
  std::string_view from, to, message;
};

constexpr Broken kBrokenCalls[] = {
    {"[init]\n", "[init]\nother = 1\n",
     "calls.toml:6:1: unknown key other\nhint: known here: calls\n"},
    {"answer =", "anwser =", "calls.toml:14:1: unknown key anwser\nhint: did you mean answer?\n"},
    {"\"write\"", "\"wriite\"",
     "calls.toml:10:18: unknown system call wriite; one that libseccomp does not know needs a line "
     "in [numbers]\n"},
    {"\"write\"", "\"read\"", "calls.toml:10:18: the call read is in group io already\n"},
    {"name = \"odd\"", "name = \"io\"", "calls.toml:12:8: there is a group io already\n"},
    {"name = \"odd\"\n", "", "calls.toml:11:1: the key name is missing\n"},
    {"reason = \"Odd ones.\"\n", "", "calls.toml:11:1: the key reason is missing\n"},
    {"\"write\"", "7",
     "calls.toml:10:18: in calls, each item must be a string, and this is an integer\n"},
    {"calls = [\"read\", \"write\", \"personality\", \"mseal\"]", "calls = \"read\"",
     "calls.toml:10:9: calls must be an array and is a string\n"},
    {"\"ENOSYS\"", "\"ENOSUCH\"",
     "calls.toml:14:10: unknown answer ENOSUCH; an errno like EPERM, or \"success\"\n"},
    {"\"PER_LINUX32\"] }", "\"PER_LINUX\"] }",
     "calls.toml:15:62: unknown constant PER_LINUX; see [constants]\n"},
    {"arg = 0", "arg = 6", "calls.toml:15:53: arguments are counted from 0 to 5\n"},
    {"arg = 0", "arg = -1",
     "calls.toml:15:53: an integer of 32 bits must be here, 0 to 0xFFFFFFFF\n"},
    {"arg = 0, is = [\"PER_LINUX32\"]", "arg = 0",
     "calls.toml:15:45: a condition is an arg and one test\n"},
    {"is = [\"PER_LINUX32\"]", "null = 1",
     "calls.toml:15:63: null must be true or false and is an integer\n"},
    {"is = [\"PER_LINUX32\"]", "is = []", "calls.toml:15:45: a test needs a value\n"},
    {"when = [{ arg = 0, is = [\"PER_LINUX32\"] }]", "when = []",
     "calls.toml:15:10: a case needs a call and a condition\n"},
    {"{ calls = [\"personality\"]", "{ calls = [\"mount\"]",
     "calls.toml:15:21: no group holds the call mount, so a case for it has no effect\n"},
    {"mseal = 462", "mseal = -1",
     "calls.toml:2:9: the number of a system call must be here, 0 to 65535\n"},
    {"mseal = 462", "mseal = 462\nread = 462", "calls.toml:3:8: read is call 0 on x86_64\n"},
    {"mseal = 462", "mseal = { sparc = 1 }",
     "calls.toml:2:11: unknown key sparc\nhint: known here: x86_64, aarch64\n"},
    {"calls = [\"read\"]\n[[", "calls = [\"read\", \"mmap\"]\n[[",
     "calls.toml:6:18: init needs mmap, and base.toml answers it with ENOSYS\n"},
    {"calls = [\"read\"]\n[[", "calls = [{ call = \"personality\", args = [8] }]\n[[",
     "calls.toml:6:19: init needs personality, and base.toml answers it with ENOSYS\n"},
    {"[init]\ncalls = [\"read\"]\n", "", "calls.toml:1:1: the key init is missing\n"},
};

constexpr Broken kBrokenPolicies[] = {
    {"deny =", "dney =", "base.toml:3:1: unknown key dney in syscalls\nhint: did you mean deny?\n"},
    {"\"odd\"", "\"even\"", "base.toml:3:9: unknown group even\n"},
    {"\"odd\"", "\"odd\", \"io\"", "base.toml:3:16: group io is named twice\n"},
    {"deny = [\"odd\"]\n", "", "base.toml:1:1: group odd is neither allowed nor denied\n"},
    {"[\"odd\"]", "true", "base.toml:3:8: syscalls.deny must be an array and is true\n"},
    {"[syscalls]", "[system]", "base.toml:1:2: unknown key system\n"},
    {"[syscalls]", "extends = \"base\"\n[syscalls]",
     "base.toml:1:11: no policy before this one is called base\n"},
    {"[syscalls]", "extends = \"nobody\"\n[syscalls]",
     "base.toml:1:11: no policy before this one is called nobody\n"},
    {"allow = [\"io\"]", "allow = [\"odd\"]", "base.toml:3:9: group odd is named twice\n"},
};

}  // namespace

TEST_CASE("a catalogue and a policy that are right compile") {
  Workshop workshop;
  int code = -1;
  CHECK(workshop.compile("base.toml", "x86_64", code) == "");
  CHECK(code == 0);
  CHECK(workshop.read("out.cpp").find("constexpr sock_filter kDefault[] = {") != std::string::npos);
}

TEST_CASE("errors in the catalogue are said with file, line and column") {
  for (const Broken& broken : kBrokenCalls) {
    CAPTURE(broken.to);
    Workshop workshop;
    workshop.write("calls.toml", edited(kCalls, broken.from, broken.to));
    int code = -1;
    const std::string output = workshop.compile("base.toml", "x86_64", code);
    CHECK(output.substr(0, broken.message.size()) == broken.message);
    CHECK(code == 1);
  }
}

TEST_CASE("errors in a policy are said with file, line and column") {
  for (const Broken& broken : kBrokenPolicies) {
    CAPTURE(broken.to);
    Workshop workshop;
    workshop.write("base.toml", edited(kPolicy, broken.from, broken.to));
    int code = -1;
    const std::string output = workshop.compile("base.toml", "x86_64", code);
    CHECK(output.substr(0, broken.message.size()) == broken.message);
    CHECK(code == 1);
  }
}

TEST_CASE("what is not TOML, a duplicate key among it, is said with its place") {
  Workshop workshop;
  workshop.write("base.toml", "[syscalls]\nallow = [\"io\"]\nallow = []\n");
  int code = -1;
  const std::string output = workshop.compile("base.toml", "x86_64", code);
  CHECK(output.starts_with("base.toml:3:"));
  CHECK(output.find("the key allow is there already") != std::string::npos);
  CHECK(code == 1);
}

TEST_CASE("a policy that extends another says only what differs") {
  Workshop workshop;
  workshop.write("derived.toml", "extends = \"base\"\n[syscalls]\nallow = [\"odd\"]\n");
  int code = -1;
  CHECK(workshop.compile("base.toml' 'derived.toml", "x86_64", code) == "");
  CHECK(code == 0);
  // The case of the group that is now allowed is gone, and with it the test of an argument.
  const std::string text = workshop.read("out.cpp");
  const auto program = [&](const std::string& name) {
    const std::size_t at = text.find("constexpr sock_filter k" + name + "[] = {");
    REQUIRE(at != std::string::npos);
    return text.substr(at, text.find("};", at) - at);
  };
  CHECK(program("Default").find("0x00000008}") != std::string::npos);
  CHECK(program("derived_Default").find("0x00000008}") == std::string::npos);
}

TEST_CASE("an unknown architecture is refused by name") {
  Workshop workshop;
  int code = -1;
  CHECK(workshop.compile("base.toml", "sparc", code) ==
        "unknown architecture sparc\nhint: known: x86_64, aarch64\n");
  CHECK(code == 1);
}

TEST_CASE("the stock policies compile for the other architecture, with its numbers") {
  Workshop workshop;
  int code = -1;
  const std::string policies = kPolicies;
  CHECK(workshop.compile(policies + "/default.toml", "aarch64", code,
                         policies + "/syscalls.toml") == "");
  REQUIRE(code == 0);
  const auto program = program_in(workshop.read("out.cpp"));
  const auto answer = [&](std::uint32_t arch, int number, std::uint64_t first = 0) {
    seccomp_data data{};
    data.arch = arch;
    data.nr = number;
    data.args[0] = first;
    return policy::run(program, data);
  };
  constexpr std::uint32_t kArm64 = AUDIT_ARCH_AARCH64;
  CHECK(answer(kArm64, 56) == SECCOMP_RET_ALLOW);              // openat
  CHECK(answer(kArm64, 219) == (SECCOMP_RET_ERRNO | ENOSYS));  // keyctl
  CHECK(answer(kArm64, 280) == (SECCOMP_RET_ERRNO | EPERM));   // bpf
  CHECK(answer(kArm64, 435) == (SECCOMP_RET_ERRNO | ENOSYS));  // clone3
  CHECK(answer(kArm64, 220, 17) == SECCOMP_RET_ALLOW);         // clone
  CHECK(answer(kArm64, 220, 0x10000000) == (SECCOMP_RET_ERRNO | EPERM));
  CHECK(answer(kArm64, 335) == (SECCOMP_RET_ERRNO | ENOSYS));  // uretprobe on x86_64 only
  CHECK(answer(AUDIT_ARCH_ARM, 56) == SECCOMP_RET_KILL_PROCESS);
  CHECK(answer(AUDIT_ARCH_X86_64, 56) == SECCOMP_RET_KILL_PROCESS);
}
