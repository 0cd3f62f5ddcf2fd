// A profile that is taken becomes a program that the kernel takes, too, and that answers each call
// with what the profile says of it somewhere; merged with the stock filter, as the two stacked do.
#include "policy/profile.hpp"

#include <linux/seccomp.h>

#include <cerrno>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "fuzz.hpp"
#include "policy/groups.hpp"
#include "policy/machine.hpp"
#include "policy/merge.hpp"
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

std::optional<std::uint32_t> answer(std::span<const sock_filter> program, int number,
                                    std::uint64_t argument) {
  seccomp_data data = {};
  data.nr = number;
  data.arch = policy::audit_arch();
  for (auto& each : data.args)
    each = argument;
  return policy::run(program, data);
}

// Of two filters' answers the kernel takes the stricter, of equally strict ones the newer filter's.
std::uint32_t stacked(std::uint32_t newer, std::uint32_t older) {
  const auto action = [](std::uint32_t answer) {
    return static_cast<std::int32_t>(answer & SECCOMP_RET_ACTION_FULL);
  };
  return action(older) < action(newer) ? older : newer;
}

void check_program(const Program& program, const ProfileRules& rules) {
  require(!program.code.empty() && program.code.size() <= BPF_MAXINSNS, "a program can be loaded");
  const std::span<const sock_filter> stock = policy::stock_filter(policy::Stock::Default);
  const auto both = policy::merged(program.code, stock);
  const auto answers = answers_of(rules);
  const auto last = static_cast<int>(policy::last_known_call());
  for (int number = 0; number <= last + 1; ++number) {
    const std::string call = std::to_string(number);
    const auto own = answers.find(number);
    for (const std::uint64_t argument : {0ULL, 1ULL, ~0ULL}) {
      const auto alone = answer(program.code, number, argument);
      require(alone.has_value(), "a program answers every call", call);
      const bool is_own = own != answers.end() && own->second.count(*alone) != 0;
      const bool is_newer = number > last && *alone == kNewer;
      require(is_own || is_newer || *alone == rules.otherwise,
              "a call is answered as the profile says", call);
      const auto wanted = stacked(*alone, answer(stock, number, argument).value_or(0));
      require(!both || answer(*both, number, argument) == wanted,
              "a merged program answers as the two do", call);
    }
  }
}

void check(const Profile& profile) {
  const Text here[] = {{.name = "the seccomp profile input", .text = profile.text}};
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
