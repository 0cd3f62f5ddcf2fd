// What the options of `mayfly run` do to the request: one function for each that does more than to
// set a field.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "cli/arguments.hpp"
#include "cli/options.hpp"
#include "spec/spec.hpp"

namespace mayfly::cli::run_option {

using spec::FsEntry;
using spec::FsKind;
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
Done set_root(Request& request, Text value);
Done set_project(Request& request, Text value);
Done set_stdin(Request& request, Text value);
Done add_env_file(Request& request, Text value);
Done set_ttl(Request& request, Text value);
Done set_label(Request& request, Text value);
Done set_status_fd(Request& request, Text value);
Done set_unsafe_ids(Request& request, Text value);
Done add_mask(Request& request, Text value);
Done add_device(Request& request, Text value);

template <FsKind kKind>
Done add_tree(Request& request, Text value) {
  return add(request.spec.fs, parse_tree(kKind, request.working_dir, value));
}

}  // namespace mayfly::cli::run_option
