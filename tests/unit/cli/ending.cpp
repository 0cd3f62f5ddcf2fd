// What `mayfly run` tells people at the end.
#include "cli/ending.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <csignal>

using namespace mayfly;
using namespace mayfly::cli;
using supervise::Outcome;
using supervise::Reason;

namespace {

std::string text_of(const Outcome& outcome) {
  return ending_text(outcome);
}

}  // namespace

TEST_CASE("a command that ends by itself speaks for itself") {
  Outcome outcome;
  outcome.reason = Reason::Exited;
  outcome.code = 7;
  CHECK(text_of(outcome).empty());
  outcome.reason = Reason::Signaled;
  outcome.signal = SIGKILL;
  outcome.code = 137;
  CHECK(text_of(outcome).empty());
}

TEST_CASE("what we ended is one line: after how long, why, with which code") {
  const struct {
    Reason reason;
    int code;
    std::optional<int> signal;
    std::optional<std::uint64_t> wall_ns;
    const char* text;
  } cases[] = {
      {Reason::Ttl, 124, {}, 312'000'000, "mayfly: ended after 0.3s: ttl (124)\n"},
      {Reason::Ttl, 124, {}, {}, "mayfly: ended: ttl (124)\n"},
      {Reason::MemoryLimit,
       137,
       {},
       61'500'000'000,
       "mayfly: ended after 1m01s: memory_limit (137)\n"},
      {Reason::Cancelled, 143, SIGTERM, 2'000'000'000,
       "mayfly: ended after 2.0s: cancelled by SIGTERM (143)\n"},
      {Reason::Cancelled,
       143,
       {},
       7'384'000'000'000,
       "mayfly: ended after 2h03m: cancelled (143)\n"},
      {Reason::Cancelled, 162, 34, {}, "mayfly: ended: cancelled by signal 34 (162)\n"},
  };
  for (const auto& each : cases) {
    Outcome outcome;
    outcome.reason = each.reason;
    outcome.code = each.code;
    outcome.signal = each.signal;
    outcome.usage.wall_ns.value = each.wall_ns;
    CHECK(text_of(outcome) == each.text);
  }
}

TEST_CASE("a failure is told with its own words, and what is left is told too") {
  Outcome outcome;
  outcome.error = Error{.kind = ErrorKind::Setup,
                        .sys_errno = ENOENT,
                        .action = "bind /a",
                        .call = "open(\"/a\")",
                        .hint = "make it"};
  CHECK(text_of(outcome) ==
        "mayfly: cannot bind /a: open(\"/a\"): No such file or directory (ENOENT)\n"
        "hint: make it\n");
  outcome.clean = false;
  outcome.unclean_why = "a process does not die";
  CHECK(text_of(outcome).ends_with(
      "hint: make it\nmayfly: not a clean end: a process does not die\n"));
}
