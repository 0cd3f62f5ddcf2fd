// Merge: two filters in one program, so that one listener is told what either refuses.
//
// Of stacked filters the most restrictive answer counts, and an errno is more restrictive than a
// question to a listener; and of all filters of a process one may have a listener. So what a task's
// own filter refuses is told only if it is part of the one that asks, which is init's.
#pragma once

#include <linux/filter.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "policy/programs.hpp"

namespace mayfly::policy {

// One program that answers each call as the kernel does where `newer` is stacked on `older`; or
// nullopt where it would be too long, or `newer` computes its answers.
[[nodiscard]] std::optional<std::vector<sock_filter>> merged(std::span<const sock_filter> newer,
                                                             std::span<const sock_filter> older);

// The first of init's calls that the program might refuse; empty: none. An argument that is 0 in
// `calls` can be anything.
[[nodiscard]] std::string first_endangered(std::span<const sock_filter> program,
                                           std::span<const SystemCall> calls);

struct Told {
  Programs programs;        // that do what those given do
  std::string untold_call;  // what is in the way of the others: a call of init's, or empty
  bool is_complete = true;  // everything that they refuse is told
};
// The programs with as much as possible in the one that init loads. `stock`: what it loads where
// they have none.
[[nodiscard]] Told with_told(Programs programs, std::span<const sock_filter> stock);

}  // namespace mayfly::policy
