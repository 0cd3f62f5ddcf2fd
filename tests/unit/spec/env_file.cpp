#include "spec/env_file.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace mayfly;
using namespace mayfly::spec;
using namespace std::string_view_literals;

TEST_CASE("parse_env_file takes values as they are, in their order") {
  const auto rules = parse_env_file("env",
                                    "# a comment\n"
                                    "\n"
                                    "  \t# another\n"
                                    "A=1\n"
                                    "EMPTY=\n"
                                    "_x9=a=b 'c' \\n \"\n"
                                    "BYTES=\xff\xfe\n"
                                    "HASH=x # y\n"
                                    "A=2");
  REQUIRE(rules);
  const std::vector<EnvRule> expected = {
      {.kind = EnvKind::Set, .name = "A", .value = "1"},
      {.kind = EnvKind::Set, .name = "EMPTY", .value = ""},
      {.kind = EnvKind::Set, .name = "_x9", .value = "a=b 'c' \\n \""},
      {.kind = EnvKind::Set, .name = "BYTES", .value = "\xff\xfe"},
      {.kind = EnvKind::Set, .name = "HASH", .value = "x # y"},
      {.kind = EnvKind::Set, .name = "A", .value = "2"},
  };
  CHECK(*rules == expected);
  CHECK(parse_env_file("env", "")->empty());
}

TEST_CASE("parse_env_file names the file and the line of what it refuses") {
  const struct {
    std::string_view text;
    const char* message;
    const char* hint;
  } cases[] = {
      {"A=1\nB\n", "/e:2: there is no '='",
       "each line is NAME=VALUE, or a comment that begins with #"},
      {"\n\n=1\n", "/e:3: '' is not a name",
       "a letter or '_', then letters, digits, '_', '.' and '-', with no blank around it"},
      {"1A=1", "/e:1: 1A is not a name",
       "a letter or '_', then letters, digits, '_', '.' and '-', with no blank around it"},
      {" A=1", "/e:1: ' A' is not a name",
       "a letter or '_', then letters, digits, '_', '.' and '-', with no blank around it"},
      {"export A=1", "/e:1: 'export A' is not a name",
       "a letter or '_', then letters, digits, '_', '.' and '-', with no blank around it"},
      {"A=1\r\n", "/e:1: the line ends in CR LF", "save the file with Unix line ends"},
      {"A=1\0\n"sv, "/e:1: there is a NUL byte in this line", "no variable can hold one"},
  };
  for (const auto& each : cases) {
    const auto& text = each.text;
    const auto& message = each.message;
    const auto& hint = each.hint;
    CAPTURE(std::string(text));
    const auto rules = parse_env_file("/e", text);
    REQUIRE_FALSE(rules);
    CHECK(rules.error().kind == ErrorKind::Usage);
    CHECK(rules.error().action == std::string("read the environment file: ") + message);
    CHECK(rules.error().hint == hint);
  }
}
