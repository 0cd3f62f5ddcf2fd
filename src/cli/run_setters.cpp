#include "cli/run_setters.hpp"

#include <climits>
#include <iterator>
#include <optional>

#include "cli/env_file.hpp"
#include "spec/units.hpp"

namespace mayfly::cli::run_option {

Done set_true(bool& field) {
  field = true;
  return {};
}

Done set_text(std::string& field, Text value) {
  field = std::string(value);
  return {};
}

Done set_root(Request& request, Text value) {
  request.spec.root_dir.clear();
  if (value == "host" || value == "empty") {
    request.spec.root = value == "host" ? spec::RootKind::Host : spec::RootKind::Empty;
    return {};
  }
  request.spec.root = spec::RootKind::Directory;
  return set(request.spec.root_dir, absolute_path(request.working_dir, value));
}

Done set_project(Request& request, Text value) {
  Project project = TRY(parse_project(request.working_dir, value));
  request.spec.project = project.mode;
  request.spec.project_is_asked = true;
  request.spec.project_dir = std::move(project.dir);
  return {};
}

Done set_stdin(Request& request, Text value) {
  request.spec.stdin_file.clear();
  if (value == "inherit" || value == "null") {
    request.spec.stdin_kind = value == "null" ? spec::StdinKind::Null : spec::StdinKind::Inherit;
    return {};
  }
  request.spec.stdin_kind = spec::StdinKind::File;
  return set(request.spec.stdin_file, absolute_path(request.working_dir, value));
}

Done add_env_file(Request& request, Text value) {
  const std::string path = TRY(absolute_path(request.working_dir, value));
  std::vector<spec::EnvRule> rules = TRY(read_env_file(path));
  std::move(rules.begin(), rules.end(), std::back_inserter(request.spec.env));
  return {};
}

Done set_ttl(Request& request, Text value) {
  const spec::Nanoseconds ttl = TRY(spec::parse_duration(value));
  request.spec.ttl = ttl == spec::Nanoseconds::zero() ? std::nullopt : std::optional(ttl);
  return {};
}

Done set_label(Request& request, Text value) {
  auto label = TRY(parse_label(value));
  for (auto& [name, old] : request.spec.labels) {
    if (name == label.first) return set_text(old, label.second);
  }
  // One too many is enough for validate() to refuse them, however many there are.
  if (request.spec.labels.size() <= spec::kMostLabels) {
    request.spec.labels.push_back(std::move(label));
  }
  return {};
}

Done set_status_fd(Request& request, Text value) {
  request.spec.status_fd = static_cast<int>(TRY(spec::parse_count(value, INT_MAX)));
  return {};
}

Done set_unsafe_ids(Request& request, Text value) {
  if (value != "host") {
    return usage_error("read " + std::string(value) + ": the only choice is host",
                       "write --unsafe-ids=host");
  }
  return set_true(request.spec.unsafe.unsafe_host_ids);
}

// --mask and --device: one path, which needs no escapes.
Done add_mask(Request& request, Text value) {
  FsEntry entry;
  entry.kind = FsKind::Mask;
  entry.target = path_inside(value);
  request.spec.fs.push_back(std::move(entry));
  return {};
}

Done add_device(Request& request, Text value) {
  FsEntry entry;
  entry.kind = FsKind::Device;
  entry.source = path_inside(value);
  entry.target = entry.source;
  request.spec.fs.push_back(std::move(entry));
  return {};
}

}  // namespace mayfly::cli::run_option
