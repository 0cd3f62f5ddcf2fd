// Each attack here fails, and succeeds as soon as the one defence against it is left out: so it
// fails for the reason that we claim.
#include <doctest/doctest.h>
#include <fcntl.h>

#include "harness/hooked.hpp"
#include "harness/suite.hpp"

using namespace harness;

namespace {

using Steps = std::vector<Step>;

std::string output(const std::string& script, const Steps& left_out) {
  Hooked attack({}, {"/bin/sh", "-c", script});
  const Ended ended = attack.without(left_out).end();
  CAPTURE(ended.err);
  CHECK(ended.reason() == "exited");
  return ended.out;
}

// A host file that the task got read-only, after an attempt to write to it.
std::string stdin_after_attack(const Steps& left_out) {
  const TempDir host;
  const std::string path = host.file("file", "before\n", 0666);
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  Hooked attack({}, {"/bin/sh", "-c", "echo overwritten > /proc/self/fd/0"});
  attack.without(left_out).command().fd(0, file.get());
  CHECK(attack.end().reason() == "exited");
  return read_file(path);
}

}  // namespace

TEST_CASE("Landlock alone keeps a read-only file on stdin from being overwritten") {
  CHECK(stdin_after_attack({}) == "before\n");
  CHECK(stdin_after_attack({Step::Landlock}) == "overwritten\n");
}

TEST_CASE("the masks alone keep /proc/keys and /proc/key-users from being read") {
  const char* attack = "cat /proc/keys /proc/key-users > /dev/null 2>&1 && echo read";
  CHECK(output(attack, {}).empty());
  CHECK(output(attack, {Step::Seal}) == "read\n");
}

TEST_CASE(
    "the filter and the ban each keep user namespaces away, and without both there are some") {
  const char* attack = "/usr/bin/unshare -U /bin/sh -c 'echo inside' 2>/dev/null; :";
  const Steps no_ban = {Step::UserNamespaceBan, Step::UserNamespaceProof};
  CHECK(output(attack, {}).empty());
  CHECK(output(attack, no_ban).empty());
  CHECK(output(attack, {Step::InitFilter}).empty());
  CHECK(output(attack, {Step::InitFilter, no_ban[0], no_ban[1]}) == "inside\n");
}

TEST_CASE("the proof of the ban refuses a start whose ban did not hold") {
  Hooked start({}, {"/bin/true"});
  const Ended ended = start.without({Step::UserNamespaceBan}).end();
  CHECK(ended.code == 125);
  CHECK(contains(ended.err, "prove that user namespaces inside are forbidden: making one worked"));
}

TEST_CASE("the marker refuses a start that is not in its new root") {
  Hooked start({}, {"/bin/true"});
  const Ended ended = start.without({Step::PivotRoot}).end();
  CHECK(ended.code == 125);
  CHECK(contains(ended.err, "prove that the new root was entered"));
}

TEST_CASE("the filter alone keeps the kernel's keyrings away") {
  const char* attack = "/targets/probe call keyctl 0 -3 0";  // KEYCTL_GET_KEYRING_ID, session
  CHECK_FALSE(contains(output(attack, {}), "keyctl ok"));
  CHECK(contains(output(attack, {Step::InitFilter}), "keyctl ok"));
}

TEST_CASE("the bounding set is emptied by that step alone") {
  const char* look = "grep CapBnd /proc/self/status";
  CHECK(output(look, {}) == "CapBnd:\t0000000000000000\n");
  CHECK(output(look, {Step::Capabilities}) != "CapBnd:\t0000000000000000\n");
}

TEST_CASE("core dumps and processes are limited by that step alone") {
  const char* look = "ulimit -Hc; ulimit -Hu 2>/dev/null || ulimit -Hp";
  const std::string limited = output(look, {});
  CHECK(contains(limited, "512"));
  CHECK(output(look, {Step::Rlimit}) != limited);
}
