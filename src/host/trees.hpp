// A directory with other file systems mounted below it, taken apart: what a plan needs to show it
// copy-on-write although the kernel takes no such directory as a lower layer of an overlay inside a
// user namespace.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "host/sources.hpp"

namespace mayfly::host {

struct MountPoint;

// An entry of a directory that leads to a mount.
struct TreeEntry {
  enum class Kind {
    Lower,      // a directory without mounts in it: it can be a lower layer
    Opened,     // a directory that leads to a mount: its entries follow
    Crowded,    // the same, with more entries than are worth it, or none that we may list
    DirPoint,   // a directory on which something is mounted: the next part
    FilePoint,  // a file on which something is mounted
    File,       // data is its content
    Unread,     // a file that is too large to be copied, or that the caller may not read
    Symlink,    // data is where it points
  };
  std::string path = {};  // relative to the part
  Kind kind = Kind::Lower;
  unsigned mode = 0755;
  std::string data = {};
  std::int64_t modified_ns = 0;  // File: CLOCK_REALTIME; programs such as make go by it
  Channels channels = {};        // Crowded
  std::optional<Inode> inode = std::nullopt;
  bool operator==(const TreeEntry&) const = default;
};

// The tree's own directory, or one thing that is mounted below it.
struct TreePart {
  enum class Kind { Directory, File, Other };
  std::string path = {};  // absolute
  Kind kind = Kind::Directory;
  std::string fstype = {};
  bool mounts_below = false;
  bool detachable = false;  // the caller may copy its mount without the mounts below
  bool crowded = false;     // its own directory is (TreeEntry::Kind::Crowded)
  bool closed = false;      // the caller may not look up anything in it
  Channels channels = {};   // in a mounted or crowded directory
  std::optional<Inode> inode = std::nullopt;
  std::vector<TreeEntry> entries = {};  // mounts_below and not detachable; parents first
  bool operator==(const TreePart&) const = default;
};

struct TreeFact {
  std::string path = {};             // absolute, without symbolic links
  std::vector<TreePart> parts = {};  // the tree itself first; parents before what is in them
  bool operator==(const TreeFact&) const = default;
};

// How much is looked at.
enum class TreeDetail {
  Parts,    // what is mounted where
  Entries,  // the entries of directories that have to be rebuilt, too, with the content of files
};

// Looks at the directory `path`, which has mounts below. At most `most_copied` bytes of file
// content are read. Errors: it cannot be looked at, or more is mounted below than a sandbox takes.
[[nodiscard]] Result<TreeFact> look_at_tree(const std::string& path, TreeDetail detail,
                                            const std::vector<MountPoint>& mounts,
                                            std::uint64_t most_copied);

// True for the kernel's own file systems, which tell about the host or change it: none of them is
// shown inside because it happens to lie below something else.
[[nodiscard]] bool is_kernel_fs(const std::string& fstype);

}  // namespace mayfly::host
