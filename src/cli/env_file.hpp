// Reads an environment file for --env-file.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "spec/spec.hpp"

namespace mayfly::cli {

// The rules in the file at `path`, which may be a pipe; more than 1 MiB is refused.
[[nodiscard]] Result<std::vector<spec::EnvRule>> read_env_file(const std::string& path);

}  // namespace mayfly::cli
