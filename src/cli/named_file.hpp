// Reads the files that values name, as that of --env-file.
#pragma once

#include <string>

#include "base/result.hpp"

namespace mayfly::cli {

// The content of the file at `path`, which may be a pipe, by host::open_input(); more than 1 MiB is
// refused.
[[nodiscard]] Result<std::string> read_named_file(const std::string& path);

// The same; what lies in `working_dir` is looked for from there.
[[nodiscard]] Result<std::string> read_named_file(const std::string& path,
                                                  const std::string& working_dir);

// The same for descriptor 0, up to its end, which has to come as soon. A terminal is fine: somebody
// said so.
[[nodiscard]] Result<std::string> read_standard_input();

}  // namespace mayfly::cli
