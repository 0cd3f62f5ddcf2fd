#include "isolate/landlock.hpp"
#include "sys/raw_calls.hpp"

namespace mayfly::isolate::landlock {

namespace raw = sys::raw;

Fault enter(const Prepared& prepared) noexcept {
  if (prepared.rights == 0) return {};
  const sys::LandlockRulesetAttr attributes{.handled_access_fs = prepared.rights};
  const long created = raw::landlock_create_ruleset(attributes);
  if (created < 0) return fault_of(created);
  const int ruleset = static_cast<int>(created);
  const long root = raw::openat(AT_FDCWD, "/", O_PATH | O_CLOEXEC);
  if (root < 0) return fault_of(root);
  const int root_fd = static_cast<int>(root);
  const sys::LandlockPathBeneath rule{.allowed_access = prepared.rights, .parent_fd = root_fd};
  if (Fault fault = fault_of(raw::landlock_add_rule(ruleset, rule))) return fault;
  if (Fault fault = fault_of(raw::landlock_restrict_self(ruleset))) return fault;
  raw::close(root_fd);
  raw::close(ruleset);
  return {};
}

}  // namespace mayfly::isolate::landlock
