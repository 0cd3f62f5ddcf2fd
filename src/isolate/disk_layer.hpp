// A layer on disk: a fresh directory of the cache directory, for kernels whose tmpfs cannot hold
// overlay's upper directories (before 6.6).
//
// Threat: writes that outlive the sandbox; names in it that lead out when it is removed. Kernel: an
// overlay with userxattr on a file system with user xattrs. The supervisor holds its lock (flock)
// as long as the sandbox lives: gc removes those that nobody holds. Does not stop: a sandbox that
// writes faster than its size is looked at, and what is unlinked while it is open.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace mayfly::isolate::disk_layer {

struct Made {
  Fd directory;  // locked
  std::string path;
};

struct Owner {
  uid_t uid = 0;
  gid_t gid = 0;
};

// Makes <parent>/<id>, and the parent, which must be the caller's own. `owner`: whom the child half
// is when it enters it.
[[nodiscard]] Result<Made> make(const std::string& parent, const std::string& id, Owner owner);

// The directory in which layers are, judged as hostile: a directory of the caller's own in which
// nobody else may write.
[[nodiscard]] Result<Fd> open_parent(const std::string& parent);

// Removes a directory with all that is in it, however deep. Nothing is followed, no mount crossed.
// `deadline_ns` (boot clock): when to give up with ETIMEDOUT; 0: never.
[[nodiscard]] Result<void> remove(const Fd& parent, const std::string& name,
                                  std::int64_t deadline_ns);
// The lock is still held when it is gone.
[[nodiscard]] Result<void> remove(const Made& made, std::int64_t deadline_ns);

// A directory beneath another one. What its mode keeps even its owner from is made to be allowed,
// and the mode is to be restored by whoever has looked.
struct Opened {
  Fd directory;
  std::optional<mode_t> closed_mode;
};
[[nodiscard]] Result<Opened> open_hidden(const Fd& directory, const char* name);

}  // namespace mayfly::isolate::disk_layer
