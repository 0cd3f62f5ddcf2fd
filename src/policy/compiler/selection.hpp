// Selection: which groups a policy allows and denies, and the filter that follows.
#pragma once

#include <map>
#include <string>

#include "base/result.hpp"
#include "policy/compiler/catalogue.hpp"
#include "policy/filter.hpp"

namespace mayfly::policy {

enum class Stand { Allow, Deny };

// Reads [syscalls] of a policy file, and of the one that it extends. Every group of the catalogue
// is in it. Other tables of a policy are none of the filter's business and are not looked at.
[[nodiscard]] Result<std::map<std::string, Stand>> read_selection(const std::string& path,
                                                                  const Catalogue& catalogue);

[[nodiscard]] Filter filter_of(const Catalogue& catalogue,
                               const std::map<std::string, Stand>& selection);

}  // namespace mayfly::policy
