#include "policy/groups.hpp"

#include <linux/seccomp.h>

#include <algorithm>
#include <cerrno>

#include "base/text.hpp"

namespace mayfly::policy {
namespace {

using spec::Stand;

// What --unsafe-nesting adds to every policy, and a tree that is live takes from it.
constexpr std::string_view kNestingGroups[] = {
    "namespaces", "clone3", "mounts", "host_name", "namespace_queries", "supervision"};
constexpr std::string_view kNotWhileLive = "setuid_files";

bool is_nesting(Stock variant) {
  return variant == Stock::Nesting || variant == Stock::NestingLive;
}
bool is_live(Stock variant) {
  return variant == Stock::Live || variant == Stock::NestingLive;
}

Choice* find(Choices& choices, std::string_view name) {
  for (Choice& choice : choices) {
    if (choice.group->name == name) return &choice;
  }
  return nullptr;
}

Error unknown_group(std::string_view name, std::span<const Group> groups) {
  std::vector<std::string_view> names;
  for (const Group& group : groups)
    names.emplace_back(group.name);
  const std::string_view meant = nearest(name, names);
  return usage_error("choose the system calls " + shown(name) + ": there is no such group",
                     meant.empty() ? "mayfly-policy(5) lists the groups"
                                   : "did you mean " + std::string(meant) + "?");
}

}  // namespace

Result<void> check_allowed(std::string_view name) {
  for (const std::string_view group : {"other_processes", "core_limit"}) {
    if (name != group) continue;
    return usage_error("allow the system calls " + std::string(group) +
                           ": with them a command could cripple the sandbox's own init",
                       "leave the group out");
  }
  return {};
}

Result<void> check_group(std::span<const Group> groups, std::string_view name) {
  const auto is_it = [&](const Group& group) { return group.name == name; };
  if (std::any_of(groups.begin(), groups.end(), is_it)) return {};
  return unknown_group(name, groups);
}

Result<Choices> choose(const std::vector<Group>& groups, std::span<const StockRule> stock,
                       std::span<const spec::SyscallRule> rules, Stock variant) {
  Choices choices;
  for (const Group& group : groups)
    choices.push_back({.group = &group, .stand = Stand::Deny});
  for (const StockRule& rule : stock) {
    if (Choice* choice = find(choices, rule.group)) choice->stand = rule.stand;
  }
  if (is_nesting(variant)) {
    for (const std::string_view name : kNestingGroups) {
      if (Choice* choice = find(choices, name)) choice->stand = Stand::Allow;
    }
  }
  for (const spec::SyscallRule& rule : rules) {
    if (rule.stand == Stand::Allow) TRY(check_allowed(rule.group));
    Choice* choice = find(choices, rule.group);
    if (choice == nullptr) return unknown_group(rule.group, groups);
    choice->stand = rule.stand;
  }
  if (is_live(variant)) {
    if (Choice* choice = find(choices, kNotWhileLive)) choice->stand = Stand::Deny;
  }
  return choices;
}

Filter filter_of(std::uint32_t audit_arch, const Choices& choices) {
  // Another architecture's calls have other numbers, and its programs cannot run half-way: the
  // 32-bit entry of x86_64 kills. x32 calls are numbers from 0x40000000 on, which nobody names.
  Filter filter{.audit_arch = audit_arch,
                .calls = {},
                .otherwise = SECCOMP_RET_ERRNO | ENOSYS,
                .foreign = SECCOMP_RET_KILL_PROCESS};
  for (const Choice& choice : choices) {
    for (const std::uint32_t call : choice.group->calls) {
      filter.calls[call].verdict =
          choice.stand == Stand::Allow ? SECCOMP_RET_ALLOW : choice.group->answer;
    }
  }
  for (const Choice& choice : choices) {
    if (choice.stand == Stand::Allow) continue;
    for (const NumberedCase& one : choice.group->cases) {
      Answer& answer = filter.calls.at(one.number);
      if (answer.verdict == SECCOMP_RET_ALLOW) answer.cases.push_back(one.what);
    }
  }
  return filter;
}

}  // namespace mayfly::policy
