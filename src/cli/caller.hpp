// What a command inherits from its caller.
#pragma once

#include <string>
#include <vector>

namespace mayfly::cli {

// "NAME=VALUE", in the caller's order.
[[nodiscard]] std::vector<std::string> caller_environment();

}  // namespace mayfly::cli
