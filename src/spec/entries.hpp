// Entries: whether those of a sandbox's file system can be made, each and one after the other.
#pragma once

#include <vector>

#include "base/result.hpp"
#include "spec/spec.hpp"

namespace mayfly::spec {

[[nodiscard]] Result<void> check_entries(const std::vector<FsEntry>& entries);

}  // namespace mayfly::spec
