// What explain says of a plan that this host may not be able to carry out.
#include "report/explanation.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

using namespace mayfly;
using nlohmann::json;

namespace {

plan::CgroupKnob knob(const char* file, const std::string& value) {
  return {.controller = host::Controller::Memory, .file = file, .value = value, .expected = value};
}

}  // namespace

TEST_CASE("explanation: each limit that a cgroup holds, and where the cgroup is") {
  plan::Plan plan;
  plan.cgroup_parent = "/sys/fs/cgroup/deleg";
  plan.cgroup.knobs = {knob("memory.max", "4096"), knob("memory.oom.group", "1")};
  const json cgroup = json::parse(report::explanation_json({}, plan, {}))["cgroup"];
  CHECK(cgroup["parent"] == "/sys/fs/cgroup/deleg");
  CHECK(cgroup["from_systemd"] == false);
  CHECK(cgroup["files"] == json::array({{{"name", "memory.max"}, {"value", "4096"}},
                                        {{"name", "memory.oom.group"}, {"value", "1"}}}));
  plan.cgroup.from_systemd = true;
  plan.cgroup_parent.clear();
  CHECK(json::parse(report::explanation_json({}, plan, {}))["cgroup"]["from_systemd"] == true);
}

TEST_CASE("explanation: without a cgroup there is a reason") {
  plan::Plan plan;
  plan.cgroup_reason = "no cgroup v2 tree is mounted";
  const json told = json::parse(report::explanation_json({}, plan, {}));
  CHECK(told["cgroup"].is_null());
  CHECK(told["cgroup_why"] == "no cgroup v2 tree is mounted");
  CHECK(report::explanation_text({}, plan, {}).find("none: no cgroup v2 tree is mounted") !=
        std::string::npos);
}

TEST_CASE("explanation: each downgrade says so") {
  plan::Plan plan;
  plan.notes = {{.what = "memory", .enforcement = plan::Enforcement::NotEnforced, .how = "why"},
                {.what = "layer", .enforcement = plan::Enforcement::Approximated, .how = "disk"}};
  const std::string text = report::explanation_text({}, plan, {});
  CHECK(text.find("memory: why (NOT ENFORCED)\n") != std::string::npos);
  CHECK(text.find("layer: disk (approximated)\n") != std::string::npos);
}
