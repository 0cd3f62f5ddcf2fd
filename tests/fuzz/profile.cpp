// A profile that is taken becomes a program that the kernel takes, too, and that answers each call
// with what the profile says of it somewhere.
#include "policy/profile.hpp"

#include <linux/seccomp.h>

#include <array>
#include <cerrno>
#include <map>
#include <set>

#include "fuzz.hpp"
#include "policy/groups.hpp"
#include "policy/machine.hpp"
#include "policy/profile_rules.hpp"
#include "policy/stock.hpp"

namespace mayfly::fuzz {
namespace {

using policy::Profile;
using policy::ProfileRule;
using policy::ProfileRules;
using policy::Program;

constexpr std::uint32_t kNewer = SECCOMP_RET_ERRNO | ENOSYS;

// What each call may be answered.
std::map<int, std::set<std::uint32_t>> answers_of(const ProfileRules& rules) {
  std::map<int, std::set<std::uint32_t>> answers;
  for (const ProfileRule& rule : rules.rules) {
    for (const int number : rule.numbers)
      answers[number].insert(rule.action);
  }
  return answers;
}

void check_program(const Program& program, const ProfileRules& rules) {
  require(!program.code.empty() && program.code.size() <= BPF_MAXINSNS, "a program can be loaded");
  const auto answers = answers_of(rules);
  const auto last = static_cast<int>(policy::last_known_call());
  for (int number = 0; number <= last + 1; ++number) {
    for (const std::uint64_t argument : {0ULL, 1ULL, ~0ULL}) {
      seccomp_data data = {};
      data.nr = number;
      data.arch = policy::audit_arch();
      for (auto& each : data.args)
        each = argument;
      const auto answer = policy::run(program.code, data);
      require(answer.has_value(), "a program answers every call", std::to_string(number));
      const auto own = answers.find(number);
      const bool is_own = own != answers.end() && own->second.count(*answer) != 0;
      const bool is_newer = number > last && *answer == kNewer;
      require(is_own || is_newer || *answer == rules.otherwise,
              "a call is answered as the profile says", std::to_string(number));
    }
  }
}

void check(const Profile& profile) {
  const Text here[] = {{.name = profile.name, .text = profile.text}};
  const Result<ProfileRules> rules = policy::read_profile(profile);
  if (!rules) return check_placed_message(rules.error(), here);
  const Result<Program> program = policy::compile_profile(profile);
  // These are about all of it, and so have no place.
  if (!program) return check_message(program.error());
  check_program(*program, *rules);
}

}  // namespace

void profile(std::string_view input) {
  for (const std::uint64_t capabilities : {std::uint64_t{0}, ~std::uint64_t{0}}) {
    check(
        {.name = "input", .text = input, .capabilities = capabilities, .kernel = "6.1.0-17-amd64"});
  }
}

}  // namespace mayfly::fuzz
