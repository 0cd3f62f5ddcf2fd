// Checks: what several parts of a spec are held against, and the words for what does not stand it.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "spec/spec.hpp"

namespace mayfly::spec {

// Remedies that several messages share.
inline constexpr std::string_view kNoNul = "no path, name or value can hold one";

[[nodiscard]] Error refused(std::string_view what, std::string_view value, std::string_view why,
                            std::string hint = {});

[[nodiscard]] bool has_nul(std::string_view text);

// A path that the kernel could take and that means the same wherever it is looked at from.
[[nodiscard]] Result<void> check_path(std::string_view what, std::string_view path);

[[nodiscard]] Result<void> check_env(const EnvRule& rule);

}  // namespace mayfly::spec
