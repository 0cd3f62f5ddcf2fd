#include "spec/control_command.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <csignal>
#include <string>

#include "base/text.hpp"

using namespace mayfly;
using namespace mayfly::spec;
using namespace std::chrono_literals;

namespace {

std::string why_not(std::string_view line) {
  const Result<ControlCommand> command = parse_control(line);
  return command ? "it was read" : describe(command.error());
}

bool refuses(std::string_view line, std::string_view words) {
  const std::string why = why_not(line);
  CAPTURE(why);
  const bool named = why.find(words) != std::string::npos;
  CHECK(named);
  return named;
}

}  // namespace

TEST_CASE("control: each command, and the ways to write a signal") {
  CHECK(parse_control(R"({"cmd":"cancel"})").value() ==
        ControlCommand{.verb = ControlVerb::Cancel});
  CHECK(parse_control(R"( { "cmd" : "stdin-close" } )").value().verb == ControlVerb::StdinClose);
  for (const char* line :
       {R"({"cmd":"signal","signal":"TERM"})", R"({"signal":"SIGTERM","cmd":"signal"})",
        R"({"cmd":"signal","signal":15})", R"({"cmd":"signal","signal":15.0})",
        R"({"cmd":"signal","signal":"15"})"}) {
    CHECK(parse_control(line).value() == ControlCommand{.verb = ControlVerb::Signal, .signal = 15});
  }
  for (const char* line : {R"({"cmd":"extend","ttl":"10m"})", R"({"cmd":"extend","ttl":600})",
                           R"({"cmd":"extend","ttl":600.0})", R"({"cmd":"extend","ttl":6e2})"}) {
    CHECK(parse_control(line).value() == ControlCommand{.verb = ControlVerb::Extend, .ttl = 10min});
  }
  const auto signal = [](const std::string& name) {
    return parse_control(R"({"cmd":"signal","signal":")" + name + "\"}").value().signal;
  };
  CHECK(signal("RTMIN") == SIGRTMIN);
  CHECK(signal("SIGRTMIN+2") == SIGRTMIN + 2);
  CHECK(signal("RTMAX") == 64);
  for (const ControlVerb verb : {ControlVerb::Cancel, ControlVerb::StdinClose}) {
    const std::string line = R"({"cmd":")" + std::string(verb_name(verb)) + R"("})";
    CHECK(parse_control(line).value().verb == verb);
  }
}

TEST_CASE("control: what is no command is refused in words") {
  refuses("", "it is not JSON");
  refuses("rubbish", "it is not JSON");
  refuses(R"({"cmd":"cancel"} x)", "it is not JSON");
  refuses("[]", "it is no object");
  refuses("7", "it is no object");
  refuses(R"("cancel")", "it is no object");
  refuses("null", "it is no object");
  refuses("{}", "it has no member \"cmd\"");
  refuses(R"({"cmd":"cancle"})", "there is no command cancle");
  refuses(R"({"cmd":["cancel"]})", "the value of cmd is of the wrong kind");
  refuses(R"({"cmd":{"a":1}})", "not objects");
  refuses(R"({"cmd":true})", "wrong kind");
  refuses(R"({"cmd":"cancel","cmd":"cancel"})", "it has cmd twice");
  refuses(R"({"cmd":"signal","signal":"TERM","signal":9})", "it has signal twice");
  refuses(R"({"cmd":"cancel","why":"so"})", "an unknown member why");
  refuses("{\"cmd\":\"\xff\"}", "it is not UTF-8");
  refuses(std::string(kMostControlBytes + 1, ' '), "longer than 65536 bytes");
}

TEST_CASE("control: a command takes exactly its own members, with sensible values") {
  refuses(R"({"cmd":"signal"})", "needs a member \"signal\"");
  for (const char* value :
       {"0", "65", "1e3", "18446744073709551615", "18446744073709551616", "\"NONE\"", "\"\"",
        "\"0\"", "\"65\"", "\"usr1\"", "\"RTMIN+99\"", "\"RTMIN+\"", "\"RTMIN-1\""})
    refuses(std::string(R"({"cmd":"signal","signal":)") + value + "}", "there is no signal");
  for (const char* value : {"-1", "1.5", "1e99", "true"})
    refuses(std::string(R"({"cmd":"signal","signal":)") + value + "}", "wrong kind");
  refuses(R"({"cmd":"extend"})", "needs a member \"ttl\"");
  refuses(R"({"cmd":"extend","ttl":"0"})", "not above 0");
  refuses(R"({"cmd":"extend","ttl":"soon"})", "cannot read soon as a duration");
  refuses(R"({"cmd":"extend","ttl":"1x"})", "x is not a unit");
  refuses(R"({"cmd":"extend","ttl":"9999999999d"})", "it is more than 9223372036s");
  refuses(R"({"cmd":"extend","ttl":99999999999999999999})", "it is more than 9223372036s");
  refuses(R"({"cmd":"extend","ttl":0})", "not above 0");
  refuses(R"({"cmd":"cancel","ttl":"1m"})", "cancel takes no member \"ttl\"");
  refuses(R"({"cmd":"extend","ttl":"1m","signal":9})", "extend takes no member \"signal\"");
}

TEST_CASE("control: a value of the wrong kind leads to what is wanted") {
  const auto hint = [](std::string_view line) { return parse_control(line).error().hint; };
  for (const char* value : {"1.5", "-1", "null", "true", "[]", "0", "\"0\""}) {
    CAPTURE(value);
    CHECK(hint(std::string(R"({"cmd":"extend","ttl":)") + value + "}")
              .starts_with("a whole number of seconds above 0"));
  }
  for (const char* value : {"1.5", "-1", "null", "0", "\"usr1\""}) {
    CAPTURE(value);
    CHECK(hint(std::string(R"({"cmd":"signal","signal":)") + value + "}")
              .starts_with("a name in capitals"));
  }
  CHECK(hint(R"({"cmd":null})") == "mayfly-control(7) lists the commands");
}

TEST_CASE("control: what follows a NUL byte is not passed over") {
  using namespace std::string_literals;
  refuses("{\"cmd\":\"stdin-close\"}\0{\"cmd\":\"cancel\"}"s,
          "it is not JSON: column 22: a NUL byte has no place in JSON");
  refuses("{\"cmd\":\"stdin-close\"}\0"s, "column 22: a NUL byte");
  refuses("\0"s, "column 1: a NUL byte");
}

TEST_CASE("control: what is refused names its command, where one could be read") {
  const auto verb = [](std::string_view line) {
    const ControlLine read = read_control(line);
    CHECK_FALSE(read.command);
    return read.verb ? std::string(verb_name(*read.verb)) : "null";
  };
  CHECK(verb(R"({"cmd":"signal","signal":"usr1"})") == "signal");
  CHECK(verb(R"({"cmd":"extend","ttl":"1x"})") == "extend");
  CHECK(verb(R"({"cmd":"extend"})") == "extend");
  CHECK(verb(R"({"cmd":"cancel","why":"so"})") == "cancel");
  CHECK(verb(R"({"why":"so","cmd":"cancel"})") == "cancel");
  CHECK(verb(R"({"signal":true,"cmd":"signal"})") == "signal");
  CHECK(verb(R"({"cmd":"signal","signal":["TERM"]})") == "signal");
  CHECK(verb(R"({"cmd":["cancel"]})") == "null");
  CHECK(verb(R"({"cmd":"cancle"})") == "null");
  CHECK(verb("rubbish") == "null");
}

TEST_CASE("control: what is no JSON is told in our own words, with the column") {
  CHECK(why_not("rubbish") ==
        "cannot read a control line: it is not JSON: column 1: no value begins so");
  CHECK(why_not("") ==
        "cannot read a control line: it is not JSON: column 1: it ends in the middle");
  CHECK(why_not(R"({"cmd":"ä" "x"})") ==
        "cannot read a control line: it is not JSON: column 14: a ',' or '}' must be here");
  for (const char* line : {R"({"cmd"})", R"({"cmd":})", R"({cmd:"x"})", R"({"cmd":"x"} y)",
                           R"({"cmd":"\q"})", "{\"a\":\"", R"({"signal":1e999})",
                           R"({"signal":01})", R"({"signal":-})", R"({"cmd":"\ud800"})",
                           "{\"cmd\":\"\t\"}", R"({"cmd":"\u00"})", "nul", "{\"cmd\":\"a\x7f"}) {
    const std::string why = why_not(line);
    CAPTURE(line);
    CAPTURE(why);
    CHECK(why.find("it is not JSON: column ") != why.npos);
    for (const char* theirs :
         {"json.", "parse_error", "syntax", "last read", "literal", "this is no JSON"})
      CHECK(why.find(theirs) == why.npos);
  }
}

TEST_CASE("control: deep nesting and long texts are refused without effort") {
  const std::string deep(kMostControlBytes, '[');
  refuses(deep, "it is no object");
  std::string text = R"({"cmd":")" + std::string(60'000, 'a') + R"("})";
  CHECK(why_not(text).size() < 500);
  text = "{\"" + std::string(60'000, 'k');
  CHECK(why_not(text).size() < 500);
}

TEST_CASE("a complaint can be given a terminal, however it is cut") {
  for (std::size_t padding = 0; padding < 4; ++padding) {
    const std::string text = "{\"cmd\":\"" + std::string(padding, 'x');
    std::string line = text + "\x7f\xc2\x9b";
    for (int i = 0; i < 100; ++i)
      line += "€";
    line += "\"}";
    const std::string why = why_not(line);
    CAPTURE(why);
    CHECK(is_utf8(why));
    CHECK(why.find("\\x7f\\xc2\\x9b") != why.npos);
  }
}
