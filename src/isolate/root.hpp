// Root: from the host's mount tree into the new one.
//
// Threat: any path, working directory or descriptor that still leads to the host's root. Kernel:
// pivot_root, statx mount ids (5.8). Order: private() before any mount, so that nothing propagates
// in either direction; enter() after all mounts. Does not stop: descriptors that were opened before
// (fds.hpp closes them).
#pragma once

#include "isolate/fault.hpp"

namespace mayfly::isolate::root {

// Cuts the propagation of mounts between the host and the child's own tree.
[[nodiscard]] Fault make_private() noexcept;

// Makes `root` (a mount that hangs in the layer) the root, lets go of the old one.
[[nodiscard]] Fault enter(int root) noexcept;

// Proves it: "/" must be the very mount and inode that `root` names. Nothing may be done in the
// sandbox before this has answered.
[[nodiscard]] Fault check_marker(int root) noexcept;

}  // namespace mayfly::isolate::root
