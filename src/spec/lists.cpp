#include "spec/lists.hpp"

#include "spec/arguments.hpp"
#include "spec/limit_arguments.hpp"

namespace mayfly::spec {
namespace {

std::vector<ListValue> mounts(const Spec& spec) {
  std::vector<ListValue> values;
  for (const FsEntry& entry : spec.fs)
    values.push_back(
        {.item = std::string(option_of(entry.kind).substr(2)), .text = format_entry(entry)});
  return values;
}

std::vector<ListValue> env(const Spec& spec) {
  std::vector<ListValue> values;
  for (const EnvRule& rule : spec.env) {
    if (rule.kind == EnvKind::Set) {
      values.push_back({.item = "set", .text = rule.name + "=" + rule.value});
    } else {
      values.push_back({.item = "pass", .text = rule.name});
    }
  }
  return values;
}

std::vector<ListValue> labels(const Spec& spec) {
  std::vector<ListValue> values;
  for (const auto& [name, value] : spec.labels)
    values.push_back({.item = name, .text = value});
  return values;
}

std::vector<ListValue> command(const Spec& spec) {
  std::vector<ListValue> values;
  for (const std::string& word : spec.argv)
    values.push_back({.item = {}, .text = word});
  return values;
}

std::vector<ListValue> io(const Spec& spec) {
  std::vector<ListValue> values;
  for (const IoLimit& limit : spec.limits.io)
    values.push_back({.item = {}, .text = format_io(limit)});
  return values;
}

std::vector<ListValue> rlimits(const Spec& spec) {
  std::vector<ListValue> values;
  for (const ResourceLimit& limit : spec.limits.resources)
    values.push_back({.item = limit.name, .text = format_rlimit(limit)});
  return values;
}

std::vector<ListValue> syscalls(const Spec& spec) {
  std::vector<ListValue> values;
  for (const SyscallRule& rule : spec.syscalls)
    values.push_back({.item = rule.stand == Stand::Allow ? "allow" : "deny", .text = rule.group});
  return values;
}

constexpr ListKey kListKeys[] = {
    {.key = "mounts", .form = Form::Item, .values = mounts},
    {.key = "env", .form = Form::Item, .values = env},
    {.key = "labels", .form = Form::Pairs, .values = labels},
    {.key = "io", .form = Form::Strings, .values = io},
    {.key = "rlimits", .form = Form::Pairs, .values = rlimits},
    {.key = "syscalls", .form = Form::Strings, .values = syscalls},
    {.key = "command", .form = Form::Strings, .values = command},
};

}  // namespace

std::span<const ListKey> list_keys() {
  return kListKeys;
}

}  // namespace mayfly::spec
