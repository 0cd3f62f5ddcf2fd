// A layer on disk: a fresh directory of the cache directory, for kernels whose tmpfs cannot hold
// overlay's upper directories (before 6.6).
//
// Threat: writes that outlive the sandbox; names in it, and above it, that lead out when it is
// removed. Kernel: an overlay with userxattr on a file system with user xattrs. It is removed
// through descriptors that are held from its start on, its name only if that is still its own. The
// supervisor holds its lock (flock) as long as the sandbox lives: gc removes those that nobody
// holds. Does not stop: a sandbox that writes faster than its size is looked at, and what is
// unlinked while it is open.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace mayfly::isolate::disk_layer {

struct Made {
  Fd parent;
  Fd directory;  // locked
  std::string path;
};

struct Owner {
  uid_t uid = 0;
  gid_t gid = 0;
};

// Makes <parent>/<id>, and the parent, which must be the caller's own. What a killed run has left
// there is removed. `owner`: whom the child half is when it enters it.
[[nodiscard]] Result<Made> make(const std::string& parent, const std::string& id, Owner owner);

// The directory in which layers are, judged as hostile: it and the one above it are the caller's
// own, and nobody else may write in them or change what their path leads to. ENOENT: there is none.
[[nodiscard]] Result<Fd> open_parent(const std::string& parent);

// What is at the place of a layer.
struct Found {
  enum class State {
    Nothing,
    InUse,    // or being made
    Foreign,  // nothing that mayfly made, or another one than the recorded
    Stale,    // a layer that nobody holds: `layer`, now locked
  };
  State state = State::Nothing;
  Made layer;
};
// inode: the recorded one; 0: unknown, then a layer is known by its mark.
[[nodiscard]] Result<Found> find(const std::string& path, std::uint64_t inode);

// Removes a layer with all that is in it, however deep. Nothing is followed, no mount crossed. If
// its name is another file's by now, that is left alone and told as an error: the layer is empty
// then. `deadline_ns` (boot clock): when to give up with ETIMEDOUT; 0: never. The lock is still
// held when it is gone.
[[nodiscard]] Result<void> remove(const Made& made, std::int64_t deadline_ns);

// A directory beneath another one, while the task lives. If its mode keeps even its owner from
// reading it, it is another one while it is opened. EACCES: the one above may not be searched.
[[nodiscard]] Result<Fd> open_to_list(const Fd& directory, const char* name);

}  // namespace mayfly::isolate::disk_layer
