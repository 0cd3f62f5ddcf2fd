// Numbers as they are written, and as they are read.
#include "spec/number.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace mayfly::spec;

TEST_CASE("a number is read the same however it is written") {
  const struct {
    const char* written;
    const char* plain;
  } cases[] = {
      {"0", "0"},
      {"64", "64"},
      {"64.0", "64"},
      {"64.50", "64.5"},
      {"1e9", "1000000000"},
      {"1E+3", "1000"},
      {"1.5e3", "1500"},
      {"1.25e1", "12.5"},
      {"5e-1", "0.5"},
      {"5e-3", "0.005"},
      {"1200e-2", "12"},
      {"0.0", "0"},
      {"-0.0", "0"},
      {"-1.0", "-1"},
      {"-2.5e1", "-25"},
      {"0.05e2", "5"},
      {"0e40", "0"},
      {"1e-40", "0.0000000000000000000000000000000000000001"},
  };
  for (const auto& each : cases) {
    CAPTURE(each.written);
    CHECK(plain_number(each.written) == each.plain);
  }
  const std::string long_one = "1" + std::string(100'000, '0');
  CHECK(plain_number(long_one + ".0") == long_one);
}

TEST_CASE("an exponent that no value needs is refused and does not become digits") {
  for (const std::string written : {"1e41", "1e-41", "1e-999999999999", "0e99999"}) {
    CAPTURE(written);
    CHECK_FALSE(plain_number(written));
  }
}
