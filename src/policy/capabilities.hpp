// Capabilities by the names that foreign profiles use.
#pragma once

#include <cstdint>
#include <string_view>

namespace mayfly::policy {

// True if the mask has the capability of that name ("CAP_SYS_ADMIN"). One that nobody knows is not
// there.
[[nodiscard]] bool has_capability(std::uint64_t mask, std::string_view name);

}  // namespace mayfly::policy
