// A foreign seccomp profile as the rules that hold for this machine and this command.
#pragma once

#include <seccomp.h>

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "policy/profile.hpp"

namespace mayfly::policy {

struct ProfileRule {
  std::uint32_t action = 0;  // SCMP_ACT_…, with its errno
  std::vector<int> numbers;  // of this architecture
  std::vector<scmp_arg_cmp> conditions;
};

struct ProfileRules {
  std::uint32_t otherwise = 0;  // the default action
  std::vector<ProfileRule> rules;
};

[[nodiscard]] Result<ProfileRules> read_profile(const Profile& profile);

}  // namespace mayfly::policy
