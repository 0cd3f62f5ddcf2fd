// `mayfly features`: what this kernel has, found out by trying. What depends on the version alone
// is held against the version, what depends on the host against what `run` does there.
#include <doctest/doctest.h>

#include "harness/host.hpp"
#include "harness/limits.hpp"
#include "harness/sandbox.hpp"
#include "harness/suite.hpp"

using namespace harness;

namespace {

nlohmann::json all_features() {
  const Finished told = Command({mayfly_path(), "features", "--json"}).run();
  REQUIRE_MESSAGE(told.code == 0, told.err);
  return nlohmann::json::parse(told.out);
}

nlohmann::json feature(const nlohmann::json& all, const std::string& name) {
  for (const nlohmann::json& each : all.at("host")) {
    if (each.at("name") == name) return each;
  }
  FAIL("there is no feature " << name);
  return {};
}

// The least that a kernel of its version has, where Landlock is on at all.
int least_landlock() {
  struct Step {
    int abi, major, minor;
  };
  for (const Step step : {Step{7, 6, 15}, {6, 6, 12}, {5, 6, 10}, {4, 6, 7}, {3, 6, 2}, {2, 5, 19}})
    if (!kernel_is_older_than(step.major, step.minor)) return step.abi;
  return 1;
}

}  // namespace

TEST_CASE("features: what every sandbox needs works where sandboxes run") {
  REQUIRE(run({}, {"true"}).code == 0);
  const nlohmann::json features = all_features();
  for (const nlohmann::json& each : features.at("host")) {
    if (each.at("needed") != "always") continue;
    CHECK_MESSAGE(each.at("verdict") == "works", each.dump());
  }
}

TEST_CASE("features: what a kernel's version decides is told as it is there") {
  const nlohmann::json features = all_features();
  const std::string tmpfs = feature(features, "tmpfs").at("detail");
  CHECK_MESSAGE((tmpfs == "holds user xattrs") == !kernel_is_older_than(6, 6), tmpfs);
  const nlohmann::json landlock = feature(features, "landlock");
  if (landlock.at("verdict") == "works") {
    const std::string detail = landlock.at("detail");
    CAPTURE(detail);
    REQUIRE(detail.starts_with("ABI "));
    CHECK(std::stoi(detail.substr(4)) >= least_landlock());
  }
  CHECK(feature(features, "cgroup_kill").at("verdict") != "fails");
}

TEST_CASE("features: controllers and memory.peak are told as run finds them") {
  const nlohmann::json features = all_features();
  const std::string controllers = feature(features, "cgroup_controllers").at("verdict");
  const Ended ended = run({"--memory", "64M", "--limits", "best-effort"}, {"true"});
  CHECK((note_of(ended, "memory") == "enforced") == has_controller("memory"));
  if (!has_controller("memory")) CHECK(controllers == "fails");
  const nlohmann::json peak = feature(features, "memory_peak");
  CAPTURE(peak.dump());
  if (peak.at("verdict") == "works") CHECK_FALSE(kernel_is_older_than(5, 19));
  if (peak.at("verdict") == "fails") CHECK(kernel_is_older_than(5, 19));
}

TEST_CASE("features: a layer that cannot be in memory is on disk, and the result says so") {
  const Ended ended = run({}, {"true"});
  CHECK(ended.code == 0);
  const std::string layer = note_of(ended, "layer");
  CHECK_MESSAGE(layer.empty() == !kernel_is_older_than(6, 6), layer);
}
