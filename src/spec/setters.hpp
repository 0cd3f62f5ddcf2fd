// What settings do to the draft: one function for each that does more than to set a field.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "spec/arguments.hpp"
#include "spec/setting.hpp"

namespace mayfly::spec::setters {

using Text = std::string_view;
using Done = Result<void>;

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

Done set_true(bool& field);
Done set_text(std::string& field, Text value);
Done set_root(Draft& draft, Text value);
Done set_project(Draft& draft, Text value);
Done set_stdin(Draft& draft, Text value);
Done add_env_file(Draft& draft, Text value);
Done set_limit(std::optional<Nanoseconds>& field, Text value);  // 0: none
Done set_max_output(Draft& draft, Text value);
Done set_tty(Draft& draft, Text value);
Done set_label(Draft& draft, Text value);
Done set_descriptor(int& field, Text value);
Done set_seccomp_action(Draft& draft, Text value);
Done set_unsafe_ids(Draft& draft, Text value);
Done add_mask(Draft& draft, Text value);
Done add_device(Draft& draft, Text value);

template <FsKind kKind>
Done add_tree(Draft& draft, Text value) {
  return add(draft.spec.fs, parse_tree(kKind, draft.working_dir, value));
}

}  // namespace mayfly::spec::setters
