#include "report/explanation.hpp"

#include <string_view>

#include "base/json_writer.hpp"
#include "report/words.hpp"
#include "spec/limit_arguments.hpp"
#include "spec/limits.hpp"

namespace mayfly::report {
namespace {

using plan::MountKind;
using plan::MountStep;

std::string_view kind_of(MountKind kind) {
  switch (kind) {
    case MountKind::Layer:
      return "layer";
    case MountKind::Nodes:
      return "nodes";
    case MountKind::Overlay:
      return "overlay";
    case MountKind::Bind:
      return "bind";
    case MountKind::Tmpfs:
      return "tmpfs";
    case MountKind::Proc:
      return "proc";
    case MountKind::Devpts:
      return "devpts";
    case MountKind::Mask:
      return "mask";
    case MountKind::ReadOnly:
      return "read_only";
  }
  return "";
}

Writes writes_of(const MountStep& step) {
  if (step.devices) return Writes::Nowhere;
  if (step.access == plan::Access::ReadOnly) return Writes::Nowhere;
  switch (step.kind) {
    case MountKind::Layer:
    case MountKind::Overlay:
      return Writes::Layer;
    case MountKind::Bind:
      return Writes::Host;
    case MountKind::Tmpfs:
    case MountKind::Proc:
    case MountKind::Devpts:
      return Writes::Own;
    default:
      return Writes::Nowhere;
  }
}

Shown shown_step(const MountStep& step) {
  Shown shown;
  shown.target = "/" + step.target;
  shown.kind = kind_of(step.kind);
  shown.sources = step.lowers;
  if (!step.source.empty()) shown.sources.push_back(step.source);
  shown.writes = writes_of(step);
  shown.id_mapped = step.id_mapped;
  shown.device = step.devices;
  shown.optional = step.optional;
  shown.size = step.size;
  return shown;
}

ShownEntry shown_entry(const plan::Node& node) {
  ShownEntry entry;
  entry.target = "/" + node.path;
  entry.mode = node.mode;
  entry.keeps_mode = !node.sets_mode;
  switch (node.kind) {
    case plan::Node::Kind::File:
      entry.kind = "file";
      entry.size = node.data.size();
      break;
    case plan::Node::Kind::Symlink:
      entry.kind = "symlink";
      entry.points_to = node.data;
      break;
    default:
      entry.kind = "directory";
      break;
  }
  return entry;
}

std::string_view writes_name(Writes writes) {
  switch (writes) {
    case Writes::Layer:
      return "layer";
    case Writes::Own:
      return "own";
    case Writes::Host:
      return "host";
    case Writes::Nowhere:
      return "none";
  }
  return "none";
}

void write_texts(JsonWriter& json, std::string_view key, const std::vector<std::string>& texts) {
  json.key(key).begin_array();
  for (const std::string& text : texts)
    json.value(text);
  json.end_array();
}

void write_mounts(JsonWriter& json, const plan::Plan& plan) {
  json.key("mounts").begin_array();
  for (const Shown& shown : shown_mounts(plan)) {
    json.begin_object().member("target", shown.target).member("kind", shown.kind);
    write_texts(json, "sources", shown.sources);
    json.member("writes", writes_name(shown.writes)).member("id_mapped", shown.id_mapped);
    json.member("device", shown.device).member("optional", shown.optional);
    if (shown.size != 0) json.member("size", shown.size);
    json.end_object();
  }
  json.end_array();
}

void write_entries(JsonWriter& json, const plan::Plan& plan) {
  json.key("entries").begin_array();
  for (const ShownEntry& entry : shown_entries(plan)) {
    json.begin_object().member("target", entry.target).member("kind", entry.kind);
    if (entry.kind == "symlink") {
      json.member("points_to", entry.points_to);
    } else {
      json.member("mode", entry.mode).member("keeps_mode", entry.keeps_mode);
    }
    if (entry.kind == "file") json.member("size", entry.size);
    json.end_object();
  }
  json.end_array();
}

void write_ranges(JsonWriter& json, std::string_view key, const std::vector<plan::IdRange>& list) {
  json.key(key).begin_array();
  for (const plan::IdRange& range : list) {
    json.begin_object().member("inside", range.inside).key("outside");
    if (range.outside == plan::kThrowawayBase) {
      json.null();  // chosen at the start
    } else {
      json.value(range.outside);
    }
    json.member("count", range.count).end_object();
  }
  json.end_array();
}

void write_ids(JsonWriter& json, const plan::Ids& ids) {
  json.key("user").begin_object().member("name", ids.user);
  json.member("uid", ids.task_uid).member("gid", ids.task_gid).member("home", ids.home);
  json.member("shell", ids.shell).end_object();
  json.key("ids").begin_object().member("throwaway", ids.range);
  write_ranges(json, "uids", ids.uids);
  write_ranges(json, "gids", ids.gids);
  json.member("supplementary_groups", ids.deny_setgroups ? "kept" : "dropped").end_object();
}

void write_time(JsonWriter& json, std::string_view key,
                const std::optional<spec::Nanoseconds>& time) {
  json.key(key);
  if (time) {
    json.value(static_cast<std::int64_t>(time->count()));
  } else {
    json.null();
  }
}

void write_limits(JsonWriter& json, const spec::Spec& spec, const plan::Plan& plan) {
  json.key("limits").begin_object();
  write_time(json, "ttl_ns", spec.ttl);
  write_time(json, "ttl_max_ns", spec.ttl_max);
  write_time(json, "idle_ns", spec.idle);
  write_time(json, "cpu_time_ns", spec.cpu_time);
  json.key("max_output_bytes");
  if (spec.max_output) {
    json.value(*spec.max_output);
  } else {
    json.null();
  }
  json.member("grace_ns", static_cast<std::int64_t>(spec.grace.count()));
  json.member("layer_bytes", plan.layer_bytes).member("layer_inodes", plan.layer_inodes);
  json.member("layer", spec::format_layer(plan.layer));
  json.key("rlimits").begin_object();
  for (const auto* limits : {&plan.rlimits, &plan.task_rlimits}) {
    for (const plan::Rlimit& limit : *limits) {
      json.key(spec::resource_name(limit.resource)).begin_object();
      json.member("soft", limit.soft).member("hard", limit.hard).end_object();
    }
  }
  json.end_object().end_object();
}

void write_rights(JsonWriter& json, const plan::Plan& plan, const policy::Stands& stands) {
  json.key("rights").begin_object();
  write_texts(json, "capabilities", capability_names(plan.keep_capabilities));
  json.member("no_new_privileges", true);
  json.member("user_namespaces", !plan.ban_user_namespaces);
  json.member("syscall_filter", filter_name(plan));
  write_texts(json, "allowed_groups", stands.allowed);
  write_texts(json, "refused_groups", stands.refused);
  json.member("refused_calls", refusals_name(plan.refusals));
  json.key("landlock_abi");
  if (plan.landlock_abi > 0) {
    json.value(plan.landlock_abi);
  } else {
    json.null();
  }
  json.member("new_session_keyring", plan.new_session_keyring).end_object();
}

void write_cgroup(JsonWriter& json, const plan::Plan& plan) {
  json.key("cgroup");
  if (!plan.cgroup_parent.empty() || plan.cgroup.from_systemd) {
    json.begin_object().member("parent", plan.cgroup_parent);
    json.member("from_systemd", plan.cgroup.from_systemd).key("files").begin_array();
    for (const plan::CgroupKnob& knob : plan.cgroup.knobs) {
      json.begin_object().member("name", knob.file).member("value", knob.value).end_object();
    }
    json.end_array().end_object();
  } else {
    json.null().member("cgroup_why", plan.cgroup_reason);
  }
}

}  // namespace

std::vector<Shown> shown_mounts(const plan::Plan& plan) {
  std::vector<Shown> mounts;
  for (const std::vector<MountStep>* steps : {&plan.mounts, &plan.seals}) {
    for (const MountStep& step : *steps) {
      if (step.kind != MountKind::Nodes) mounts.push_back(shown_step(step));
    }
  }
  return mounts;
}

std::vector<ShownEntry> shown_entries(const plan::Plan& plan) {
  std::vector<ShownEntry> entries;
  for (const MountStep& step : plan.mounts) {
    // The home directory is no wish of the caller's, and may be there already.
    if (step.kind != MountKind::Nodes || step.optional) continue;
    for (const plan::Node& node : step.skeleton)
      entries.push_back(shown_entry(node));
  }
  return entries;
}

std::vector<std::string> environment_names(const plan::Plan& plan) {
  std::vector<std::string> names;
  for (const std::string& variable : plan.env)
    names.push_back(variable.substr(0, variable.find('=')));
  return names;
}

std::string explanation_json(const spec::Draft& request, const plan::Plan& plan,
                             const policy::Stands& stands) {
  const spec::Spec& spec = request.spec;
  JsonWriter json;
  json.begin_object().member("v", 1);
  write_policy(json, request.policies);
  write_texts(json, "command", plan.argv);
  write_texts(json, "program_paths", plan.program_paths);
  json.member("directory", plan.chdir).member("umask", plan.umask);
  json.member("hostname", plan.hostname);
  write_texts(json, "environment", environment_names(plan));
  write_ids(json, plan.ids);
  write_texts(json, "namespaces", {"user", "mount", "pid", "net", "ipc", "uts", "cgroup"});
  json.member("terminal", plan.terminal).member("network", "none");
  write_mounts(json, plan);
  write_entries(json, plan);
  write_limits(json, spec, plan);
  write_rights(json, plan, stands);
  write_cgroup(json, plan);
  write_texts(json, "unsafe", unsafe_options(spec, stands));
  write_notes(json, plan.notes);
  return json.end_object().take();
}

}  // namespace mayfly::report
