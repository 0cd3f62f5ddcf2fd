// What `run` and `doctor` learn about the host for a request.
#pragma once

#include "base/result.hpp"
#include "host/facts.hpp"
#include "spec/spec.hpp"

namespace mayfly::cli {

// The facts for this request: what its entries point to, and the directories with mounts below that
// it shows. The content of files that are copied inside is put into the spec: a plan opens nothing.
[[nodiscard]] Result<host::HostFacts> gather_facts(spec::Spec& spec);

}  // namespace mayfly::cli
