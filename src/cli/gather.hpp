// What `run` and `doctor` learn about the host for a request.
#pragma once

#include <string>

#include "base/result.hpp"
#include "host/facts.hpp"
#include "spec/spec.hpp"

namespace mayfly::cli {

// The facts for this request: what its entries point to, and the directories with mounts below that
// it shows. working_dir: the caller's, or empty if it has none. The content of files that are
// copied inside is put into the spec: a plan opens nothing.
[[nodiscard]] Result<host::HostFacts> gather_facts(spec::Spec& spec,
                                                   const std::string& working_dir);

}  // namespace mayfly::cli
