// What tests of the janitor share: what it is to find, and what it says of it.
#pragma once

#include <cstdint>
#include <string>

#include "supervise/janitor.hpp"

namespace mayfly::test {

// All verdicts, sorted, one per line.
[[nodiscard]] std::string collected(const supervise::RuntimeDir& directory,
                                    const supervise::GcRequest& request);

[[nodiscard]] supervise::Record record_of(const std::string& id, const std::string& cgroup = {},
                                          std::uint64_t inode = 0);

// What a killed supervisor leaves: an entry that nobody holds.
void leave_entry(const supervise::RuntimeDir& directory, const supervise::Record& record);

}  // namespace mayfly::test
