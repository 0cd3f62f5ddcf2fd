// How limits are written, on the command line and in documents.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "spec/limits.hpp"

namespace mayfly::spec {

// "2", "0.5": thousandths of a processor.
[[nodiscard]] Result<std::uint64_t> parse_cpus(std::string_view text);

// [PATH:]KEY=VALUE[,KEY=VALUE...]; the path may hold ':'.
[[nodiscard]] Result<IoLimit> parse_io(std::string_view working_dir, std::string_view text);

// NAME=SOFT[:HARD]
[[nodiscard]] Result<ResourceLimit> parse_rlimit(std::string_view text);

[[nodiscard]] Result<LayerKind> parse_layer(std::string_view text);
[[nodiscard]] Result<Strictness> parse_strictness(std::string_view text);

// The way back.
[[nodiscard]] std::string format_cpus(std::uint64_t thousandths);
[[nodiscard]] std::string format_io(const IoLimit& limit);
[[nodiscard]] std::string format_rlimit(const ResourceLimit& limit);  // SOFT:HARD, without the name
[[nodiscard]] std::string format_layer(LayerKind layer);
[[nodiscard]] std::string format_strictness(Strictness strictness);

}  // namespace mayfly::spec
