// Ways out of a sandbox that lie in a directory which it has as it is: sockets and FIFOs.
#pragma once

#include <cstddef>
#include <string>

namespace mayfly::host {

// In a directory's top two levels: the first of each kind, or empty. Where not all of it could be
// looked at, what was not found may lie in the directory `unseen`, whose path it then has, and
// `why_unseen` says why: "the caller cannot list it, but can get in".
struct Channels {
  std::string socket = {}, fifo = {};
  std::string unseen = {}, why_unseen = {};
  bool operator==(const Channels&) const = default;
};

// So many entries are looked at before a directory is said to be too large; one that is opened
// costs as much as some entries.
inline constexpr std::size_t kMostEntries = 1u << 20;

// What comes later is not found. A directory that the caller can neither list nor enter, nor give
// itself the right to, is passed over: it is no way out for a task either. What lies in
// `working_dir` is looked for from there.
[[nodiscard]] Channels channels_in(const std::string& directory,
                                   const std::string& working_dir = {},
                                   std::size_t most = kMostEntries);

}  // namespace mayfly::host
