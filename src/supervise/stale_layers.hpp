// Layers on disk that killed supervisors left behind: the janitor's part that removes them.
#pragma once

#include <string>
#include <vector>

#include "supervise/janitor.hpp"

namespace mayfly::supervise {

struct LayerEnd {
  bool kept = false;
  std::string why;  // it is kept; else what was special about it, or empty
};

// The layer that a record names, if that can be one of ours. patience_ns 0: it is kept, since to
// remove one may take a while.
[[nodiscard]] Result<LayerEnd> remove_layer(const Record& record, std::int64_t patience_ns);

// Layers without an entry: of runs that were killed before they had one, or in an earlier boot.
void collect_layers(const RuntimeDir& directory, const GcRequest& request,
                    std::vector<Verdict>& verdicts);

}  // namespace mayfly::supervise
