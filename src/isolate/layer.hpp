// Layer: the one tmpfs that holds every write of a sandbox; where tmpfs cannot, a directory on disk
// (disk_layer.hpp) in its place.
//
// Threat: writes that outlive the sandbox, or fill the host. Kernel: user xattrs on
// tmpfs (6.6; trusted ones, which a mount inside a user namespace cannot use, are older). It is
// attached over /proc of the child's own mount namespace, a directory that every host has and that
// the set-up does not read, and is the working directory while the root is built, so that overlays
// name their directories by short relative paths. It goes with the old root; below the new one only
// directories of it are attached: the root itself, and the read-only one of the masks. (Not over
// "/": then it would be on top of the old root, and be all that the one umount after pivot_root
// takes away.) Does not stop: memory use by processes.
#pragma once

#include <cstdint>
#include <string>

#include "isolate/fault.hpp"

namespace mayfly::isolate::layer {

// Where it is while the root is built.
inline constexpr const char kPlace[] = "/proc";

struct Prepared {
  std::string options;  // the data of mount(2)
  std::string on_disk;  // a directory of the host that is the layer instead; or empty
};

// The user xattr of a layer's root. Disk layers are known by it.
inline constexpr const char* kMark = "user.mayfly";

// What a fault's index says about the layer that it happened to.
enum Place : std::uint32_t { kInMemory = 0, kOnDisk = 1 };

[[nodiscard]] Prepared prepare(std::uint64_t bytes, std::uint64_t inodes);

// Mounts it and makes it the working directory. *directory: a descriptor of its root, for the
// supervisor.
[[nodiscard]] Fault enter(const Prepared& prepared, int* directory) noexcept;

// Tries the user xattr that overlays need to delete lower directories: where tmpfs lacks it, an
// overlay mounts and fails later with EIO.
[[nodiscard]] Fault try_xattr(const Prepared& prepared) noexcept;

}  // namespace mayfly::isolate::layer
