// Where the command's program may be, in the order in which init tries to execute it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mayfly::plan {

// A name with a slash: that one path. Any other: one path for each element of PATH in `env`, which
// is the task's own environment. Relative paths are taken from `chdir`, the absolute directory in
// which the task starts, and an empty element is that directory, as to execvp and every shell. Only
// an empty name has none.
[[nodiscard]] std::vector<std::string> program_paths(std::string_view program,
                                                     const std::vector<std::string>& env,
                                                     std::string_view chdir);

}  // namespace mayfly::plan
