// Text helpers: showing hostile bytes to people, splitting, joining.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mayfly {

// A text as a terminal may be given it: control characters, newlines, what turns the direction of
// writing and invalid UTF-8 become \xNN. At most so many bytes of it are shown.
[[nodiscard]] std::string printable(std::string_view text, std::size_t most = std::string::npos);

// A document whose texts have escapes, JSON or TOML, with one in the place of each control
// character outside ASCII. It is read as the same.
[[nodiscard]] std::string with_controls_escaped(std::string_view text);

// A name as a message may show it: printable, and in single quotes if there is a blank or a quote
// in it. At most 200 bytes are shown.
[[nodiscard]] std::string shown(std::string_view name);

// A text as one word of a shell's command line, printable: in single quotes where it needs them.
[[nodiscard]] std::string shell_word(std::string_view text);

// The length of the well-formed UTF-8 sequence at the start of `bytes` (not empty), 0 if there is
// none.
[[nodiscard]] std::size_t utf8_sequence(std::string_view bytes);

// True if the bytes are well-formed UTF-8 (RFC 3629: no surrogates, nothing overlong).
[[nodiscard]] bool is_utf8(std::string_view bytes);

// The pieces between separators, empty ones included. "a::b" by ':' gives {"a", "", "b"}.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);

// An absolute path without "//", "/./" and a trailing slash, ".." resolved as text; "/" stays "/".
[[nodiscard]] std::string normal_path(std::string_view absolute);

// The path of an entry of a directory; both as they are.
[[nodiscard]] std::string entry_path(std::string_view directory, std::string_view name);

// A time as people read it: "12.3s", "4m05s", "1h02m".
[[nodiscard]] std::string time_text(std::uint64_t nanoseconds);

// True if `path` is `base` or lies below it. Both normal and absolute.
[[nodiscard]] bool is_within(std::string_view path, std::string_view base);

// `path` as it is named from `directory`, where it lies in that ("." if it is that); else as it is.
// To open: whoever stands in a directory has that one, whatever its path leads to meanwhile.
[[nodiscard]] std::string seen_from(std::string_view directory, std::string_view path);

// The number in the line "KEY NUMBER", as the kernel's keyed files have it; of the first line where
// the key is empty.
[[nodiscard]] std::optional<std::uint64_t> number_of(std::string_view text, std::string_view key);

// The name closest to what was typed: one that it abbreviates, or one few edits away. Empty: none.
[[nodiscard]] std::string_view nearest(std::string_view typed,
                                       std::span<const std::string_view> names);

}  // namespace mayfly
