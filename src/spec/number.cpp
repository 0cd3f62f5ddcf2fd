#include "spec/number.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <system_error>

namespace mayfly::spec {
namespace {

// Behind the 'e'; nullopt: too large either way. What is wanted has at most 20 digits before the
// point and 18 behind it, and a short text must not become a long one.
std::optional<int> exponent_of(std::string_view text) {
  constexpr int kMostExponent = 40;
  if (text.starts_with('+')) text.remove_prefix(1);
  int exponent = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), exponent);
  const bool fits = exponent >= -kMostExponent && exponent <= kMostExponent;
  return fits && read.ec != std::errc::result_out_of_range ? std::optional(exponent) : std::nullopt;
}

}  // namespace

std::optional<std::string> plain_number(std::string_view written) {
  const bool negative = written.starts_with('-');
  const std::string_view number = written.substr(negative ? 1 : 0);
  const std::string_view mantissa = number.substr(0, number.find_first_of("eE"));
  const std::optional<int> exponent =
      exponent_of(number.substr(std::min(mantissa.size() + 1, number.size())));
  if (!exponent) return std::nullopt;

  std::string digits(mantissa);
  std::erase(digits, '.');
  const auto place = static_cast<int>(std::min(mantissa.find('.'), mantissa.size())) + *exponent;
  if (place < 1) digits.insert(0, static_cast<std::size_t>(1 - place), '0');
  const auto point = static_cast<std::size_t>(std::max(place, 1));
  if (digits.size() < point) digits.resize(point, '0');

  std::string fraction = digits.substr(point);
  fraction.resize(fraction.find_last_not_of('0') + 1);
  digits.resize(point);
  digits.erase(0, std::min(digits.find_first_not_of('0'), point - 1));
  if (!fraction.empty()) digits += "." + fraction;
  return negative && digits != "0" ? "-" + digits : digits;
}

}  // namespace mayfly::spec
