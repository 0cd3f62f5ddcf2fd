#include "base/json_writer.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>

using mayfly::JsonWriter;

TEST_CASE("JsonWriter puts commas where JSON wants them") {
  JsonWriter json;
  json.begin_object().member("a", 1).member("b", "x").key("c").begin_array();
  json.value(true).null().begin_object().end_object().begin_array().end_array().end_array();
  json.member("d", std::int64_t{-5}).end_object();
  CHECK(json.text() == R"({"a":1,"b":"x","c":[true,null,{},[]],"d":-5})");
}

TEST_CASE("JsonWriter: text that ends in a bracket does not confuse the commas") {
  JsonWriter json;
  json.begin_array().value("[").value("{").value(":").value("").end_array();
  CHECK(json.text() == R"(["[","{",":",""])");
}

TEST_CASE("JsonWriter: every byte string becomes one valid line that reads back") {
  std::string hostile;
  for (int byte = 0; byte < 256; ++byte)
    hostile += static_cast<char>(byte);
  JsonWriter json;
  json.begin_object().member(hostile, hostile).end_object();
  CHECK(json.text().find('\n') == std::string::npos);
  const auto read = nlohmann::json::parse(json.text());
  REQUIRE(read.size() == 1);
  const std::string text = read.begin().value();
  CHECK(text.substr(0, 128) == hostile.substr(0, 128));
  CHECK(text.substr(128, 3) == "\xEF\xBF\xBD");
  CHECK(text.size() == 128 + 128 * 3);
}

TEST_CASE("JsonWriter: the largest numbers survive") {
  JsonWriter json;
  json.begin_array();
  json.value(std::numeric_limits<std::uint64_t>::max());
  json.value(std::numeric_limits<std::int64_t>::min()).end_array();
  CHECK(json.text() == "[18446744073709551615,-9223372036854775808]");
}
