// What probe() found, for people and for programs: shared by doctor and features.
#pragma once

#include <string>

#include "base/json_writer.hpp"
#include "host/probe.hpp"

namespace mayfly::cli {

// "user_namespace      works      …", and for a failure its cause and remedy on lines below.
[[nodiscard]] std::string row_text(const host::ProbeRow& row);

// The row as an object.
void write_row(JsonWriter& json, const host::ProbeRow& row);

}  // namespace mayfly::cli
