// What the file system entries of a request point to on this host.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace mayfly::host {

struct SourceFact {
  enum class Kind { Directory, File, Device, Socket, Other };
  std::string path;  // as the request names it: absolute and normal
  Kind kind = Kind::Other;
  std::string socket;  // Directory, Socket: a socket in its top two levels, or empty
  bool operator==(const SourceFact&) const = default;
};

// Looks at one source. Errors: it does not exist, or the caller may not see it.
[[nodiscard]] Result<SourceFact> inspect_source(const std::string& path);

// The content of a regular file or pipe that goes into the sandbox as a copy, read whole. Errors:
// as above, or more than `most` bytes.
[[nodiscard]] Result<std::string> read_source(const std::string& path, std::size_t most);

}  // namespace mayfly::host
