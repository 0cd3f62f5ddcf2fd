#include "base/text.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <utility>

namespace mayfly {
namespace {

// The character of a well-formed sequence.
char32_t decoded(std::string_view sequence) {
  const auto lead = static_cast<unsigned char>(sequence[0]);
  char32_t character = sequence.size() == 1 ? lead : lead & (0xFFu >> (sequence.size() + 1));
  for (const char c : sequence.substr(1))
    character = character << 6 | (static_cast<unsigned char>(c) & 0x3Fu);
  return character;
}

// What a terminal may obey: the controls of ASCII, U+0080 to U+009F, among which is another
// beginning of escape sequences, and those that turn the direction of what follows, so that it
// reads as something else.
bool is_control(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x61C || c == 0x200E || c == 0x200F ||
         (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

constexpr std::string_view kHex = "0123456789abcdef";

}  // namespace

std::size_t utf8_sequence(std::string_view bytes) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned char lead = at(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || bytes.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((at(i) & 0xC0) != 0x80) return 0;
  }
  const bool overlong = (lead == 0xE0 && at(1) < 0xA0) || (lead == 0xF0 && at(1) < 0x90);
  const bool surrogate = lead == 0xED && at(1) >= 0xA0;
  const bool beyond = lead == 0xF4 && at(1) >= 0x90;
  return overlong || surrogate || beyond ? 0 : length;
}

std::string printable(std::string_view text, std::size_t most) {
  std::string result;
  std::size_t at = 0;
  while (at < text.size() && at < most) {
    const std::string_view sequence = text.substr(at, utf8_sequence(text.substr(at)));
    const std::size_t length = std::max<std::size_t>(sequence.size(), 1);
    if (!sequence.empty() && !is_control(decoded(sequence))) {
      result += sequence;
    } else {
      for (const char c : text.substr(at, length)) {
        const auto byte = static_cast<unsigned char>(c);
        ((result += "\\x") += kHex[byte >> 4]) += kHex[byte & 15];
      }
    }
    at += length;
  }
  return at < text.size() ? result + "…" : result;
}

std::string with_controls_escaped(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = std::max<std::size_t>(utf8_sequence(text), 1);
    const char32_t c = length > 1 ? decoded(text.substr(0, length)) : 0;
    if (length > 1 && is_control(c)) {
      result += "\\u";
      for (const unsigned shift : {12u, 8u, 4u, 0u})
        result += kHex[c >> shift & 15];
    } else {
      result += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return result;
}

std::string shown(std::string_view name) {
  constexpr std::size_t kMost = 200;
  const bool quote = name.empty() || name.substr(0, kMost).find_first_of(" '\"") != name.npos;
  const std::string text = printable(name, kMost);
  return quote ? "'" + text + "'" : text;
}

std::string shell_word(std::string_view text) {
  const std::string plain = printable(text);
  const bool is_plain =
      !text.empty() && plain.find_first_of(" '\"\\$`!&|;<>()*?[]{}~#") == plain.npos;
  if (is_plain) return plain;
  std::string word = "'";
  for (const char c : plain)
    c == '\'' ? word += R"('\'')" : word += c;
  return word + "'";
}

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t length = utf8_sequence(bytes);
    if (length == 0) return false;
    bytes.remove_prefix(length);
  }
  return true;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  for (;;) {
    const std::size_t at = text.find(separator);
    pieces.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return pieces;
    text.remove_prefix(at + 1);
  }
}

std::string normal_path(std::string_view absolute) {
  std::string path;
  for (std::string_view piece : split(absolute, '/')) {
    if (piece.empty() || piece == ".") continue;
    if (piece == "..") {
      path.resize(path.empty() ? 0 : path.rfind('/'));
      continue;
    }
    path += '/';
    path += piece;
  }
  return path.empty() ? "/" : path;
}

std::string entry_path(std::string_view directory, std::string_view name) {
  std::string path(directory);
  if (path.empty() || path.back() != '/') path += '/';
  return path += name;
}

bool is_within(std::string_view path, std::string_view base) {
  if (base == "/") return true;
  return path.substr(0, base.size()) == base &&
         (path.size() == base.size() || path[base.size()] == '/');
}

std::string seen_from(std::string_view directory, std::string_view path) {
  if (directory.size() <= 1 || !is_within(path, directory)) return std::string(path);
  return path == directory ? "." : std::string(path.substr(directory.size() + 1));
}

std::optional<std::uint64_t> number_of(std::string_view text, std::string_view key) {
  for (const std::string_view line : split(text, '\n')) {
    if (!key.empty() && !(line.starts_with(key) && line.substr(key.size()).starts_with(' '))) {
      continue;
    }
    const std::string_view digits = key.empty() ? line : line.substr(key.size() + 1);
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc() || end == digits.data()) return std::nullopt;
    return number;
  }
  return std::nullopt;
}

std::string time_text(std::uint64_t nanoseconds) {
  const auto two = [](std::uint64_t n) { return (n < 10 ? "0" : "") + std::to_string(n); };
  const std::uint64_t tenths = nanoseconds / 100'000'000;
  const std::uint64_t seconds = tenths / 10;
  if (seconds < 60) return std::to_string(seconds) + "." + std::to_string(tenths % 10) + "s";
  if (seconds < 3600) return std::to_string(seconds / 60) + "m" + two(seconds % 60) + "s";
  return std::to_string(seconds / 3600) + "h" + two(seconds / 60 % 60) + "m";
}

std::string_view nearest(std::string_view typed, std::span<const std::string_view> names) {
  if (typed.empty()) return {};
  std::string_view best;
  // Two letters changed places are two edits; in a short word, two edits make any other word.
  const std::size_t most = typed.size() < 4 ? 1 : std::max<std::size_t>(2, typed.size() / 3);
  std::size_t least = most + 1;
  std::vector<std::size_t> row;
  for (std::string_view name : names) {
    if (typed.size() > 1 && name.substr(0, typed.size()) == typed) return name;
    // Levenshtein's distance, one row of the matrix at a time.
    // Each byte that is missing is an edit; and what was typed may be as long as a document.
    const auto [shorter, longer] = std::minmax({name.size(), typed.size()});
    if (longer - shorter > most) continue;
    row.resize(name.size() + 1);
    for (std::size_t j = 0; j < row.size(); ++j)
      row[j] = j;
    for (std::size_t i = 1; i <= typed.size(); ++i) {
      std::size_t diagonal = std::exchange(row[0], i);
      for (std::size_t j = 1; j < row.size(); ++j) {
        const std::size_t changed = diagonal + (typed[i - 1] == name[j - 1] ? 0 : 1);
        diagonal = std::exchange(row[j], std::min({changed, row[j] + 1, row[j - 1] + 1}));
      }
    }
    if (row.back() < least) {
      least = row.back();
      best = name;
    }
  }
  return best;
}

}  // namespace mayfly
