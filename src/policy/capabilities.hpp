// Capabilities by their names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace mayfly::policy {

// True if the mask has the capability of that name ("CAP_SYS_ADMIN"). One that nobody knows is not
// there.
[[nodiscard]] bool has_capability(std::uint64_t mask, std::string_view name);

// "CAP_SYS_ADMIN"; of a number that has no name here "CAP_99".
[[nodiscard]] std::string capability_name(unsigned number);

}  // namespace mayfly::policy
