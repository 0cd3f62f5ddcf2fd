// Reads what a value names or standard input holds, in a bounded time: files, pipes, devices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace mayfly::host {

// How long what is no regular file may take to its end.
inline constexpr std::int64_t kInputPatience = 30'000'000'000;

// Waits for nobody. Refused, by what was opened and not by what was at the path before: a terminal,
// and a FIFO that has a name; both may never end. A pipe, as of a process substitution, is fine.
// What lies in `working_dir` is looked for from there; empty: by its path.
[[nodiscard]] Result<Fd> open_input(const std::string& path, const std::string& working_dir = {});

// Reads to the end; `name` is for errors, as they show it. More than `most` bytes is an error
// (EFBIG), and so is an end that does not come in time. The descriptor need not be a non-blocking
// one.
[[nodiscard]] Result<std::string> read_input(int fd, const std::string& name, std::size_t most,
                                             std::int64_t patience_ns = kInputPatience);

}  // namespace mayfly::host
