// A spec as a JSON document: what `--print-spec` prints and `--spec` reads.
#pragma once

#include <string>

#include "base/result.hpp"
#include "spec/spec.hpp"

namespace mayfly::spec {

// Every setting that has a value, defaults too, one on a line. Read over the stock policy it gives
// an equal spec. Error: a value that is not UTF-8, which JSON cannot hold.
[[nodiscard]] Result<std::string> write_json(const Spec& spec);

}  // namespace mayfly::spec
