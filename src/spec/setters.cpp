#include "spec/setters.hpp"

#include <algorithm>
#include <climits>
#include <iterator>
#include <optional>

#include "base/text.hpp"
#include "spec/checks.hpp"
#include "spec/env_file.hpp"
#include "spec/limit_arguments.hpp"

namespace mayfly::spec::setters {

Done set_switch(bool& field, Text value) {
  if (value != "" && value != "true" && value != "false") {
    return usage_error("read " + shown(value) + " as a switch: it is neither true nor false",
                       "write true or false");
  }
  field = value != "false";
  return {};
}

Done set_root(Draft& draft, Text value) {
  draft.spec.root_dir.clear();
  if (value == "host" || value == "empty") {
    draft.spec.root = value == "host" ? RootKind::Host : RootKind::Empty;
    return {};
  }
  draft.spec.root = RootKind::Directory;
  return set(draft.spec.root_dir, absolute_path(draft.working_dir, value));
}

Written root_text(const Spec& spec) {
  if (spec.root == RootKind::Directory) return spec.root_dir;
  return spec.root == RootKind::Host ? "host" : "empty";
}

Done set_project(Draft& draft, Text value) {
  Project project = TRY(parse_project(draft.working_dir, value));
  draft.spec.project = project.mode;
  draft.spec.project_is_asked = true;
  draft.spec.project_dir = std::move(project.dir);
  return {};
}

Written project_text(const Spec& spec) {
  if (!spec.project_is_asked) return std::nullopt;
  return format_project({.mode = spec.project, .dir = spec.project_dir});
}

Done set_stdin(Draft& draft, Text value) {
  draft.spec.stdin_file.clear();
  if (value == "inherit" || value == "null") {
    draft.spec.stdin_kind = value == "null" ? StdinKind::Null : StdinKind::Inherit;
    return {};
  }
  draft.spec.stdin_kind = StdinKind::File;
  return set(draft.spec.stdin_file, absolute_path(draft.working_dir, value));
}

Written stdin_text(const Spec& spec) {
  if (spec.stdin_kind == StdinKind::File) return spec.stdin_file;
  return spec.stdin_kind == StdinKind::Null ? "null" : "inherit";
}

Written umask_text(const Spec& spec) {
  return format_mode(spec.umask);
}

Done add_env(Draft& draft, Text value) {
  draft.spec.env.push_back(parse_env(value));
  return check_env(draft.spec.env.back());
}

// A name alone is no pattern: it is taken from the caller, as --env NAME does.
Done pass_env(Draft& draft, Text value) {
  const EnvKind kind = is_variable_name(value) ? EnvKind::PassName : EnvKind::PassPattern;
  draft.spec.env.push_back({.kind = kind, .name = std::string(value), .value = {}});
  return check_env(draft.spec.env.back());
}

Done add_env_file(Draft& draft, Text value) {
  const std::string path = TRY(absolute_path(draft.working_dir, value));
  const std::string text = TRY(draft.read_file(path));
  std::vector<EnvRule> rules = TRY(parse_env_file(path, text));
  std::move(rules.begin(), rules.end(), std::back_inserter(draft.spec.env));
  return {};
}

Done set_limit(std::optional<Nanoseconds>& field, Text value) {
  const Nanoseconds limit = TRY(parse_duration(value));
  field = limit == Nanoseconds::zero() ? std::nullopt : std::optional(limit);
  return {};
}

Done set_limit(std::optional<std::uint64_t>& field, Text value) {
  const std::uint64_t bytes = TRY(parse_size(value));
  field = bytes == 0 ? std::nullopt : std::optional(bytes);
  return {};
}

Written limit_text(const std::optional<Nanoseconds>& field) {
  return format_duration(field.value_or(Nanoseconds::zero()));
}

Written limit_text(const std::optional<std::uint64_t>& field) {
  return format_size(field.value_or(0));
}

Done set_tty(Draft& draft, Text value) {
  if (value == "auto") draft.spec.tty = TtyMode::Auto;
  if (value == "yes") draft.spec.tty = TtyMode::Yes;
  if (value == "no") draft.spec.tty = TtyMode::No;
  if (value == "auto" || value == "yes" || value == "no") return {};
  return usage_error("read " + shown(value) + " as a choice of terminal",
                     "write --tty auto, --tty yes or --tty no");
}

Written tty_text(const Spec& spec) {
  if (spec.tty == TtyMode::Auto) return "auto";
  return spec.tty == TtyMode::Yes ? "yes" : "no";
}

namespace {
// In the spec an empty text is none: nobody who gives one means that.
Done refuse_empty(Text value, const char* use, const char* option) {
  if (!value.empty()) return {};
  return usage_error(std::string(use) + ": it is empty",
                     "leave " + std::string(option) + " out, or check the variable in its place");
}
}  // namespace

// Whoever writes - means standard output, as --spec - means standard input.
Done set_result(Draft& draft, Text value) {
  if (value == "-") {
    return usage_error("write the result to -: standard output is the command's",
                       "--status-fd N writes it to a descriptor; a file of that name is ./-");
  }
  // Of the path in its normal form this is no longer to be seen.
  const Text last = value.substr(value.rfind('/') + 1);
  if (!value.empty() && (last.empty() || last == "." || last == "..")) {
    return usage_error("write the result to " + shown(value) + ": that is the name of a directory",
                       "name a file in it, or leave out what is behind the file's name");
  }
  return set(draft.spec.result_file, absolute_path(draft.working_dir, value));
}

Done set_name(Draft& draft, Text value) {
  TRY(refuse_empty(value, "use '' as a sandbox name", "--name"));
  draft.spec.name = std::string(value);
  return {};
}

Done set_user(Draft& draft, Text value) {
  TRY(refuse_empty(value, "run as user ''", "--user"));
  draft.spec.user = std::string(value);
  return {};
}

Done set_chdir(Draft& draft, Text value) {
  TRY(refuse_empty(value, "start in ''", "--chdir"));
  draft.spec.chdir = path_inside(value);
  return {};
}

Done set_label(Draft& draft, Text value) {
  auto label = TRY(parse_label(value));
  for (auto& [name, old] : draft.spec.labels) {
    if (name != label.first) continue;
    old = std::move(label.second);
    return {};
  }
  // One too many is enough for validate() to refuse them, however many there are.
  if (draft.spec.labels.size() <= kMostLabels) {
    draft.spec.labels.push_back(std::move(label));
  }
  return {};
}

Done set_descriptor(int& field, Text value) {
  Result<std::uint64_t> number = parse_count(value, INT_MAX);
  if (!number) {
    number.error().hint = "the number of an open descriptor, from 3 on";
    return std::move(number).error();
  }
  field = static_cast<int>(*number);
  return {};
}

Written descriptor_text(int field) {
  return field < 0 ? std::nullopt : std::optional(std::to_string(field));
}

Done set_seccomp_action(Draft& draft, Text value) {
  if (value != "errno" && value != "kill") {
    return usage_error("read " + shown(value) + " as what a refused system call does",
                       "write errno or kill");
  }
  draft.spec.seccomp_action = value == "kill" ? SeccompAction::Kill : SeccompAction::Errno;
  return {};
}

Written seccomp_action_text(const Spec& spec) {
  return spec.seccomp_action == SeccompAction::Kill ? "kill" : "errno";
}

Done set_unsafe_ids(Draft& draft, Text value) {
  if (value != "host") {
    return usage_error("read " + shown(value) + ": the only choice is host",
                       "write --unsafe-ids=host");
  }
  draft.spec.unsafe.unsafe_host_ids = true;
  return {};
}

Written unsafe_ids_text(const Spec& spec) {
  return spec.unsafe.unsafe_host_ids ? std::optional<std::string>("host") : std::nullopt;
}

// --mask and --device: one path, which needs no escapes.
Done add_mask(Draft& draft, Text value) {
  FsEntry entry;
  entry.kind = FsKind::Mask;
  entry.target = path_inside(value);
  draft.spec.fs.push_back(std::move(entry));
  return {};
}

Done add_device(Draft& draft, Text value) {
  FsEntry entry;
  entry.kind = FsKind::Device;
  entry.source = path_inside(value);
  entry.target = entry.source;
  draft.spec.fs.push_back(std::move(entry));
  return {};
}

Done set_rlimit(Draft& draft, Text value) {
  ResourceLimit limit = TRY(parse_rlimit(value));
  for (ResourceLimit& old : draft.spec.limits.resources) {
    if (old.name != limit.name) continue;
    old = std::move(limit);
    return {};
  }
  draft.spec.limits.resources.push_back(std::move(limit));
  return {};
}

Done add_syscall_rules(Draft& draft, Stand stand, Text groups) {
  for (const Text group : split(groups, ',')) {
    if (group.empty()) {
      return usage_error("read " + shown(groups) + " as groups of system calls: a name is empty",
                         "mayfly-policy(5) lists the groups");
    }
    std::vector<SyscallRule>& rules = draft.spec.syscalls;
    const auto at =
        std::lower_bound(rules.begin(), rules.end(), group,
                         [](const SyscallRule& rule, Text wanted) { return rule.group < wanted; });
    if (at != rules.end() && at->group == group) {
      at->stand = stand;
    } else {
      rules.insert(at, {.group = std::string(group), .stand = stand});
    }
  }
  return {};
}

Done add_word(Draft& draft, Text value) {
  draft.spec.argv.emplace_back(value);
  return {};
}

}  // namespace mayfly::spec::setters
