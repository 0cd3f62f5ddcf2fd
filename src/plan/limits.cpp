#include "plan/limits.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <string>

#include "base/text.hpp"

namespace mayfly::plan {
namespace {

using host::Controller;
using host::Controllers;

constexpr std::uint64_t kPageSize = 4096;
constexpr std::uint64_t kCpuPeriodUs = 100'000;

// A limit that a controller holds: its name in notes, and its option.
struct LimitName {
  Controller controller;
  const char* what;
  const char* option;
};
constexpr LimitName kNames[] = {{Controller::Memory, "memory", "--memory"},
                                {Controller::Pids, "pids", "--pids"},
                                {Controller::Cpu, "cpus", "--cpus"},
                                {Controller::Io, "io", "--io"}};

// True if the task's processes belong to the host's root, whom no process limit holds.
bool is_host_root(const Ids& ids, const host::HostFacts& facts) {
  return facts.uid == 0 && !ids.range;
}

void put_note(Plan& plan, const char* what, Enforcement enforcement, std::string how) {
  const auto there = std::find_if(plan.notes.begin(), plan.notes.end(),
                                  [&](const Note& note) { return note.what == what; });
  Note note{.what = what, .enforcement = enforcement, .how = std::move(how)};
  if (there != plan.notes.end()) {
    *there = std::move(note);
  } else {
    plan.notes.push_back(std::move(note));
  }
}

bool has_pids_knob(const Plan& plan) {
  return plan.cgroup.needed.has(Controller::Pids);
}

// The kernel asks RLIMIT_NPROC before it asks the controller, which counts its refusals: so where
// there is one, the other is one above it.
void set_process_limit(Plan& plan, bool is_real) {
  const auto [asked, most] = plan.processes;
  const std::uint64_t set = std::min(asked + (has_pids_knob(plan) ? 1 : 0), most);
  for (Rlimit& limit : plan.rlimits) {
    if (limit.resource == RLIMIT_NPROC) limit.soft = limit.hard = set;
  }
  const bool is_callers = is_real && most < asked;
  if (has_pids_knob(plan) && !is_callers) {
    put_note(plan, "pids", Enforcement::Enforced, "pids.max " + std::to_string(asked));
  } else if (is_real) {
    put_note(plan, "pids", Enforcement::Enforced,
             "RLIMIT_NPROC " + std::to_string(set) + " in the user namespace" +
                 (is_callers ? ", the caller's own limit" : ""));
  } else {
    put_note(plan, "pids", Enforcement::NotEnforced,
             "RLIMIT_NPROC does not hold for the host's root (--unsafe-ids=host)");
  }
}

CgroupKnob knob(Controller controller, const char* file, const std::string& value) {
  return {.controller = controller, .file = file, .value = value, .expected = value};
}

void add_memory(const spec::Limits& limits, Plan& plan) {
  if (!limits.memory) return;
  const auto pages = [](std::uint64_t bytes) { return bytes / kPageSize * kPageSize; };
  std::vector<CgroupKnob>& knobs = plan.cgroup.knobs;
  const std::string memory = std::to_string(pages(*limits.memory));
  const std::string swap = std::to_string(pages(limits.swap));
  knobs.push_back(knob(Controller::Memory, "memory.max", memory));
  knobs.push_back(knob(Controller::Memory, "memory.swap.max", swap));
  knobs.back().optional = true;
  // One process killed out of a tree leaves the rest in a state that nobody has tested.
  knobs.push_back(knob(Controller::Memory, "memory.oom.group", "1"));
  put_note(plan, "memory", Enforcement::Enforced,
           "memory.max " + memory + ", memory.swap.max " + swap +
               "; what goes beyond ends the whole sandbox");
}

void add_cpus(const spec::Limits& limits, Plan& plan) {
  if (!limits.cpu_thousandths) return;
  const std::uint64_t quota = *limits.cpu_thousandths * kCpuPeriodUs / 1000;
  const std::string value = std::to_string(quota) + " " + std::to_string(kCpuPeriodUs);
  plan.cgroup.knobs.push_back(knob(Controller::Cpu, "cpu.max", value));
  put_note(plan, "cpus", Enforcement::Enforced, "cpu.max " + value);
}

Result<void> add_io(const spec::Limits& limits, const host::HostFacts& facts, Plan& plan) {
  std::string how;
  for (const spec::IoLimit& limit : limits.io) {
    const auto device = std::find_if(facts.devices.begin(), facts.devices.end(),
                                     [&](const auto& each) { return each.path == limit.path; });
    if (device == facts.devices.end()) {
      return internal_error("limit " + shown(limit.path) + ": its disk was not looked at");
    }
    const auto rate = [](const char* key, const std::optional<std::uint64_t>& value) {
      return std::string(key) + (value ? std::to_string(*value) : "max");
    };
    const std::string value = device->number + rate(" rbps=", limit.read_bytes) +
                              rate(" wbps=", limit.write_bytes) + rate(" riops=", limit.read_ops) +
                              rate(" wiops=", limit.write_ops);
    plan.cgroup.knobs.push_back(knob(Controller::Io, "io.max", value));
    how += (how.empty() ? "io.max " : ", ") + value;
  }
  if (!how.empty()) put_note(plan, "io", Enforcement::Enforced, std::move(how));
  return {};
}

void add_pids_knob(std::uint64_t pids, Plan& plan) {
  plan.cgroup.knobs.push_back(knob(Controller::Pids, "pids.max", std::to_string(pids)));
  plan.cgroup.needed = plan.cgroup.needed | Controller::Pids;
}

void use_cgroup_without_limits(const spec::Spec& spec, const host::HostFacts& facts, Plan& plan) {
  const host::CgroupFacts& cgroup = facts.cgroup;
  if (!spec.limits.cgroup_parent.empty()) {
    plan.cgroup_parent = spec.limits.cgroup_parent;
  } else if (cgroup.writable) {
    plan.cgroup_parent = cgroup.own == "/" ? cgroup.mount : cgroup.mount + cgroup.own;
  } else {
    plan.cgroup_reason = cgroup.mount.empty() ? "no cgroup v2 tree is mounted"
                                              : "the caller's own cgroup is not writable for it";
  }
}

std::string why_no_place(const host::CgroupFacts& cgroup, Controllers wanted) {
  if (cgroup.mount.empty()) return "no cgroup v2 tree is mounted";
  const Controllers absent = wanted - cgroup.in_tree;
  if (!absent.none()) {
    return "the cgroup v2 tree of this host has no " + names_of(absent) + " controller";
  }
  for (const host::CgroupPlace& place : cgroup.places) {
    if (!place.why_not.empty()) return place.why_not;
  }
  return "the caller has no cgroup of its own";
}

// The first that gives all; else the one that gives most.
const host::CgroupPlace* best_place(const host::CgroupFacts& cgroup, Controllers wanted) {
  const auto count = [&](const host::CgroupPlace& place) {
    return __builtin_popcount((place.gives & wanted).bits);
  };
  const host::CgroupPlace* best = nullptr;
  for (const host::CgroupPlace& place : cgroup.places) {
    if (best == nullptr || count(place) > count(*best)) best = &place;
  }
  return best;
}

void use_place(const host::CgroupPlace& place, Plan& plan) {
  plan.cgroup_parent = place.path;
  plan.cgroup.move_self = place.move_self;
}

// Where the cgroup with the limits comes from (DESIGN 10), in order.
Result<void> choose_place(const spec::Spec& spec, const host::HostFacts& facts, Plan& plan) {
  const Controllers wanted = plan.cgroup.needed;
  const host::CgroupPlace* place = best_place(facts.cgroup, wanted);
  const bool named = !spec.limits.cgroup_parent.empty();
  plan.cgroup.is_named = named;
  plan.cgroup.best_effort = spec.limits.strictness == spec::Strictness::BestEffort;
  if (place != nullptr && place->gives.has(wanted)) {
    use_place(*place, plan);
    return {};
  }
  if (!named && facts.cgroup.has_systemd && facts.cgroup.in_tree.has(wanted)) {
    plan.cgroup.from_systemd = true;
    return {};
  }
  const Controllers given = place != nullptr ? place->gives & wanted : Controllers{};
  const std::string why =
      named && place != nullptr ? place->why_not : why_no_place(facts.cgroup, wanted);
  if (!plan.cgroup.best_effort) return no_controllers(wanted - given, why, facts);
  drop_controllers(plan, wanted - given, why);
  if (plan.cgroup.knobs.empty()) {
    use_cgroup_without_limits(spec, facts, plan);
  } else {
    use_place(*place, plan);
  }
  return {};
}

// RLIM_INFINITY where the caller has no limit of it.
std::uint64_t most_of(const host::HostFacts& facts, int resource) {
  for (const host::HardLimit& limit : facts.hard_limits) {
    if (limit.resource == resource) return limit.most.value_or(RLIM_INFINITY);
  }
  return RLIM_INFINITY;
}

Result<void> add_resources(const spec::Limits& limits, const host::HostFacts& facts, Plan& plan) {
  const auto number = [](const std::optional<std::uint64_t>& value) {
    return value.value_or(RLIM_INFINITY);
  };
  const auto text = [](const std::optional<std::uint64_t>& value) {
    return value ? std::to_string(*value) : std::string("unlimited");
  };
  for (std::size_t i = 0; i < limits.resources.size(); ++i) {
    const spec::ResourceLimit& limit = limits.resources[i];
    const int resource = TRY(spec::resource_named(limit.name)).number;
    const std::uint64_t most = most_of(facts, resource);
    if (number(limit.hard) > most) {
      Error error = usage_error("limit " + limit.name + " to " + text(limit.hard) +
                                    ": the caller's own hard limit is " + std::to_string(most) +
                                    " (--rlimit)",
                                "ask for no more than that, or raise it first (see ulimit -H)");
      error.about = Subject{.key = "rlimits", .item = i};
      return error;
    }
    const Rlimit set{.resource = resource, .soft = number(limit.soft), .hard = number(limit.hard)};
    const auto before = std::find_if(plan.task_rlimits.begin(), plan.task_rlimits.end(),
                                     [&](const Rlimit& each) { return each.resource == resource; });
    if (before != plan.task_rlimits.end()) {
      *before = set;
    } else {
      plan.task_rlimits.push_back(set);
    }
  }
  return {};
}

void add_layer(const spec::Spec& spec, const host::HostFacts& facts, Plan& plan) {
  plan.layer = spec.limits.layer;
  plan.layer_bytes = spec::layer_bytes(spec);
  plan.layer_inodes = spec.limits.layer_inodes;
  if (!facts.cache_dir.empty()) plan.layer_parent = facts.cache_dir + "/layers";
  if (spec.limits.memory && !spec.limits.layer_bytes && plan.layer_bytes < spec::kStockLayerBytes) {
    put_note(plan, "layer size", Enforcement::Enforced,
             std::to_string(plan.layer_bytes) +
                 " bytes: less than usual, so that it stays below the memory limit");
  }
}

}  // namespace

Controllers wanted_controllers(const spec::Limits& limits) {
  Controllers wanted;
  if (limits.memory) wanted = wanted | Controller::Memory;
  if (limits.cpu_thousandths) wanted = wanted | Controller::Cpu;
  if (!limits.io.empty()) wanted = wanted | Controller::Io;
  return wanted;
}

Result<void> add_limits(const spec::Spec& spec, const host::HostFacts& facts, Plan& plan) {
  const spec::Limits& limits = spec.limits;
  const std::uint64_t pids = pids_of(limits);
  const bool is_real = !is_host_root(plan.ids, facts);
  add_layer(spec, facts, plan);
  // 1 and not 0: with 0 the kernel would still run a core_pattern that begins with '|'.
  const std::uint64_t core = std::min<std::uint64_t>(1, most_of(facts, RLIMIT_CORE));
  plan.rlimits.push_back({.resource = RLIMIT_CORE, .soft = core, .hard = core});
  plan.rlimits.push_back({.resource = RLIMIT_NPROC, .soft = 0, .hard = 0});
  plan.processes = {.asked = pids, .most = most_of(facts, RLIMIT_NPROC)};
  TRY(add_resources(limits, facts, plan));
  plan.cgroup.needed = wanted_controllers(limits);
  if (limits.pids && !is_real) add_pids_knob(pids, plan);
  if (plan.cgroup.needed.none()) {
    use_cgroup_without_limits(spec, facts, plan);
    set_process_limit(plan, is_real);
    return {};
  }
  add_memory(limits, plan);
  add_cpus(limits, plan);
  TRY(add_io(limits, facts, plan));
  TRY(choose_place(spec, facts, plan));
  // Where there is a cgroup with limits anyway, it holds this one, too, if it can.
  const host::CgroupPlace* place = best_place(facts.cgroup, plan.cgroup.needed);
  const bool can = place != nullptr && !plan.cgroup.from_systemd
                       ? place->gives.has(plan.cgroup.needed | Controller::Pids)
                       : facts.cgroup.in_tree.has(Controller::Pids);
  if (!plan.cgroup.knobs.empty() && !has_pids_knob(plan) && can) add_pids_knob(pids, plan);
  set_process_limit(plan, is_real);
  return {};
}

void drop_controllers(Plan& plan, Controllers lost, const std::string& why) {
  CgroupLimits& cgroup = plan.cgroup;
  const bool had_pids = has_pids_knob(plan);
  std::erase_if(cgroup.knobs, [&](const CgroupKnob& knob) { return lost.has(knob.controller); });
  for (const LimitName& name : kNames) {
    if (!cgroup.needed.has(name.controller) || !lost.has(name.controller)) continue;
    put_note(plan, name.what, Enforcement::NotEnforced,
             "no " + std::string(controller_name(name.controller)) + " controller: " + why);
  }
  cgroup.needed = cgroup.needed - lost;
  if (!had_pids || has_pids_knob(plan)) return;
  const bool is_real = !std::any_of(plan.ids.uids.begin(), plan.ids.uids.end(),
                                    [](const IdRange& range) { return range.outside == 0; });
  set_process_limit(plan, is_real);
}

Note disk_layer_note(const Plan& plan, const std::string& place) {
  const bool chosen = plan.layer == spec::LayerKind::Disk;
  return {.what = "layer",
          .enforcement = Enforcement::Approximated,
          .how = "on disk, in " + place +
                 (chosen ? "" : ", since this kernel's tmpfs holds no user xattrs") +
                 ": its size is looked at several times a second"};
}

Error no_controllers(Controllers missing, const std::string& why, const host::HostFacts& facts) {
  std::string options;
  std::optional<Subject> about;
  for (const LimitName& name : kNames) {
    if (!missing.has(name.controller)) continue;
    if (!about) about = Subject{.key = name.what};
    options += (options.empty() ? "" : " and ") + std::string(name.option);
  }
  const host::CgroupFacts& cgroup = facts.cgroup;
  const bool is_there = cgroup.in_tree.has(missing);
  const std::string user = facts.uid == 0 ? "" : "--user ";
  std::string remedy =
      !is_there ? "boot with cgroup v2 alone (systemd.unified_cgroup_hierarchy=1)"
                : "run it in a cgroup that is delegated: systemd-run " + user +
                      "--scope -p Delegate=yes mayfly run ..., or name one with --cgroup-parent";
  return Error{.kind = ErrorKind::HostUnsupported,
               .sys_errno = 0,
               .action = "hold the sandbox to " + options + ": the " + names_of(missing) +
                         " controller is out of reach: " + why,
               .call = {},
               .hint = remedy + "; or start without the limit: --limits=best-effort",
               .about = about};
}

}  // namespace mayfly::plan
