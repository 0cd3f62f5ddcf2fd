// Words: how values of the plan are called in JSON and in text. One name for one thing everywhere.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_writer.hpp"
#include "plan/plan.hpp"
#include "policy/programs.hpp"
#include "spec/setting.hpp"
#include "supervise/outcome.hpp"

namespace mayfly::report {

[[nodiscard]] std::string_view enforcement_name(plan::Enforcement enforcement);

// "CAP_SETFCAP" …; a mask with all bits is "all".
[[nodiscard]] std::vector<std::string> capability_names(std::uint64_t mask);

// Of the filter that is loaded; "custom": made of groups that a policy or option chose.
[[nodiscard]] std::string_view filter_name(const plan::Plan& plan);

// "silent", "told", "fatal"
[[nodiscard]] std::string_view refusals_name(plan::Refusals refusals);

// The options of this request that weaken the isolation, as they are written: "--keep-caps".
[[nodiscard]] std::vector<std::string> unsafe_options(const spec::Spec& spec,
                                                      const policy::Stands& stands);

// The policies that the settings came from, with the stock one where none is named.
[[nodiscard]] std::vector<spec::PolicySource> named_policies(
    const std::vector<spec::PolicySource>& policies);

// The member "policy": an object {name, file, extends}.
void write_policy(JsonWriter& json, const std::vector<spec::PolicySource>& policies);

// "0x1f"
[[nodiscard]] std::string hexadecimal(std::uint64_t number);

// The member "labels": an object.
void write_labels(JsonWriter& json, const supervise::Outcome& outcome);

// The members of a refused call: kind, name, number, answer, count.
void write_denial(JsonWriter& json, const supervise::Denial& denial);

// The member "notes": an array of {what, enforcement, how}.
void write_notes(JsonWriter& json, const std::vector<plan::Note>& notes);

}  // namespace mayfly::report
