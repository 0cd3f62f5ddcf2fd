// Which filter programs a sandbox gets: for a choice of groups, precompiled where a stock policy
// makes the same one, and for an OCI profile on top.
#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "policy/stock.hpp"
#include "spec/spec.hpp"

namespace mayfly::policy {

// A filter program as a value.
struct Program {
  std::vector<sock_filter> code;
  bool operator==(const Program& other) const;
};

struct Programs {
  // What init loads, for itself and all that it starts. Empty: the stock filter of the variant.
  Program init;
  // What each task loads on top, in this order, just before it is executed: what init itself could
  // not work under.
  std::vector<Program> task;
  bool are_chosen = false;          // their groups are not those of the stock filter
  std::vector<std::string> missed;  // groups that are refused, and that every program needs
  bool operator==(const Programs&) const = default;
};

// Errors: a group that does not exist, a choice under which no command could be executed.
[[nodiscard]] Result<Programs> programs_for(std::span<const spec::SyscallRule> rules,
                                            Stock variant);

// Of a group in Programs::missed, for people.
[[nodiscard]] std::string missed_words(const std::string& group);

// What a choice of groups comes to, by their names, in the catalogue's order.
struct Stands {
  std::vector<std::string> allowed, refused;
  std::vector<std::string> opened;  // allowed, and refused where nothing is chosen
};
[[nodiscard]] Result<Stands> stands(std::span<const spec::SyscallRule> rules, Stock variant);

// The first of these calls that the program does not allow, by name; empty: none.
[[nodiscard]] std::string first_refused(std::span<const sock_filter> program,
                                        std::span<const SystemCall> calls);

// What executing a command takes at the very least, with its arguments as far as filters see them.
[[nodiscard]] Result<void> check_can_execute(std::span<const sock_filter> program,
                                             std::string_view what, std::string hint);

}  // namespace mayfly::policy
