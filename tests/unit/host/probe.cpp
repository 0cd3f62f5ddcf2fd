#include "host/probe.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <set>

#include "host/attempt.hpp"

using namespace mayfly;
using namespace mayfly::host;

namespace {

HostFacts live() {
  auto facts = gather();
  REQUIRE_MESSAGE(facts, describe(facts.error()));
  return std::move(facts).value();
}

const ProbeRow& row_of(const std::vector<ProbeRow>& rows, std::string_view name) {
  const auto row =
      std::find_if(rows.begin(), rows.end(), [&](const ProbeRow& one) { return one.name == name; });
  REQUIRE(row != rows.end());
  return *row;
}

// True if a test that needs a user namespace can run; says why not, and fails where it must.
bool has_user_namespace(const HostFacts& facts) {
  const Finding made =
      attempt(World::UserNamespace, facts, [](const HostFacts&) { return found(); });
  if (made.works) return true;
  const std::string why = "no user namespace here: " + made.detail;
  if (std::getenv("MAYFLY_MUST_RUN") != nullptr) FAIL(why);
  MESSAGE("skipped: ", why);
  return false;
}

// Runs probe() in a user namespace where a setting of /proc/sys/user is 0, and gives back one row
// as text.
Finding probe_without(const char* setting, const char* row_name) {
  std::ofstream(std::string("/proc/sys/user/") + setting) << "0";
  const auto facts = gather();
  if (!facts) return failed(0, describe(facts.error()));
  for (const ProbeRow& row : probe(*facts)) {
    if (row.name != row_name) continue;
    return {.works = row.verdict == Verdict::Works,
            .error = row.error,
            .detail = std::string(verdict_name(row.verdict)) + "|" + row.detail + "|" + row.cause +
                      "|" + row.remedy};
  }
  return failed(0, "no such row");
}

}  // namespace

TEST_CASE("attempt brings back what the child found") {
  const HostFacts facts = live();
  const Finding good = attempt(World::Here, facts, [](const HostFacts& f) {
    return found("uid " + std::to_string(f.uid) + " spaces  kept");
  });
  CHECK(good.works);
  CHECK(good.detail == "uid " + std::to_string(::geteuid()) + " spaces  kept");

  const Finding bad =
      attempt(World::Here, facts, [](const HostFacts&) { return failed(-EROFS, "mount(\"/x\")"); });
  CHECK_FALSE(bad.works);
  CHECK(bad.error == EROFS);
  CHECK(bad.detail == "mount(\"/x\")");

  const Finding empty = attempt(World::Here, facts, [](const HostFacts&) { return found(); });
  CHECK(empty.works);
  CHECK(empty.detail == "");
}

TEST_CASE("attempt: a child that dies or leaves without a word is a failure with a reason") {
  const HostFacts facts = live();
  const Finding killed = attempt(World::Here, facts, [](const HostFacts&) {
    ::raise(SIGKILL);
    return found();
  });
  CHECK_FALSE(killed.works);
  CHECK(killed.error == 0);
  CHECK(killed.detail == "the child died of SIGKILL");
  const Finding silent =
      attempt(World::Here, facts, [](const HostFacts&) -> Finding { ::_exit(0); });
  CHECK_FALSE(silent.works);
  CHECK(silent.detail == "the child ended without an answer");
  CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);  // no child is left
  CHECK(errno == ECHILD);
}

TEST_CASE("attempt in a user namespace has the ids that a sandbox gets") {
  const HostFacts facts = live();
  if (!has_user_namespace(facts)) return;
  const Finding ids = attempt(World::UserNamespace, facts, [](const HostFacts&) {
    std::ifstream map("/proc/self/uid_map");
    std::string inside, outside, count;
    map >> inside >> outside >> count;
    return found(std::to_string(::geteuid()) + " " + inside + " " + count);
  });
  REQUIRE(ids.works);
  const std::string own = std::to_string(facts.uid);
  CHECK(ids.detail == (facts.owns_all_ids ? "0 0 65536" : own + " " + own + " 1"));
}

TEST_CASE("probe: one row for each mechanism, and every failure says what to do") {
  const HostFacts facts = live();
  const auto rows = probe(facts);
  std::set<std::string> names;
  for (const ProbeRow& row : rows) {
    CAPTURE(row.name);
    CHECK(names.insert(row.name).second);
    CHECK((row.verdict == Verdict::Fails) == !row.remedy.empty());
    CHECK((row.verdict == Verdict::Fails) == !row.cause.empty());
    if (row.verdict == Verdict::NotTried) CHECK_FALSE(row.detail.empty());
    if (row.verdict == Verdict::Works) CHECK(row.error == 0);
  }
  CHECK(names.size() >= 23);
  CHECK(row_of(rows, "user_namespace").need == Need::Always);
  CHECK(row_of(rows, "landlock").need == Need::Some);
  CHECK((row_of(rows, "landlock").verdict == Verdict::Works) == (facts.landlock_abi > 0));
  CHECK((row_of(rows, "cgroup_kill").verdict == Verdict::NotTried) == !facts.cgroup.writable);
  if (!facts.owns_all_ids) CHECK(row_of(rows, "id_mapped_mount").verdict == Verdict::NotTried);
}

TEST_CASE("probe names the setting that forbids a namespace, and tries nothing that needs it") {
  const HostFacts facts = live();
  if (!has_user_namespace(facts)) return;
  const Finding user = attempt(World::UserNamespace, facts, [](const HostFacts&) {
    return probe_without("max_user_namespaces", "user_namespace");
  });
  CHECK_FALSE(user.works);
  CHECK(user.error == ENOSPC);
  CHECK(user.detail ==
        "fails|unshare(CLONE_NEWUSER)|user.max_user_namespaces is 0|sysctl -w "
        "user.max_user_namespaces=10000");
  const Finding overlay = attempt(World::UserNamespace, facts, [](const HostFacts&) {
    return probe_without("max_user_namespaces", "overlay");
  });
  CHECK(overlay.detail == "not_tried|needs mount_namespace||");
  const Finding net = attempt(World::UserNamespace, facts, [](const HostFacts&) {
    return probe_without("max_net_namespaces", "net_namespace");
  });
  CAPTURE(net.detail);
  CHECK(net.error == ENOSPC);
  CHECK(net.detail.find("user.max_net_namespaces is 0") != std::string::npos);
}
