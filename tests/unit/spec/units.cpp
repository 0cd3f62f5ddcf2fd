#include "spec/units.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace mayfly;
using namespace mayfly::spec;

namespace {

struct Good {
  const char* text;
  std::uint64_t value;
};
struct Bad {
  const char* text;
  const char* message;
};

}  // namespace

TEST_CASE("parse_duration reads a number with a unit, exactly") {
  const Good cases[] = {
      {"0", 0},
      {"00", 0},
      {"0.0", 0},
      {"90", 90'000'000'000},
      {"7ns", 7},
      {"7us", 7'000},
      {"300ms", 300'000'000},
      {"0.3s", 300'000'000},
      {"5m", 300'000'000'000},
      {"1h", 3'600'000'000'000},
      {"1.5h", 5'400'000'000'000},
      {"2d", 172'800'000'000'000},
      {"0.000000001", 1},
      {"0.5000000000000000000000000", 500'000'000},
      {"1.0ns", 1},
      {"9223372036s", 9'223'372'036'000'000'000},
      {"9223372036.854775807", 9'223'372'036'854'775'807},
      {"9223372036854775807ns", 9'223'372'036'854'775'807},
      {"106751d", 9'223'286'400'000'000'000},
  };
  for (const auto& each : cases) {
    const auto& text = each.text;
    const auto& value = each.value;
    CAPTURE(text);
    const auto duration = parse_duration(text);
    REQUIRE(duration);
    CHECK(static_cast<std::uint64_t>(duration->count()) == value);
  }
}

TEST_CASE("parse_duration refuses everything else and says why") {
  const Bad cases[] = {
      {"", "'' as a duration: it is empty"},
      {"-1", "-1 as a duration: a sign is not allowed"},
      {"+1s", "+1s as a duration: a sign is not allowed"},
      {" 5s", "' 5s' as a duration: it does not start with a digit"},
      {"5s ", "'5s ' as a duration: 's ' is not a unit"},
      {"5 s", "'5 s' as a duration: ' s' is not a unit"},
      {"10x", "10x as a duration: x is not a unit"},
      {"1e9", "1e9 as a duration: e9 is not a unit"},
      {"0x10", "0x10 as a duration: x10 is not a unit"},
      {"5S", "5S as a duration: S is not a unit"},
      {"5M", "5M as a duration: M is not a unit"},
      {"1h30m", "1h30m as a duration: h30m is not a unit"},
      {"s", "s as a duration: it does not start with a digit"},
      {".5s", ".5s as a duration: a digit is missing before the point: write 0.5s"},
      {"5.s", "5.s as a duration: a digit is missing after the point"},
      {"1..5s", "1..5s as a duration: a digit is missing after the point"},
      {"1.5.2s", "1.5.2s as a duration: .2s is not a unit"},
      {"1,5s", "1,5s as a duration: ,5s is not a unit"},
      {"inf", "inf as a duration: it does not start with a digit"},
      {"5\n", "5\\x0a as a duration: \\x0a is not a unit"},
      {"5\xff", "5\\xff as a duration: \\xff is not a unit"},
      {"0.5ns", "0.5ns as a duration: it is a fraction of a nanosecond"},
      {"1.0000000001", "1.0000000001 as a duration: it is a fraction of a nanosecond"},
      {"0.1234567890123456789d", nullptr},  // 19 digits: more than can be multiplied exactly
      {"9223372036.854775808", nullptr},
      {"106752d", nullptr},
      {"300000d", nullptr},
      {"18446744073709551616", nullptr},
      {"99999999999999999999999999999999", nullptr},
  };
  for (const auto& each : cases) {
    const auto& text = each.text;
    const auto& message = each.message;
    CAPTURE(text);
    const auto duration = parse_duration(text);
    REQUIRE_FALSE(duration);
    CHECK(duration.error().kind == ErrorKind::Usage);
    if (message != nullptr) CHECK(duration.error().action == std::string("read ") + message);
    CHECK(duration.error().hint ==
          "a number with ns, us, ms, s, m, h or d, like 300ms, 1.5h or 2d; "
          "without a unit it is seconds");
  }
  CHECK(parse_duration("106752d").error().action ==
        "read 106752d as a duration: it is more than 9223372036s, about 292 years");
  CHECK(parse_duration("0.1234567890123456789d").error().action ==
        "read 0.1234567890123456789d as a duration: it is a fraction of a nanosecond");
}

TEST_CASE("parse_size reads bytes and powers of 1024, exactly") {
  const Good cases[] = {
      {"0", 0},
      {"65536", 65536},
      {"64K", 65536},
      {"64k", 65536},
      {"64KiB", 65536},
      {"64kib", 65536},
      {"1M", 1u << 20},
      {"1.5G", 1'610'612'736},
      {"0.5K", 512},
      {"0.0009765625K", 1},
      {"2T", 2ull << 40},
      {"2TiB", 2ull << 40},
      {"1.000", 1},
      {"9223372036854775807", 9'223'372'036'854'775'807},
      {"8388607T", 8388607ull << 40},
  };
  for (const auto& each : cases) {
    const auto& text = each.text;
    const auto& value = each.value;
    CAPTURE(text);
    const auto size = parse_size(text);
    REQUIRE(size);
    CHECK(*size == value);
  }
}

TEST_CASE("parse_size refuses everything else and says why") {
  const Bad cases[] = {
      {"", "'' as a size: it is empty"},
      {"-1", "-1 as a size: a sign is not allowed"},
      {"10x", "10x as a size: x is not a unit"},
      {"1e9", "1e9 as a size: e9 is not a unit"},
      {"0x10", "0x10 as a size: x10 is not a unit"},
      {"64KB", "64KB as a size: KB is not a unit"},
      {"64 K", "'64 K' as a size: ' K' is not a unit"},
      {"K", "K as a size: it does not start with a digit"},
      {"1..5G", "1..5G as a size: a digit is missing after the point"},
      {"0.5", "0.5 as a size: it is a fraction of a byte"},
      {"0.3K", "0.3K as a size: it is a fraction of a byte"},
      {"9223372036854775808",
       "9223372036854775808 as a size: it is more than 9223372036854775807 bytes"},
      {"8388608T", "8388608T as a size: it is more than 9223372036854775807 bytes"},
      {"99999999999999999999T",
       "99999999999999999999T as a size: it is more than 9223372036854775807 bytes"},
  };
  for (const auto& each : cases) {
    const auto& text = each.text;
    const auto& message = each.message;
    CAPTURE(text);
    const auto size = parse_size(text);
    REQUIRE_FALSE(size);
    CHECK(size.error().action == std::string("read ") + message);
    CHECK(size.error().hint ==
          "a number with K, M, G or T (powers of 1024), like 64K or 1.5G; "
          "without a unit it is bytes");
  }
}

TEST_CASE("parse_count reads a whole number up to its most") {
  CHECK(*parse_count("0", 10) == 0);
  CHECK(*parse_count("10", 10) == 10);
  CHECK(*parse_count("007", 10) == 7);
  CHECK(*parse_count("18446744073709551615", UINT64_MAX) == UINT64_MAX);
  const Bad cases[] = {
      {"", "'' as a number: it is empty"},
      {"-1", "-1 as a number: a sign is not allowed"},
      {" 1", "' 1' as a number: it does not start with a digit"},
      {"1 ", "'1 ' as a number: ' ' does not belong to a whole number"},
      {"1.5", "1.5 as a number: .5 does not belong to a whole number"},
      {"1K", "1K as a number: K does not belong to a whole number"},
      {"0x1", "0x1 as a number: x1 does not belong to a whole number"},
      {"101", "101 as a number: it is more than 100"},
      {"99999999999999999999", "99999999999999999999 as a number: it is more than 100"},
  };
  for (const auto& each : cases) {
    const auto& text = each.text;
    const auto& message = each.message;
    CAPTURE(text);
    const auto count = parse_count(text, 100);
    REQUIRE_FALSE(count);
    CHECK(count.error().action == std::string("read ") + message);
    CHECK(count.error().hint == "a whole number from 0 to 100");
  }
  CHECK_FALSE(parse_count("1", 0));
  CHECK_FALSE(parse_count("18446744073709551616", UINT64_MAX));
  CHECK(parse_count("9", 5).error().action == "read 9 as a number: it is more than 5");
}

TEST_CASE("parse_mode reads octal permission bits") {
  CHECK(*parse_mode("0") == 0);
  CHECK(*parse_mode("644") == 0644);
  CHECK(*parse_mode("022") == 022);
  CHECK(*parse_mode("0000755") == 0755);
  CHECK(*parse_mode("7777") == 07777);
  const Bad cases[] = {
      {"", "'' as a mode: it is empty"},
      {"-1", "-1 as a mode: a sign is not allowed"},
      {"888", "888 as a mode: 8 is not an octal digit"},
      {"u+x", "u+x as a mode: u is not an octal digit"},
      {"0o644", "0o644 as a mode: o is not an octal digit"},
      {"644 ", "'644 ' as a mode: ' ' is not an octal digit"},
      {"10000", "10000 as a mode: it is more than 07777"},
      {"7777777777777777777777777", "7777777777777777777777777 as a mode: it is more than 07777"},
  };
  for (const auto& each : cases) {
    const auto& text = each.text;
    const auto& message = each.message;
    CAPTURE(text);
    const auto mode = parse_mode(text);
    REQUIRE_FALSE(mode);
    CHECK(mode.error().action == std::string("read ") + message);
    CHECK(mode.error().hint == "octal permission bits, like 644 or 0700");
  }
}
