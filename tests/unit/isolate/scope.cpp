// The helper that asks systemd for a scope: nothing but its success is taken for one.
#include "isolate/scope.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "../supervise/support.hpp"

using namespace mayfly;
using namespace mayfly::test;

namespace {

constexpr std::int64_t kPatience = 60'000'000'000;

// A helper that is this shell script; "entered", or the error.
std::string asked(const std::string& script, std::int64_t patience_ns = kPatience) {
  const TempDir dir;
  const std::string helper = dir / "mayfly-scope";
  write_text(helper, "#!/bin/sh\n" + script + "\n");
  REQUIRE(::chmod(helper.c_str(), 0755) == 0);
  const Result<void> entered = isolate::run_scope_helper(helper, "abc", patience_ns);
  if (entered) return "entered";
  CHECK(entered.error().kind == ErrorKind::HostUnsupported);
  CHECK(entered.error().hint.find("--limits=best-effort") != std::string::npos);
  return entered.error().action;
}

const std::string kRefused = "get a cgroup with controllers from systemd: ";

}  // namespace

TEST_CASE("scope helper: it is told which manager, which unit and whom to move") {
  const std::string manager = ::geteuid() == 0 ? "system" : "user";
  CHECK(asked("test \"$*\" = '" + manager + " mayfly-abc.scope " + std::to_string(::getpid()) +
              "'") == "entered");
}

TEST_CASE("scope helper: however it fails, we are in no scope, and its words say why") {
  CHECK(asked("echo 'the system bus: no such file' >&2; exit 1") ==
        kRefused + "'the system bus: no such file'");
  CHECK(asked("exit 3") == kRefused + "the helper failed");
  CHECK(asked("kill -9 $$") == kRefused + "the helper was killed by signal 9");
  CHECK(asked("echo half a word >&2; kill -9 $$") == kRefused + "'half a word'");
  CHECK(asked("yes >&2; exit 1", 2'000'000'000).starts_with(kRefused));
}

TEST_CASE("scope helper: one that says nothing is not waited for without end") {
  CHECK(asked("exec sleep 300", 1'000'000'000) ==
        kRefused + "the helper did not answer within 1 s");
}
