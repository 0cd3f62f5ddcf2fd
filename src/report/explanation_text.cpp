#include <sys/resource.h>

#include <string>
#include <string_view>

#include "base/text.hpp"
#include "report/explanation.hpp"
#include "report/words.hpp"
#include "spec/limits.hpp"
#include "spec/units.hpp"

namespace mayfly::report {
namespace {

constexpr std::size_t kNameColumn = 13;
constexpr std::size_t kPathColumn = 22;

void pad(std::string& text, std::size_t start, std::size_t column) {
  const std::size_t used = text.size() - start;
  text.append(used + 1 > column ? 1 : column - used, ' ');
}

// One row: a name, empty where it is the one above, and what is said of it.
void row(std::string& text, std::string_view name, std::string_view words) {
  const std::size_t start = text.size();
  text += name;
  pad(text, start, kNameColumn);
  text += words;
  text += '\n';
}

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  std::string text;
  for (const std::string& word : words)
    text += (text.empty() ? "" : std::string(between)) + shown(word);
  return text;
}

std::string origin(const Shown& shown) {
  if (shown.sources.empty()) return "empty";
  if (shown.sources == std::vector{shown.target}) return "the host's";
  return "the host's " + joined(shown.sources, " and ");
}

std::string mount_words(const Shown& shown) {
  if (shown.device) return "the host's device";
  if (shown.kind == "layer") return "a directory of the layer";
  if (shown.kind == "mask") return "hidden";
  if (shown.kind == "read_only") return "read-only";
  if (shown.kind == "proc" || shown.kind == "devpts") return "its own " + shown.kind;
  if (shown.kind == "tmpfs") {
    return "its own memory" +
           (shown.size != 0 ? ", at most " + spec::format_size(shown.size) : std::string());
  }
  const std::string shift = shown.id_mapped ? ", ids shifted" : "";
  switch (shown.writes) {
    case Writes::Layer:
      return origin(shown) + ", writes go to the layer" + shift;
    case Writes::Host:
      return "LIVE: " + origin(shown) + " itself, writes change the host" + shift;
    default:
      return origin(shown) + ", read-only" + shift;
  }
}

std::string entry_words(const ShownEntry& entry) {
  if (entry.kind == "symlink") return "a symbolic link to " + shown(entry.points_to);
  const std::string mode = ", mode " + spec::format_mode(entry.mode);
  if (entry.kind == "directory") return "a directory" + mode;
  return "a file of " + std::to_string(entry.size) + " bytes" + mode;
}

void add_path(std::string& text, const std::string& path, const std::string& words) {
  const std::size_t start = text.size();
  text += "  " + shown(path);
  pad(text, start, kPathColumn);
  text += words + "\n";
}

void add_mounts(std::string& text, const plan::Plan& plan) {
  text += "\nFiles\n";
  std::vector<std::string> hidden;
  std::string read_only;
  std::string devices;
  const auto add = [](std::string& list, const std::string& path) {
    list += (list.empty() ? "" : " ") + shown(path);
  };
  for (const Shown& mount : shown_mounts(plan)) {
    if (mount.kind == "mask") {
      hidden.push_back(mount.target);
      continue;
    }
    // What is mounted over a mask is in sight.
    std::erase_if(hidden, [&](const std::string& each) { return is_within(each, mount.target); });
    if (mount.kind == "read_only") {
      add(read_only, mount.target);
    } else if (mount.device) {
      add(devices, mount.target);
    } else {
      add_path(text, mount.target, mount_words(mount));
    }
  }
  for (const ShownEntry& entry : shown_entries(plan))
    add_path(text, entry.target, entry_words(entry));
  text += "  devices: " + devices + "\n";
  if (!read_only.empty()) text += "  read-only: " + read_only + "\n";
  if (!hidden.empty()) {
    text += "  hidden:";
    for (const std::string& each : hidden)
      text += " " + shown(each);
    text += "\n";
  }
}

void add_ids(std::string& text, const plan::Ids& ids) {
  const std::string numbers = std::to_string(ids.task_uid) + ":" + std::to_string(ids.task_gid);
  std::string outside = "on the host the ids are nobody's (a throwaway range)";
  if (!ids.range) {
    outside = "on the host";
    for (const plan::IdRange& range : ids.uids) {
      if (ids.task_uid < range.inside || ids.task_uid - range.inside >= range.count) continue;
      outside += " uid " + std::to_string(range.outside + (ids.task_uid - range.inside));
    }
  }
  row(text, "user", shown(ids.user) + " (" + numbers + ") inside, " + outside);
  row(text, "",
      "home " + shown(ids.home) + ", supplementary groups " +
          (ids.deny_setgroups ? "kept" : "dropped"));
}

std::string policy_words(const spec::Draft& request) {
  std::string text;
  for (const spec::PolicySource& source : named_policies(request.policies)) {
    text += (text.empty() ? "" : ", which extends ") + shown(source.name) + " (";
    text += (source.file.empty() ? "stock" : shown(source.file)) + ")";
  }
  return text;
}

void add_rights(std::string& text, const plan::Plan& plan, const policy::Stands& stands) {
  const std::string kept = joined(capability_names(plan.keep_capabilities), ", ");
  row(text, "rights", "capabilities: " + (kept.empty() ? "none" : kept) + ", no new privileges");
  row(text, "",
      std::string("user namespaces: ") + (plan.ban_user_namespaces ? "forbidden" : "allowed"));
  constexpr std::string_view kRefused[] = {"", ", what it refuses is told",
                                           ", what it refuses ends the sandbox"};
  row(text, "",
      "system calls: the filter " + std::string(filter_name(plan)) +
          std::string(kRefused[static_cast<std::size_t>(plan.refusals)]));
  row(text, "", "groups of them that are allowed: " + joined(stands.allowed, " "));
  row(text, "", "groups of them that are refused: " + joined(stands.refused, " "));
}

// Where it is, as far as it is known.
std::string layer_place(const plan::Plan& plan) {
  switch (plan.layer) {
    case spec::LayerKind::Disk:
      return "on disk in " + shown(plan.layer_parent) + ", ";
    case spec::LayerKind::Memory:
      return "in memory, ";
    case spec::LayerKind::Auto:
      return "in memory or else on disk, ";
  }
  return {};
}

void add_limits(std::string& text, const spec::Spec& spec, const plan::Plan& plan) {
  row(text, "time",
      "to live " + (spec.ttl ? spec::format_duration(*spec.ttl) : "without a limit") +
          ", between TERM and KILL " + spec::format_duration(spec.grace));
  if (spec.ttl_max)
    row(text, "", "at most " + spec::format_duration(*spec.ttl_max) + " by extending it");
  if (spec.idle) row(text, "", "without output for " + spec::format_duration(*spec.idle));
  if (spec.cpu_time)
    row(text, "", "of work, by all processes together: " + spec::format_duration(*spec.cpu_time));
  if (spec.max_output) row(text, "output", spec::format_size(*spec.max_output) + " at most");
  row(text, "layer",
      spec::format_size(plan.layer_bytes) + " and " + std::to_string(plan.layer_inodes) +
          " files at most, " + layer_place(plan) + "gone at the end");
  const auto number = [](std::uint64_t value) {
    return value == RLIM_INFINITY ? std::string("unlimited") : std::to_string(value);
  };
  for (const auto* limits : {&plan.rlimits, &plan.task_rlimits}) {
    for (const plan::Rlimit& limit : *limits) {
      row(text, "",
          spec::resource_name(limit.resource) + " " + number(limit.soft) +
              (limit.soft == limit.hard ? "" : ", at most " + number(limit.hard)));
    }
  }
}

}  // namespace

std::string explanation_text(const spec::Draft& request, const plan::Plan& plan,
                             const policy::Stands& stands) {
  const spec::Spec& spec = request.spec;
  std::string text;
  row(text, "policy", policy_words(request));
  row(text, "command", joined(plan.argv, " "));
  if (plan.program_paths.size() > 1) {
    row(text, "", "the first that is there: " + joined(plan.program_paths, " "));
  }
  row(text, "directory", shown(plan.chdir) + ", umask " + spec::format_mode(plan.umask));
  add_ids(text, plan.ids);
  row(text, "environment", joined(environment_names(plan), " "));
  row(text, "terminal", plan.terminal ? "one of the sandbox's own" : "none");
  row(text, "network", "none: its own loopback only");
  row(text, "host name", shown(plan.hostname));
  add_rights(text, plan, stands);
  add_limits(text, spec, plan);
  row(text, "cgroup",
      plan.cgroup.from_systemd     ? "one in a scope that systemd will be asked for"
      : plan.cgroup_parent.empty() ? "none: " + plan.cgroup_reason
                                   : "one below " + shown(plan.cgroup_parent));
  add_mounts(text, plan);
  std::string unsafe;
  for (const std::string& option : unsafe_options(spec, stands))
    unsafe += (unsafe.empty() ? "" : ", ") + printable(option);
  if (!unsafe.empty()) text += "\nThis weakens the isolation: " + unsafe + "\n";
  text += "\nOn this host\n";
  for (const plan::Note& note : plan.notes) {
    text += "  " + note.what + ": " + note.how;
    if (note.enforcement == plan::Enforcement::NotEnforced) text += " (NOT ENFORCED)";
    if (note.enforcement == plan::Enforcement::Approximated) text += " (approximated)";
    text += "\n";
  }
  return text;
}

}  // namespace mayfly::report
