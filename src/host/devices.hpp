// Which disk a path lies on: io limits are the kernel's, and of whole disks.
#pragma once

#include <string>

#include "host/facts.hpp"

namespace mayfly::host {

// `path`: a block device's node, or anything on a file system that lies on one. A partition counts
// as its disk.
[[nodiscard]] Result<BlockDevice> disk_of(const std::string& path);

}  // namespace mayfly::host
