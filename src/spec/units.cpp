#include "spec/units.hpp"

#include <cstddef>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.hpp"

namespace mayfly::spec {
namespace {

__extension__ using Wide = unsigned __int128;

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};

// What a kind of quantity accepts, and the words for it.
struct Scale {
  std::string_view noun;
  std::string_view smallest;  // what cannot be divided further
  std::string_view most;
  std::string_view hint;
  std::span<const Unit> units;  // lower case where ignore_case is set
  bool ignore_case;
};

constexpr Unit kTimes[] = {
    {"", 1'000'000'000},
    {"ns", 1},
    {"us", 1'000},
    {"ms", 1'000'000},
    {"s", 1'000'000'000},
    {"m", 60'000'000'000},
    {"h", 3'600'000'000'000},
    {"d", 86'400'000'000'000},
};
constexpr Scale kDuration = {
    .noun = "a duration",
    .smallest = "a nanosecond",
    .most = "9223372036s, about 292 years",
    .hint =
        "a number with ns, us, ms, s, m, h or d, like 300ms, 1.5h or 2d; "
        "without a unit it is seconds",
    .units = kTimes,
    .ignore_case = false,
};

constexpr Unit kBytes[] = {
    {"", 1},
    {"k", 1ull << 10},
    {"m", 1ull << 20},
    {"g", 1ull << 30},
    {"t", 1ull << 40},
    {"kib", 1ull << 10},
    {"mib", 1ull << 20},
    {"gib", 1ull << 30},
    {"tib", 1ull << 40},
};
constexpr Scale kSize = {
    .noun = "a size",
    .smallest = "a byte",
    .most = "9223372036854775807 bytes",
    .hint =
        "a number with K, M, G or T (powers of 1024), like 64K or 1.5G; "
        "without a unit it is bytes",
    .units = kBytes,
    .ignore_case = true,
};

constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();

Error unreadable(std::string_view text, std::string_view noun, std::string why,
                 std::string_view hint) {
  return usage_error("read " + shown(text) + " as " + std::string(noun) + ": " + std::move(why),
                     std::string(hint));
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// The run of digits at the start of `text`, which is shortened by it.
std::string_view take_digits(std::string_view& text) {
  std::size_t length = 0;
  while (length < text.size() && is_digit(text[length]))
    ++length;
  const std::string_view digits = text.substr(0, length);
  text.remove_prefix(length);
  return digits;
}

// The number that digits spell, or nothing above `most`.
std::optional<std::uint64_t> number(std::string_view digits, std::uint64_t base,
                                    std::uint64_t most) {
  std::uint64_t value = 0;
  for (char c : digits) {
    const auto digit = static_cast<std::uint64_t>(c - '0');
    if (digit > most || value > (most - digit) / base) return std::nullopt;
    value = value * base + digit;
  }
  return value;
}

std::string why_no_digit(std::string_view text) {
  if (text.empty()) return "it is empty";
  if (text[0] == '-' || text[0] == '+') return "a sign is not allowed";
  return "it does not start with a digit";
}

const Unit* find_unit(const Scale& scale, std::string_view name) {
  const auto lower = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  for (const Unit& unit : scale.units) {
    bool same = unit.name.size() == name.size();
    for (std::size_t i = 0; same && i < name.size(); ++i) {
      same = unit.name[i] == (scale.ignore_case ? lower(name[i]) : name[i]);
    }
    if (same) return &unit;
  }
  return nullptr;
}

// DIGITS[.DIGITS][UNIT] in the smallest unit, exactly: what would have to be rounded is refused.
Result<std::uint64_t> parse_scaled(const Scale& scale, std::string_view text) {
  const auto refuse = [&](std::string why) {
    return unreadable(text, scale.noun, std::move(why), scale.hint);
  };
  std::string_view rest = text;
  const std::string_view whole = take_digits(rest);
  if (whole.empty() && text.size() > 1 && text[0] == '.' && is_digit(text[1])) {
    return refuse("a digit is missing before the point: write 0" + std::string(shown(text)));
  }
  if (whole.empty()) return refuse(why_no_digit(text));
  std::string_view fraction;
  if (rest.substr(0, 1) == ".") {
    rest.remove_prefix(1);
    fraction = take_digits(rest);
    if (fraction.empty()) return refuse("a digit is missing after the point");
  }
  const Unit* unit = find_unit(scale, rest);
  if (unit == nullptr) return refuse(shown(rest) + " is not a unit");

  const auto too_large = [&] { return refuse("it is more than " + std::string(scale.most)); };
  const auto too_fine = [&] {
    return refuse("it is a fraction of " + std::string(scale.smallest));
  };
  const std::optional<std::uint64_t> units = number(whole, 10, kMost);
  if (!units) return too_large();
  while (!fraction.empty() && fraction.back() == '0')
    fraction.remove_suffix(1);
  constexpr std::size_t kMostFractionDigits = 18;  // 10^18 * 86.4e12 still fits into 128 bits
  if (fraction.size() > kMostFractionDigits) return too_fine();
  Wide tenths = 1;
  for (std::size_t i = 0; i < fraction.size(); ++i)
    tenths *= 10;
  const Wide part = Wide{*number(fraction, 10, kMost)} * unit->factor;
  if (part % tenths != 0) return too_fine();
  const Wide total = Wide{*units} * unit->factor + part / tenths;
  if (total > kMost) return too_large();
  return static_cast<std::uint64_t>(total);
}

// In the largest of the units that leaves no fraction; `units` has the least first.
std::string in_largest(std::uint64_t value, std::initializer_list<Unit> units) {
  const Unit* best = units.begin();
  for (const Unit& unit : units) {
    if (value != 0 && value % unit.factor == 0) best = &unit;
  }
  return std::to_string(value / best->factor) + std::string(best->name);
}

}  // namespace

Result<std::chrono::nanoseconds> parse_duration(std::string_view text) {
  return std::chrono::nanoseconds(
      static_cast<std::chrono::nanoseconds::rep>(TRY(parse_scaled(kDuration, text))));
}

Result<std::uint64_t> parse_size(std::string_view text) {
  return parse_scaled(kSize, text);
}

Result<std::uint64_t> parse_count(std::string_view text, std::uint64_t most, std::uint64_t least) {
  const std::string hint =
      "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
  const auto refuse = [&](std::string why) {
    return unreadable(text, "a number", std::move(why), hint);
  };
  std::string_view rest = text;
  const std::string_view digits = take_digits(rest);
  if (digits.empty()) return refuse(why_no_digit(text));
  if (!rest.empty()) return refuse(shown(rest) + " does not belong to a whole number");
  const std::optional<std::uint64_t> value = number(digits, 10, most);
  if (!value) return refuse("it is more than " + std::to_string(most));
  return *value;
}

Result<unsigned> parse_mode(std::string_view text) {
  constexpr std::string_view kHint = "octal permission bits, like 644 or 0700";
  constexpr std::uint64_t kMostMode = 07777;
  const auto refuse = [&](std::string why) {
    return unreadable(text, "a mode", std::move(why), kHint);
  };
  if (text.empty() || text[0] == '-' || text[0] == '+') return refuse(why_no_digit(text));
  const std::size_t bad = text.find_first_not_of("01234567");
  if (bad != std::string_view::npos) {
    return refuse(shown(text.substr(bad, 1)) + " is not an octal digit");
  }
  const std::optional<std::uint64_t> mode = number(text, 8, kMostMode);
  if (!mode) return refuse("it is more than 07777");
  return static_cast<unsigned>(*mode);
}

std::string format_duration(std::chrono::nanoseconds duration) {
  const auto value = static_cast<std::uint64_t>(duration.count());
  if (value == 0) return "0";
  return in_largest(value, {kTimes[1], kTimes[2], kTimes[3], kTimes[4], kTimes[5], kTimes[6]});
}

std::string format_size(std::uint64_t bytes) {
  return in_largest(
      bytes, {{"", 1}, {"K", 1ull << 10}, {"M", 1ull << 20}, {"G", 1ull << 30}, {"T", 1ull << 40}});
}

std::string format_mode(unsigned mode) {
  std::string text;
  for (; mode != 0; mode >>= 3)
    text.insert(text.begin(), static_cast<char>('0' + (mode & 7)));
  return "0" + text;
}

}  // namespace mayfly::spec
