#include "plan/limits.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <algorithm>

using namespace mayfly;
using namespace mayfly::plan;
using host::CgroupPlace;
using host::Controller;
using host::Controllers;

namespace {

const Controllers kAll =
    Controllers(Controller::Memory) | Controller::Pids | Controller::Cpu | Controller::Io;

host::HostFacts ordinary() {
  host::HostFacts facts;
  facts.uid = facts.gid = 1000;
  facts.cgroup.mount = "/sys/fs/cgroup";
  facts.cgroup.own = "/deleg/session";
  facts.cgroup.in_tree = kAll;
  return facts;
}

CgroupPlace place(std::string path, Controllers gives, std::string why_not = {}) {
  return {.path = std::move(path), .gives = gives, .why_not = std::move(why_not)};
}

spec::Spec limited() {
  spec::Spec spec;
  spec.argv = {"true"};
  spec.limits.memory = (64u << 20) + 5;
  spec.limits.cpu_thousandths = 500;
  return spec;
}

Plan plan_of(const spec::Spec& spec, const host::HostFacts& facts) {
  Plan plan;
  plan.ids.uids = {{.inside = 1000, .outside = facts.uid}};
  const Result<void> added = add_limits(spec, facts, plan);
  REQUIRE_MESSAGE(added, describe(added.error()));
  return plan;
}

Error refusal_of(const spec::Spec& spec, const host::HostFacts& facts) {
  Plan plan;
  const Result<void> added = add_limits(spec, facts, plan);
  REQUIRE_FALSE(added);
  return added.error();
}

std::string value_of(const Plan& plan, std::string_view file) {
  for (const CgroupKnob& knob : plan.cgroup.knobs) {
    if (knob.file == file) return knob.value;
  }
  return "";
}

const Note& note_of(const Plan& plan, std::string_view what) {
  const auto found = std::find_if(plan.notes.begin(), plan.notes.end(),
                                  [&](const Note& note) { return note.what == what; });
  REQUIRE(found != plan.notes.end());
  return *found;
}

std::uint64_t nproc_of(const Plan& plan) {
  for (const Rlimit& limit : plan.rlimits) {
    if (limit.resource == RLIMIT_NPROC) return limit.hard;
  }
  return 0;
}

}  // namespace

TEST_CASE("limits: the stock request needs no controller and asks for none") {
  spec::Spec spec;
  host::HostFacts facts = ordinary();
  facts.cgroup.writable = true;
  const Plan plan = plan_of(spec, facts);
  CHECK(plan.cgroup == CgroupLimits{});
  CHECK(plan.cgroup_parent == "/sys/fs/cgroup/deleg/session");
  CHECK(nproc_of(plan) == 512);
  CHECK(plan.layer_bytes == 512u << 20);
  CHECK(plan.task_rlimits.empty());
}

TEST_CASE("limits: the caller's own limits are told where they are lower than ours") {
  host::HostFacts facts = ordinary();
  facts.hard_limits = {{.resource = RLIMIT_CORE, .most = 0},
                       {.resource = RLIMIT_NPROC, .most = 300}};
  const Plan plan = plan_of(spec::Spec{}, facts);
  CHECK(nproc_of(plan) == 300);
  CHECK(plan.rlimits.at(0) == Rlimit{.resource = RLIMIT_CORE, .soft = 0, .hard = 0});
  CHECK(note_of(plan, "pids").how ==
        "RLIMIT_NPROC 300 in the user namespace, the caller's own limit");

  facts.cgroup.places = {place("/sys/fs/cgroup/deleg", kAll)};
  Plan limited_plan = plan_of(limited(), facts);
  CHECK(value_of(limited_plan, "pids.max") == "512");
  CHECK(nproc_of(limited_plan) == 300);
  CHECK(note_of(limited_plan, "pids").how.ends_with("the caller's own limit"));
  facts.hard_limits[1].most = 512;
  Plan equal = plan_of(limited(), facts);
  CHECK(nproc_of(equal) == 512);
  CHECK(note_of(equal, "pids").how == "pids.max 512");
  drop_controllers(equal, kAll, "systemd has none");
  CHECK(nproc_of(equal) == 512);
}

TEST_CASE("limits: the nearest cgroup that gives all is taken") {
  host::HostFacts facts = ordinary();
  facts.cgroup.places = {place("/sys/fs/cgroup/deleg/session", {}, "others live there"),
                         place("/sys/fs/cgroup/deleg", kAll), place("/sys/fs/cgroup/up", kAll)};
  const Plan plan = plan_of(limited(), facts);
  CHECK(plan.cgroup_parent == "/sys/fs/cgroup/deleg");
  CHECK_FALSE(plan.cgroup.from_systemd);
  CHECK(value_of(plan, "memory.max") == std::to_string(64u << 20));
  CHECK(value_of(plan, "memory.swap.max") == "0");
  CHECK(value_of(plan, "memory.oom.group") == "1");
  CHECK(value_of(plan, "cpu.max") == "50000 100000");
  // It is there anyway, and counts what it refuses; the other limit is not to be met before it.
  CHECK(value_of(plan, "pids.max") == "512");
  CHECK(nproc_of(plan) == 513);
  CHECK(plan.layer_bytes == 32u << 20);
  CHECK(note_of(plan, "memory").enforcement == Enforcement::Enforced);
  CHECK(note_of(plan, "layer size").enforcement == Enforcement::Enforced);
}

TEST_CASE("limits: systemd is asked where no cgroup gives them, and never for a named one") {
  host::HostFacts facts = ordinary();
  facts.cgroup.has_systemd = true;
  facts.cgroup.places = {place("/sys/fs/cgroup/user.slice/session-1.scope", {}, "not writable")};
  spec::Spec spec = limited();
  CHECK(plan_of(spec, facts).cgroup.from_systemd);
  spec.limits.cgroup_parent = facts.cgroup.places[0].path;
  const Error error = refusal_of(spec, facts);
  CHECK(error.action ==
        "hold the sandbox to --memory and --cpus: the memory, cpu controller is out of reach: not "
        "writable");
}

TEST_CASE("limits: a refusal names the controller and the remedy") {
  host::HostFacts facts = ordinary();
  facts.cgroup.places = {place("/sys/fs/cgroup/deleg", {}, "other processes live in it")};
  Error error = refusal_of(limited(), facts);
  CHECK(error.kind == ErrorKind::HostUnsupported);
  CHECK(error.hint ==
        "run it in a cgroup that is delegated: systemd-run --user --scope -p Delegate=yes mayfly "
        "run ..., or name one with --cgroup-parent; or start without the limit: "
        "--limits=best-effort");
  facts.cgroup.in_tree = Controllers(Controller::Cpu);
  error = refusal_of(limited(), facts);
  CHECK(error.action.find("tree of this host has no memory controller") != std::string::npos);
  CHECK(error.hint.find("unified_cgroup_hierarchy") != std::string::npos);
  facts.cgroup = {};
  CHECK(refusal_of(limited(), facts).action.find("no cgroup v2 tree is mounted") !=
        std::string::npos);
}

TEST_CASE("limits: best effort keeps what can be held and says of the rest that it is not") {
  spec::Spec spec = limited();
  spec.limits.strictness = spec::Strictness::BestEffort;
  host::HostFacts facts = ordinary();
  facts.cgroup.places = {place("/sys/fs/cgroup/deleg", Controllers(Controller::Cpu), "no memory")};
  Plan plan = plan_of(spec, facts);
  CHECK(plan.cgroup_parent == "/sys/fs/cgroup/deleg");
  CHECK(value_of(plan, "memory.max").empty());
  CHECK(value_of(plan, "cpu.max") == "50000 100000");
  CHECK(note_of(plan, "memory").enforcement == Enforcement::NotEnforced);
  CHECK(note_of(plan, "cpus").enforcement == Enforcement::Enforced);
  // It may turn out later, too.
  drop_controllers(plan, plan.cgroup.needed, "it went");
  CHECK(plan.cgroup.knobs.empty());
  CHECK(note_of(plan, "cpus").how == "no cpu controller: it went");
  CHECK(note_of(plan, "pids").enforcement == Enforcement::Enforced);
  CHECK(nproc_of(plan) == 512);
}

TEST_CASE("limits: a process limit that holds nobody needs the pids controller, if it was asked") {
  spec::Spec spec;
  spec.argv = {"true"};
  host::HostFacts facts = ordinary();
  facts.uid = 0;
  CHECK(note_of(plan_of(spec, facts), "pids").enforcement == Enforcement::NotEnforced);
  spec.limits.pids = 30;
  CHECK(refusal_of(spec, facts).action.find("--pids") != std::string::npos);
  facts.cgroup.places = {place("/sys/fs/cgroup/root", kAll)};
  CHECK(value_of(plan_of(spec, facts), "pids.max") == "30");
}

TEST_CASE("limits: rates of a disk, and those of two") {
  spec::Spec spec;
  spec.argv = {"true"};
  spec.limits.io = {{.path = "/a", .read_bytes = 10}, {.path = "/b", .write_ops = 5}};
  host::HostFacts facts = ordinary();
  facts.devices = {{"/a", "8:0"}, {"/b", "8:16"}};
  facts.cgroup.places = {place("/sys/fs/cgroup/deleg", kAll)};
  const Plan plan = plan_of(spec, facts);
  REQUIRE(plan.cgroup.knobs.size() == 3);
  CHECK(plan.cgroup.knobs[0].value == "8:0 rbps=10 wbps=max riops=max wiops=max");
  CHECK(plan.cgroup.knobs[1].value == "8:16 rbps=max wbps=max riops=max wiops=5");
}

TEST_CASE("limits: of each resource the last is set, and none above the caller's own") {
  spec::Spec spec;
  spec.argv = {"true"};
  spec.limits.resources = {{"nofile", 5, 5}, {"stack", 1, std::nullopt}, {"nofile", 6, 7}};
  host::HostFacts facts = ordinary();
  facts.hard_limits = {{RLIMIT_NOFILE, 7}, {RLIMIT_STACK, std::nullopt}};
  const Plan plan = plan_of(spec, facts);
  REQUIRE(plan.task_rlimits.size() == 2);
  CHECK(plan.task_rlimits[0] == Rlimit{.resource = RLIMIT_NOFILE, .soft = 6, .hard = 7});
  CHECK(plan.task_rlimits[1] == Rlimit{.resource = RLIMIT_STACK, .soft = 1, .hard = RLIM_INFINITY});
  facts.hard_limits[1].most = 100;
  CHECK(refusal_of(spec, facts).action ==
        "limit stack to unlimited: the caller's own hard limit is 100 (--rlimit)");
}
