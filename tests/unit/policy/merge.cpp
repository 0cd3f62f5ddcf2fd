// Two filters in one program: it must answer every call as the kernel does where both are loaded.
#include "policy/merge.hpp"

#include <doctest/doctest.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/syscall.h>

#include <cerrno>
#include <fstream>
#include <random>
#include <sstream>
#include <utility>

#include "policy/groups.hpp"
#include "policy/machine.hpp"
#include "policy/profile.hpp"
#include "policy/refusals.hpp"

using namespace mayfly;
using namespace mayfly::policy;

namespace {

using Code = std::vector<sock_filter>;

Code compiled(const std::string& text) {
  const Result<Program> program =
      compile_profile({.name = "p.json", .text = text, .capabilities = 0, .kernel = "6.1"});
  INFO((program ? std::string() : describe(program.error())));
  REQUIRE(program);
  return program->code;
}

// All is allowed but what the rules say, of which each is {"names": …}.
Code profile(const std::string& rules) {
  return compiled(R"({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [)" + rules + "]}");
}

std::string container_profile() {
  std::ifstream file("/usr/share/containers/seccomp.json");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// What the kernel makes of two answers; of actions alike the newer filter's counts.
std::uint32_t stacked(const Code& newer, std::span<const sock_filter> older,
                      const seccomp_data& data) {
  const std::uint32_t first = run(newer, data).value(), second = run(older, data).value();
  const auto rank = [](std::uint32_t answer) {
    return static_cast<std::int32_t>(answer & SECCOMP_RET_ACTION_FULL);
  };
  return rank(second) < rank(first) ? second : first;
}

void check_calls(const Code& newer, std::span<const sock_filter> older) {
  const auto both = merged(newer, older);
  REQUIRE(both);
  std::mt19937_64 random(7);
  int different = 0;
  for (int number = -1; number < 1100; ++number) {
    for (const std::uint32_t arch : {audit_arch(), std::uint32_t{AUDIT_ARCH_I386}}) {
      seccomp_data data = {};
      data.nr = number;
      data.arch = arch;
      for (int i = 0; i < 4; ++i) {
        different += run(*both, data).value() != stacked(newer, older, data) ? 1 : 0;
        for (auto& argument : data.args)
          argument = random() >> (random() % 64);
      }
    }
  }
  CHECK(different == 0);
}

constexpr Stock kStocks[] = {Stock::Default, Stock::Live, Stock::Nesting, Stock::NestingLive};

}  // namespace

TEST_CASE("a merged program answers as stacked ones do, for every action and call") {
  const std::string text = container_profile();
  REQUIRE_FALSE(text.empty());  // golang-github-containers-common
  for (const Stock stock : kStocks) {
    check_calls(compiled(text), stock_filter(stock));
    for (const char* action : {"ALLOW", "LOG", "ERRNO", "TRACE", "TRAP", "KILL_THREAD", "KILL"}) {
      CAPTURE(action);
      const std::string acts = R"("action": "SCMP_ACT_)" + std::string(action) + "\"}";
      check_calls(profile(R"({"names": ["mount", "read", "getppid", "io_uring_setup"], )" + acts),
                  stock_filter(stock));
      check_calls(
          profile(
              R"({"names": ["read"], "args": [{"index": 0, "value": 7, "op": "SCMP_CMP_GT"}], )" +
              acts),
          stock_filter(stock));
    }
  }
}

TEST_CASE("what cannot be merged is left as it is: an answer that is computed, one too long") {
  const Code computed = {{BPF_RET | BPF_A, 0, 0, 0}};
  CHECK_FALSE(merged(computed, stock_filter(Stock::Default)));
  const Code long_one(BPF_MAXINSNS, {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW});
  CHECK_FALSE(merged(long_one, stock_filter(Stock::Default)));
}

TEST_CASE("a profile that may refuse what init calls is found, also where it looks at arguments") {
  CHECK(first_endangered(compiled(container_profile()), init_calls()).empty());
  CHECK(first_endangered(profile(""), init_calls()).empty());
  CHECK(
      first_endangered(profile(R"({"names": ["mount"], "action": "SCMP_ACT_ERRNO"})"), init_calls())
          .empty());
  CHECK(first_endangered(profile(R"({"names": ["ppoll"], "action": "SCMP_ACT_ERRNO"})"),
                         init_calls()) == "ppoll");
  const std::string commands = R"({"names": ["fcntl"], "action": "SCMP_ACT_ERRNO", "args":
                                   [{"index": 1, "value": 1034, "op": "SCMP_CMP_EQ"}]})";
  CHECK(first_endangered(profile(commands), init_calls()) == "fcntl");
  const std::string namespaces = R"({"names": ["clone"], "action": "SCMP_ACT_ERRNO", "args":
             [{"index": 0, "value": 268435456, "valueTwo": 268435456, "op": "SCMP_CMP_MASKED_EQ"}]})";
  CHECK(first_endangered(profile(namespaces), init_calls()).empty());
}

TEST_CASE("what is told: the profile's refusals with those of the policy, or why not") {
  Programs programs;
  programs.task = {{.code = profile(R"({"names": ["getppid"], "action": "SCMP_ACT_ERRNO"})")},
                   {.code = profile(R"({"names": ["ppoll"], "action": "SCMP_ACT_ERRNO"})")}};
  const Told told = with_told(programs, stock_filter(Stock::Default));
  CHECK_FALSE(told.is_complete);
  CHECK(told.untold_call == "ppoll");
  REQUIRE(told.programs.task.size() == 1);
  CHECK(told.programs.task[0] == programs.task[1]);
  seccomp_data data = {};
  data.nr = __NR_getppid;
  data.arch = audit_arch();
  CHECK(refusal(told.programs.init.code, data) == EPERM);
  CHECK(run(asking(told.programs.init.code), data) == SECCOMP_RET_USER_NOTIF);
  data.nr = __NR_getpid;
  CHECK(run(asking(told.programs.init.code), data) == SECCOMP_RET_ALLOW);

  // The other way round the newer one stays above, whose errno counts where both refuse.
  std::swap(programs.task[0], programs.task[1]);
  const Told kept = with_told(programs, stock_filter(Stock::Default));
  CHECK_FALSE(kept.is_complete);
  CHECK(kept.untold_call == "ppoll");
  CHECK(kept.programs == programs);

  programs.task.erase(programs.task.begin());
  CHECK(with_told(programs, stock_filter(Stock::Default)).is_complete);
  CHECK(with_told({}, stock_filter(Stock::Default)).programs == Programs());
}
