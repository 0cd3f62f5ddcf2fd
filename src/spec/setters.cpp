#include "spec/setters.hpp"

#include <climits>
#include <iterator>
#include <optional>

#include "base/text.hpp"
#include "spec/env_file.hpp"
#include "spec/units.hpp"

namespace mayfly::spec::setters {

Done set_true(bool& field) {
  field = true;
  return {};
}

Done set_text(std::string& field, Text value) {
  field = std::string(value);
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

Done set_project(Draft& draft, Text value) {
  Project project = TRY(parse_project(draft.working_dir, value));
  draft.spec.project = project.mode;
  draft.spec.project_is_asked = true;
  draft.spec.project_dir = std::move(project.dir);
  return {};
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

Done set_max_output(Draft& draft, Text value) {
  const std::uint64_t bytes = TRY(parse_size(value));
  draft.spec.max_output = bytes == 0 ? std::nullopt : std::optional(bytes);
  return {};
}

Done set_tty(Draft& draft, Text value) {
  if (value == "auto") draft.spec.tty = TtyMode::Auto;
  if (value == "yes") draft.spec.tty = TtyMode::Yes;
  if (value == "no") draft.spec.tty = TtyMode::No;
  if (value == "auto" || value == "yes" || value == "no") return {};
  return usage_error("read " + shown(value) + " as a choice of terminal",
                     "write --tty auto, --tty yes or --tty no");
}

Done set_label(Draft& draft, Text value) {
  auto label = TRY(parse_label(value));
  for (auto& [name, old] : draft.spec.labels) {
    if (name == label.first) return set_text(old, label.second);
  }
  // One too many is enough for validate() to refuse them, however many there are.
  if (draft.spec.labels.size() <= kMostLabels) {
    draft.spec.labels.push_back(std::move(label));
  }
  return {};
}

Done set_descriptor(int& field, Text value) {
  field = static_cast<int>(TRY(parse_count(value, INT_MAX)));
  return {};
}

Done set_seccomp_action(Draft& draft, Text value) {
  if (value != "errno" && value != "kill") {
    return usage_error("read " + shown(value) + " as what a refused system call does",
                       "write errno or kill");
  }
  draft.spec.seccomp_action = value == "kill" ? SeccompAction::Kill : SeccompAction::Errno;
  return {};
}

Done set_unsafe_ids(Draft& draft, Text value) {
  if (value != "host") {
    return usage_error("read " + std::string(value) + ": the only choice is host",
                       "write --unsafe-ids=host");
  }
  return set_true(draft.spec.unsafe.unsafe_host_ids);
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

}  // namespace mayfly::spec::setters
