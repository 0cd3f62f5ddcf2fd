// Durations, sizes and modes as people write them. Errors quote the text and show a right example.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace mayfly::spec {

// "300ms", "0.3s", "90", "5m", "1h", "2d"; a bare number is seconds. Units: ns us ms s m h d.
// Refused: signs, an empty text, an unknown unit, more than about 292 years.
[[nodiscard]] Result<std::chrono::nanoseconds> parse_duration(std::string_view text);

// "65536", "64K", "1.5G"; units K M G T are powers of 1024, also written KiB, MiB … (case does not
// matter). Refused: signs, an unknown unit, a fraction of a byte, more than 2^63-1.
[[nodiscard]] Result<std::uint64_t> parse_size(std::string_view text);

// A whole number, with no sign and no unit, at most `most`. That it is at least `least` is only
// said in hints: why a smaller one is none, validate() says.
[[nodiscard]] Result<std::uint64_t> parse_count(std::string_view text, std::uint64_t most,
                                                std::uint64_t least = 0);

// Octal permission bits, "022", "0644"; at most 07777.
[[nodiscard]] Result<unsigned> parse_mode(std::string_view text);

// The way back: the shortest text without a fraction that is read as the same value.
[[nodiscard]] std::string format_duration(std::chrono::nanoseconds duration);
[[nodiscard]] std::string format_size(std::uint64_t bytes);
[[nodiscard]] std::string format_mode(unsigned mode);

}  // namespace mayfly::spec
