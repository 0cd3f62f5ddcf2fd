// Numbers of documents and control lines, however they are written.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace mayfly::spec {

// A number as JSON writes it, in decimals: "1.5e3" is "1500", "64.0" "64", "5e-1" "0.5"; it has a
// point only where it is not whole. nullopt: its exponent is beyond any value that is wanted here.
[[nodiscard]] std::optional<std::string> plain_number(std::string_view written);

inline constexpr const char* kOutOfRange = "this number is out of range";

}  // namespace mayfly::spec
