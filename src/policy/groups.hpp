// The groups of system calls that policies allow or deny, and the filter that a choice of them is.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "policy/filter.hpp"
#include "policy/stock.hpp"
#include "spec/spec.hpp"

namespace mayfly::policy {

// A case of policies/syscalls.toml, for one call.
struct NumberedCase {
  std::uint32_t number = 0;
  Case what;
};

struct Group {
  std::string name;
  std::string reason;
  std::uint32_t answer = 0;  // to `calls`, where the group is denied
  std::vector<std::uint32_t> calls;
  std::vector<NumberedCase> cases;
};

// One of the catalogue's groups, and what is done with it.
struct Choice {
  const Group* group = nullptr;
  spec::Stand stand = spec::Stand::Deny;
};
using Choices = std::vector<Choice>;  // each group of the catalogue once, in its order

// The catalogue that this program was built with, and its audit architecture. Made at each call:
// only what compiles a filter at run time wants it.
[[nodiscard]] std::vector<Group> all_groups();
[[nodiscard]] std::uint32_t audit_arch();

// An error with the nearest name, if there is no such group.
[[nodiscard]] Result<void> check_group(std::span<const Group> groups, std::string_view name);

// An error if no policy can allow the group.
[[nodiscard]] Result<void> check_allowed(std::string_view name);

// What the stock policy, these rules and the variant make of the groups. With nesting, the groups
// that it needs are allowed unless a rule denies them; with a live tree, setuid files are denied
// whatever the rules say.
[[nodiscard]] Result<Choices> choose(const std::vector<Group>& groups,
                                     std::span<const StockRule> stock,
                                     std::span<const spec::SyscallRule> rules, Stock variant);

[[nodiscard]] Filter filter_of(std::uint32_t audit_arch, const Choices& choices);

}  // namespace mayfly::policy
