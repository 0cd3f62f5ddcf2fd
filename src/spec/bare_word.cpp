#include "spec/bare_word.hpp"

#include <algorithm>

namespace mayfly::spec {
namespace {

constexpr std::string_view kDigits = "0123456789";

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_of_word(char c) {
  return is_digit(c) || is_letter(c) || std::string_view("+-._").find(c) != std::string_view::npos;
}

// DIGITS[.DIGITS] and what follows; any of it may be missing.
struct Parts {
  std::string_view whole, fraction, rest;
  bool has_point = false;
};

Parts parts_of(std::string_view body) {
  Parts parts;
  parts.whole = body.substr(0, body.find_first_not_of(kDigits));
  body.remove_prefix(parts.whole.size());
  parts.has_point = body.starts_with('.');
  if (parts.has_point) body.remove_prefix(1);
  if (parts.has_point) parts.fraction = body.substr(0, body.find_first_not_of(kDigits));
  parts.rest = body.substr(parts.fraction.size());
  return parts;
}

// Behind the digits: an exponent, or the beginning of one.
bool is_exponent(std::string_view rest) {
  return (rest[0] == 'e' || rest[0] == 'E') &&
         rest.find_first_not_of("0123456789+-", 1) == rest.npos;
}

// 0x10 and its like, which only TOML has.
bool is_prefix(std::string_view whole, char next) {
  return whole == "0" && std::string_view("xob").find(next) != std::string_view::npos;
}

}  // namespace

BareWord bare_word(std::string_view text, std::size_t offset) {
  std::size_t begin = std::min(offset, text.size());
  while (begin > 0 && is_of_word(text[begin - 1]))
    --begin;
  std::size_t end = begin;
  while (end < text.size() && is_of_word(text[end]))
    ++end;
  return {.at = begin, .text = text.substr(begin, end - begin)};
}

bool is_value(std::string_view text, const BareWord& word) {
  const std::size_t before = text.substr(0, word.at).find_last_not_of(" \t\r\n");
  return before != text.npos && std::string_view("=:[,").find(text[before]) != text.npos;
}

std::optional<WordProblem> word_problem(std::string_view word) {
  constexpr std::size_t kMostShownBytes = 40;
  if (word.empty() || word.size() > kMostShownBytes) return std::nullopt;
  const std::string_view body = word.substr(word[0] == '+' || word[0] == '-' ? 1 : 0);
  const WordProblem no_number{"this is no number", "write it like 64 or 0.5"};
  for (const std::string_view none : {"NaN", "nan", "Infinity", "inf"}) {
    if (body == none) return no_number;
  }
  const Parts parts = parts_of(body);
  const bool has_exponent = !parts.rest.empty() && is_exponent(parts.rest);
  const bool has_unit = !parts.rest.empty() && !has_exponent && is_letter(parts.rest[0]) &&
                        !is_prefix(parts.whole, parts.rest[0]);
  if (!parts.rest.empty() && !has_unit && !has_exponent)
    return parts.whole.empty() ? std::nullopt : std::optional(no_number);

  const std::string sign = word[0] == '-' ? "-" : "";
  const auto write = [&](const std::string& number) {
    const std::string whole = sign + number + std::string(parts.rest);
    return has_unit ? "write it in quotes: \"" + whole + "\"" : "write " + whole;
  };
  if (parts.whole.empty()) {
    if (parts.fraction.empty()) return std::nullopt;
    return WordProblem{"a digit is missing before the point",
                       write("0." + std::string(parts.fraction))};
  }
  const std::string number =
      std::string(parts.whole) + (parts.fraction.empty() ? "" : ".") + std::string(parts.fraction);
  if (parts.has_point && parts.fraction.empty())
    return WordProblem{"a digit is missing after the point", write(number)};
  if (has_unit) return WordProblem{"a number with a unit is a text", write(number)};
  if (parts.whole.size() > 1 && parts.whole[0] == '0') {
    return WordProblem{"a number has no leading zero", "leave it out; a mode is a text: \"022\""};
  }
  if (word[0] == '+') return WordProblem{"a number has no plus sign", write(number)};
  return std::nullopt;
}

}  // namespace mayfly::spec
