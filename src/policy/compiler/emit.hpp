// The C++ source that holds the stock policies and the catalogue as constants.
#pragma once

#include <string>
#include <vector>

#include "policy/compiler/catalogue.hpp"
#include "policy/compiler/policies.hpp"

namespace mayfly::policy {

[[nodiscard]] std::string source_of(const Catalogue& catalogue,
                                    const std::vector<StockFile>& policies);

}  // namespace mayfly::policy
