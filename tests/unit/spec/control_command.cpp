#include "spec/control_command.hpp"

#include <doctest/doctest.h>

#include <chrono>
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
        R"({"cmd":"signal","signal":15})"}) {
    CHECK(parse_control(line).value() == ControlCommand{.verb = ControlVerb::Signal, .signal = 15});
  }
  CHECK(parse_control(R"({"cmd":"extend","ttl":"10m"})").value() ==
        ControlCommand{.verb = ControlVerb::Extend, .ttl = 10min});
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
  for (const char* value : {"0", "65", "18446744073709551615", "\"NONE\"", "\"\""})
    refuses(std::string(R"({"cmd":"signal","signal":)") + value + "}", "there is no signal");
  for (const char* value : {"-1", "1.5", "18446744073709551616"})
    refuses(std::string(R"({"cmd":"signal","signal":)") + value + "}", "wrong kind");
  refuses(R"({"cmd":"extend"})", "needs a member \"ttl\"");
  refuses(R"({"cmd":"extend","ttl":"0"})", "not above 0");
  refuses(R"({"cmd":"extend","ttl":"soon"})", "is no duration");
  refuses(R"({"cmd":"extend","ttl":600})", "wrong kind");
  refuses(R"({"cmd":"cancel","ttl":"1m"})", "cancel takes no member \"ttl\"");
  refuses(R"({"cmd":"extend","ttl":"1m","signal":9})", "extend takes no member \"signal\"");
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
    const std::string why = why_not(line);
    CAPTURE(why);
    CHECK(is_utf8(why));
    CHECK(why.find("\\x7f\\xc2\\x9b") != why.npos);
  }
}
