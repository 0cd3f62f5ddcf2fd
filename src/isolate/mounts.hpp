// Mounts: overlays, binds and masks that make the new root, in the order of the plan.
//
// Threat: writes to the host, and names inside that lead out of the new root. Kernel: the new mount
// API (5.2), mount_setattr (5.12), openat2 (5.6), overlay in user namespaces (5.11). Order: after
// the layer (the working directory), before the root is entered. Every target is resolved beneath
// the new root without following a symlink; every mount is nosuid and, devices apart, nodev.
// Does not stop: what a live writable bind (--rw) exposes by intent.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/arena.hpp"
#include "base/fd.hpp"
#include "base/result.hpp"
#include "isolate/fault.hpp"
#include "plan/plan.hpp"

namespace mayfly::isolate::mounts {

// The plan's nodes and mounts as the child reads them: pointers into the plan and into Prepared,
// which both outlive the child half.
struct Node {
  plan::Node::Kind kind = plan::Node::Kind::Dir;
  const char* path = nullptr;
  unsigned mode = 0;
  const char* data = nullptr;
  std::size_t size = 0;
  std::int64_t modified_ns = 0;
  bool task_owned = false;
  bool sets_mode = false;
};

// As statx(2) tells it.
struct Inode {
  std::uint32_t major = 0, minor = 0;
  std::uint64_t number = 0;
};

struct Mount {
  plan::MountKind kind = plan::MountKind::Overlay;
  plan::Access access = plan::Access::ReadWrite;
  const char* target = nullptr;  // relative to the new root, "" = the root itself
  // The target relative to the layer where the way there is of our own making: one mount(2) needs
  // no walk. Null elsewhere.
  const char* direct = nullptr;
  bool make_target = false;
  bool target_is_file = false;
  bool optional = false;
  bool devices = false;
  unsigned mode = 0;
  const char* size = nullptr;      // Tmpfs: bytes, decimal
  const char* source = nullptr;    // Bind: absolute host path, or a direct one within the layer
  const char* options = nullptr;   // Overlay: the data of mount(2), or null where it cannot say it
  const char* lowerdir = nullptr;  // Overlay: the option's value, for fsconfig(2)
  const char* upper = nullptr;     // Overlay: names within the layer
  const char* work = nullptr;
  bool is_volatile = false;
  const char* own_lower = nullptr;  // Overlay: directory of the layer that holds `nodes`, or null
  const Node* nodes = nullptr;
  std::size_t node_count = 0;
  // Trees that the parent opened (id-mapped lowers): attached at `tree_points` in the layer.
  const int* trees = nullptr;
  const char* const* tree_points = nullptr;
  std::size_t tree_count = 0;
  // What the source of a bind, or the lower directory at `lower_path`, must be: a path can be made
  // to lead elsewhere since it was looked at.
  bool is_checked = false;
  Inode inode;
  // Overlay: the directory that its options name ".", in which it is mounted; they, and `direct`,
  // name the layer by its place.
  const char* lower_path = nullptr;
};

// The directory of the layer at which the new root is attached while it is built.
inline constexpr const char kNewRoot[] = "r";
// Where in the layer the host's devices are for direct binds, and what masks show.
inline constexpr const char kDeviceSource[] = "d";
inline constexpr const char kMaskSource[] = "k";

struct TaskIds {
  unsigned uid = 0, gid = 0;
};

// Owns what the child's view points into.
class Prepared {
 public:
  std::vector<Mount> mounts;
  std::vector<Mount> seals;
  TaskIds task;

  struct IdMappedTree {
    int fd = -1;
    std::string path;
    bool must_be_writable = false;  // a project: without id mapping it must be writable by others
  };
  std::vector<IdMappedTree> id_mapped;  // for from_parent
  std::vector<Fd> fds;
  Arena arena;  // holds what the plan does not
};

// Where the upper directories of overlays are. On a disk nothing of them is ever synced.
enum class Upper { InMemory, OnDisk };

// What is to be shown is no longer what it was when it was looked at.
[[nodiscard]] Error was_replaced(const std::string& path);

[[nodiscard]] Result<Prepared> prepare(const plan::Plan& plan, Upper upper = Upper::InMemory);

// Shifts the trees that the plan wants id-mapped into the child's user namespace. A file system
// without id-mapped mounts is used as it is where reading is enough, and refused where it is not.
[[nodiscard]] Result<void> from_parent(const Prepared& prepared, pid_t child);

// Makes `mounts` one after the other. *root: a descriptor of the new root's mount.
[[nodiscard]] Fault enter(const Prepared& prepared, int* root) noexcept;

// Makes `seals`.
[[nodiscard]] Fault seal(const Prepared& prepared, int root) noexcept;

}  // namespace mayfly::isolate::mounts
