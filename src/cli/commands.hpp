// Commands: what each verb does once its command line is read. Each returns the exit code.
#pragma once

#include "base/result.hpp"
#include "cli/options.hpp"

namespace mayfly::cli {

// Runs the command to its end.
[[nodiscard]] int run(const Request& request);
// A request that cannot be run has a result, too.
[[nodiscard]] int refuse_run(const Request& request, const Error& error);

[[nodiscard]] int explain(const Request& request);
[[nodiscard]] int doctor(const Request& request);
[[nodiscard]] int features(const Request& request);
[[nodiscard]] int policy(const Request& request);
[[nodiscard]] int gc(const Request& request);
[[nodiscard]] int version(const Request& request);
[[nodiscard]] int help(const Request& request);

}  // namespace mayfly::cli
