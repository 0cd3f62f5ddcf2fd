#include "policy/programs.hpp"

#include <linux/seccomp.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "policy/filter.hpp"
#include "policy/groups.hpp"
#include "policy/machine.hpp"

namespace mayfly::policy {
namespace {

std::uint32_t verdict(std::span<const sock_filter> program, const SystemCall& call) {
  seccomp_data data = {};
  data.nr = static_cast<int>(call.number);
  data.arch = audit_arch();
  std::copy(call.args.begin(), call.args.end(), data.args);
  return run(program, data).value_or(SECCOMP_RET_KILL_PROCESS);
}

bool is_same(const spec::SyscallRule& rule, const StockRule& stock) {
  return rule.group == stock.group && rule.stand == stock.stand;
}

// The filter that was compiled for the very same rules, or nothing.
std::span<const sock_filter> precompiled(std::span<const spec::SyscallRule> rules, Stock variant) {
  for (const StockPolicy& policy : stock_policies()) {
    if (std::equal(rules.begin(), rules.end(), policy.rules.begin(), policy.rules.end(), is_same)) {
      return policy.filters[static_cast<std::size_t>(variant)];
    }
  }
  return {};
}

// Every group that holds a call of init's, allowed: the tightest filter for init itself that the
// choice admits.
Choices with_init(Choices choices) {
  for (Choice& choice : choices) {
    for (const SystemCall& call : init_calls()) {
      const auto& calls = choice.group->calls;
      if (std::find(calls.begin(), calls.end(), call.number) != calls.end()) {
        choice.stand = spec::Stand::Allow;
      }
    }
  }
  return choices;
}

// The groups that are refused and hold one of these calls.
std::vector<std::string> refused_with(const Choices& choices,
                                      std::span<const std::string_view> needed) {
  std::vector<std::string> missed;
  for (const Choice& choice : choices) {
    if (choice.stand == spec::Stand::Allow) continue;
    const auto& calls = choice.group->calls;
    const bool is_needed = std::any_of(needed.begin(), needed.end(), [&](auto name) {
      const std::optional<std::uint32_t> number = call_number(name);
      return number && std::find(calls.begin(), calls.end(), *number) != calls.end();
    });
    if (is_needed) missed.push_back(choice.group->name);
  }
  return missed;
}

// What the loader and the C library do before a program is at its main function, and to end.
std::vector<std::string> missed_by_all(const Choices& choices) {
  constexpr std::string_view kNeeded[] = {"execve",     "mmap",      "mprotect", "brk",
                                          "openat",     "read",      "close",    "fstat",
                                          "newfstatat", "exit_group"};
  return refused_with(choices, kNeeded);
}

std::string stay_allowed(const Choices& choices) {
  constexpr std::string_view kLeast[] = {"execve", "exit_group"};
  std::string list;
  for (const std::string& group : refused_with(choices, kLeast))
    list += (list.empty() ? "" : " and ") + group;
  return "leave the group " + list + " allowed";
}

}  // namespace

std::string missed_words(const std::string& group) {
  return "the group " + group +
         " is refused, which nearly every program needs: it ends before it can say why";
}

Result<Stands> stands(std::span<const spec::SyscallRule> rules, Stock variant) {
  const std::vector<Group> groups = all_groups();
  const Choices stock = TRY(choose(groups, stock_rules(), {}, variant));
  const Choices choices = TRY(choose(groups, stock_rules(), rules, variant));
  Stands stands;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const bool allowed = choices[i].stand == spec::Stand::Allow;
    const std::string& name = choices[i].group->name;
    (allowed ? stands.allowed : stands.refused).push_back(name);
    if (allowed && stock[i].stand != spec::Stand::Allow) stands.opened.push_back(name);
  }
  return stands;
}

bool Program::operator==(const Program& other) const {
  return code.size() == other.code.size() &&
         (code.empty() ||
          std::memcmp(code.data(), other.code.data(), code.size() * sizeof(sock_filter)) == 0);
}

std::string first_refused(std::span<const sock_filter> program, std::span<const SystemCall> calls) {
  for (const SystemCall& call : calls) {
    if (verdict(program, call) != SECCOMP_RET_ALLOW) return std::string(call_name(call.number));
  }
  return {};
}

Result<void> check_can_execute(std::span<const sock_filter> program, std::string_view what,
                               std::string hint) {
  const SystemCall needed[] = {{.number = __NR_execve}, {.number = __NR_exit_group}};
  const std::string refused = first_refused(program, needed);
  if (refused.empty()) return {};
  return usage_error(
      "use " + std::string(what) + ": it refuses " + refused + ", so that no command could run",
      std::move(hint));
}

Result<Programs> programs_for(std::span<const spec::SyscallRule> rules, Stock variant) {
  Programs programs;
  if (rules.empty()) return programs;
  programs.are_chosen = true;
  const std::span<const sock_filter> ready = precompiled(rules, variant);
  if (!ready.empty()) {
    programs.init.code.assign(ready.begin(), ready.end());
    return programs;
  }
  const std::vector<Group> groups = all_groups();
  const Choices choices = TRY(choose(groups, stock_rules(), rules, variant));
  std::vector<sock_filter> program = TRY(compile(filter_of(audit_arch(), choices)));
  TRY(check_can_execute(program, "these groups of system calls", stay_allowed(choices)));
  programs.missed = missed_by_all(choices);
  if (first_refused(program, init_calls()).empty()) {
    programs.init.code = std::move(program);
    return programs;
  }
  programs.init.code = TRY(compile(filter_of(audit_arch(), with_init(choices))));
  const std::string refused = first_refused(programs.init.code, init_calls());
  if (!refused.empty()) {
    return internal_error("compile a filter for init: it refuses " + refused);
  }
  programs.task.push_back({.code = std::move(program)});
  return programs;
}

}  // namespace mayfly::policy
