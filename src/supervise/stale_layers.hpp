// Layers on disk that killed supervisors left behind: the janitor's part that removes them.
#pragma once

#include <string>
#include <vector>

#include "supervise/janitor.hpp"

namespace mayfly::supervise {

// The layer that a record names, if that can be one of ours. Why it is kept, or empty. patience_ns
// 0: it is, since to remove one may take a while.
[[nodiscard]] Result<std::string> remove_layer(const Record& record, std::int64_t patience_ns);

// Layers of runs that were killed before they had an entry.
[[nodiscard]] Result<void> collect_layers(const RuntimeDir& directory, const GcRequest& request,
                                          std::vector<Verdict>& verdicts);

}  // namespace mayfly::supervise
