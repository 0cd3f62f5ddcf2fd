#include "isolate/root.hpp"
#include "sys/raw_calls.hpp"

namespace mayfly::isolate::root {

namespace raw = sys::raw;

Fault make_private() noexcept {
  return fault_of(raw::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr));
}

Fault enter(int root) noexcept {
  if (Fault fault = fault_of(raw::fchdir(root))) return fault;
  // Both arguments are the new root: the old one is stacked on top of it, and is what "." names
  // until it is detached.
  if (Fault fault = fault_of(raw::pivot_root(".", "."))) return fault;
  if (Fault fault = fault_of(raw::umount2(".", MNT_DETACH))) return fault;
  return fault_of(raw::chdir("/"));
}

Fault check_marker(int root) noexcept {
  // "/" alone proves little: a lookup that begins there does not cross a mount on top of it, but
  // one that comes back up by ".." does. Both must end at the very mount and inode of the new root.
  static constexpr const char* kWaysToTheRoot[] = {"/", "/proc/..", "/.."};
  constexpr unsigned kMask = STATX_INO | STATX_MNT_ID;
  struct statx wanted = {};
  if (Fault fault = fault_of(raw::statx(root, "", AT_EMPTY_PATH, kMask, &wanted))) return fault;
  for (const char* way : kWaysToTheRoot) {
    struct statx found = {};
    if (Fault fault = fault_of(raw::statx(AT_FDCWD, way, 0, kMask, &found))) return fault;
    const bool same = (wanted.stx_mask & STATX_MNT_ID) != 0 &&
                      wanted.stx_mnt_id == found.stx_mnt_id && wanted.stx_ino == found.stx_ino;
    if (!same) return Fault{.error = EXDEV};
  }
  return {};
}

}  // namespace mayfly::isolate::root
