// What settings do to the draft, and the way back: for each kind of value a function that reads it
// into the spec, and one that writes what the spec has as the same text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "spec/arguments.hpp"
#include "spec/setting.hpp"
#include "spec/units.hpp"

namespace mayfly::spec::setters {

using Text = std::string_view;
using Done = Result<void>;
using Written = std::optional<std::string>;

template <class Field, class Value>
Done set(Field& field, Result<Value> value) {
  field = TRY(std::move(value));
  return {};
}

template <class List, class Value>
Done add(List& list, Result<Value> value) {
  list.push_back(TRY(std::move(value)));
  return {};
}

// The field that a pointer to a member of Spec, or of one of its parts, names.
template <auto kField>
auto& field(auto& spec) {
  if constexpr (std::is_invocable_v<decltype(kField), Unsafe&>) {
    return spec.unsafe.*kField;
  } else if constexpr (std::is_invocable_v<decltype(kField), Limits&>) {
    return spec.limits.*kField;
  } else {
    return spec.*kField;
  }
}

Done set_switch(bool& field, Text value);
template <auto kField>
Done set_switch(Draft& draft, Text value) {
  return set_switch(field<kField>(draft.spec), value);
}
template <auto kField>
Written switch_text(const Spec& spec) {
  return field<kField>(spec) ? "true" : "false";
}

template <auto kField>
Done set_text(Draft& draft, Text value) {
  field<kField>(draft.spec) = std::string(value);
  return {};
}
// A text that is empty stands for none.
template <auto kField>
Written text_text(const Spec& spec) {
  const std::string& text = field<kField>(spec);
  return text.empty() ? std::nullopt : std::optional(text);
}

// What is optional need not be there.
template <class Format>
Written written(std::uint64_t value, Format format) {
  return format(value);
}
template <class Format>
Written written(const std::optional<std::uint64_t>& value, Format format) {
  return value ? Written(format(*value)) : std::nullopt;
}
inline std::string decimal(std::uint64_t value) {
  return std::to_string(value);
}

template <auto kField, std::uint64_t kLeast, std::uint64_t kMost>
Done set_count(Draft& draft, Text value) {
  return set(field<kField>(draft.spec), parse_count(value, kMost, kLeast));
}
template <auto kField>
Written count_text(const Spec& spec) {
  return written(field<kField>(spec), decimal);
}

template <auto kField>
Done set_size(Draft& draft, Text value) {
  return set(field<kField>(draft.spec), parse_size(value));
}
template <auto kField>
Written size_text(const Spec& spec) {
  return written(field<kField>(spec), format_size);
}

template <auto kField>
Done set_duration(Draft& draft, Text value) {
  return set(field<kField>(draft.spec), parse_duration(value));
}
template <auto kField>
Written duration_text(const Spec& spec) {
  return format_duration(field<kField>(spec));
}

// A duration or a size of which 0 means that there is none.
Done set_limit(std::optional<Nanoseconds>& field, Text value);
Done set_limit(std::optional<std::uint64_t>& field, Text value);
Written limit_text(const std::optional<Nanoseconds>& field);
Written limit_text(const std::optional<std::uint64_t>& field);
template <auto kField>
Done set_limit(Draft& draft, Text value) {
  return set_limit(field<kField>(draft.spec), value);
}
template <auto kField>
Written limit_text(const Spec& spec) {
  return limit_text(field<kField>(spec));
}

Done set_descriptor(int& field, Text value);
Written descriptor_text(int field);
template <auto kField>
Done set_descriptor(Draft& draft, Text value) {
  return set_descriptor(field<kField>(draft.spec), value);
}
template <auto kField>
Written descriptor_text(const Spec& spec) {
  return descriptor_text(field<kField>(spec));
}

// Those whose value is more than a field.
Done set_root(Draft& draft, Text value);
Written root_text(const Spec& spec);
Done set_project(Draft& draft, Text value);
Written project_text(const Spec& spec);
Done set_stdin(Draft& draft, Text value);
Written stdin_text(const Spec& spec);
Written umask_text(const Spec& spec);
Done set_tty(Draft& draft, Text value);
Written tty_text(const Spec& spec);
Done set_seccomp_action(Draft& draft, Text value);
Written seccomp_action_text(const Spec& spec);
Done set_result(Draft& draft, Text value);
Done set_name(Draft& draft, Text value);
Done set_user(Draft& draft, Text value);
Done set_chdir(Draft& draft, Text value);
Done set_unsafe_ids(Draft& draft, Text value);
Written unsafe_ids_text(const Spec& spec);

// Those that add to a list: the way back is in lists.hpp.
Done add_env(Draft& draft, Text value);
Done pass_env(Draft& draft, Text value);
Done add_env_file(Draft& draft, Text value);
Done set_label(Draft& draft, Text value);
Done add_mask(Draft& draft, Text value);
Done add_device(Draft& draft, Text value);
Done set_rlimit(Draft& draft, Text value);
Done add_word(Draft& draft, Text value);

// GROUP[,GROUP...]; a later rule for a group replaces an earlier one.
Done add_syscall_rules(Draft& draft, Stand stand, Text groups);
template <Stand kStand>
Done add_syscall_rules(Draft& draft, Text groups) {
  return add_syscall_rules(draft, kStand, groups);
}

template <FsKind kKind>
Done add_tree(Draft& draft, Text value) {
  return add(draft.spec.fs, parse_tree(kKind, draft.working_dir, value));
}

}  // namespace mayfly::spec::setters
