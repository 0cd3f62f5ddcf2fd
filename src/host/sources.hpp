// What the file system entries of a request point to on this host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "host/channels.hpp"

namespace mayfly::host {

// Which file a path led to. Whoever may rename it could have put another in its place since.
struct Inode {
  std::uint64_t device = 0, number = 0;  // st_dev, st_ino
  bool operator==(const Inode&) const = default;
};

// What a path leads to now; nullopt: nothing that the caller may see.
[[nodiscard]] std::optional<Inode> inode_of(const char* path);

struct SourceFact {
  enum class Kind { Directory, File, Device, Socket, Other };
  std::string path;  // as the request names it: absolute and normal
  Kind kind = Kind::Other;
  std::string real = {};   // the same without symbolic links: what mounts are looked up by
  Channels channels = {};  // in a directory; a socket or FIFO is one itself
  std::optional<Inode> inode = std::nullopt;
  bool operator==(const SourceFact&) const = default;
};

// Looks at one source; for what is in a directory there is channels_in(). What lies in the working
// directory is looked for from there. Errors: it does not exist, or the caller may not see it.
[[nodiscard]] Result<SourceFact> inspect_source(const std::string& path,
                                                const std::string& working_dir);

// Where on the host a path lies, or would if it does not exist: what leads to its last directory
// that exists has no symbolic links then. As it is where that cannot be told.
[[nodiscard]] std::string real_place(const std::string& path, const std::string& working_dir);

// Whether names can be looked up in a directory: the caller may, or owns it and can let itself in,
// as the sandbox's root can. `name` is looked for from the directory `parent`, which may be
// AT_FDCWD.
[[nodiscard]] bool may_enter(int parent, const char* name);

// What to do about a path of the host that cannot be opened or read, by errno; empty: not known.
[[nodiscard]] const char* path_remedy(int error);

// A path without symbolic links, if it is one of these sources; else as it is.
[[nodiscard]] const std::string& real_path(const std::vector<SourceFact>& sources,
                                           const std::string& path);

// What it was when it was looked at, if it is one of these sources.
[[nodiscard]] std::optional<Inode> inode_among(const std::vector<SourceFact>& sources,
                                               const std::string& path);

// The content of a file or pipe that goes into the sandbox as a copy, read whole by open_input()
// and read_input(). Errors: theirs, or more than `most` bytes, which is what the layer holds.
[[nodiscard]] Result<std::string> read_source(const std::string& path,
                                              const std::string& working_dir, std::size_t most);

}  // namespace mayfly::host
