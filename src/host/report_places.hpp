// Where the files lie that mayfly itself uses for its caller while a task runs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/sources.hpp"

namespace mayfly::host {

struct ReportPlace {
  enum class Kind { Result, Status, Control };
  Kind kind = Kind::Result;
  std::string path;  // absolute, without symbolic links
  // The directories that a result is in, up to the root: one that is moved meanwhile has another
  // path, and is the same.
  std::vector<Inode> above = {};
  bool operator==(const ReportPlace&) const = default;
};

// Of a result that is to be written at `path`: its directory's, and its name in that. nullopt:
// there is no such directory, so none will be written. What lies in the working directory is
// looked for from there.
[[nodiscard]] std::optional<std::string> place_of_result(const std::string& path,
                                                         const std::string& working_dir);

// For ReportPlace::above; as far as it could be looked at.
[[nodiscard]] std::vector<Inode> above_result(const std::string& path,
                                              const std::string& working_dir);

// Of the regular file or FIFO that an open descriptor is. nullopt: it is something else, such as a
// pipe, or nothing leads to it any more.
[[nodiscard]] std::optional<std::string> place_of_descriptor(int fd);

}  // namespace mayfly::host
