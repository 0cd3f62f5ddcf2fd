#include "isolate/layer.hpp"
#include "sys/raw_calls.hpp"

namespace mayfly::isolate::layer {

namespace raw = sys::raw;

Fault enter(const Prepared& prepared, int* directory) noexcept {
  const long fs = raw::fsopen("tmpfs");
  if (fs < 0) return fault_of(fs);
  const int fs_fd = static_cast<int>(fs);
  if (Fault fault = fault_of(raw::fsconfig_string(fs_fd, "size", prepared.size.data()))) {
    return fault;
  }
  if (Fault fault = fault_of(raw::fsconfig_string(fs_fd, "nr_inodes", prepared.inodes.data()))) {
    return fault;
  }
  if (Fault fault = fault_of(raw::fsconfig_string(fs_fd, "mode", "0700"))) return fault;
  if (Fault fault = fault_of(raw::fsconfig_create(fs_fd))) return fault;
  const long mount = raw::fsmount(fs_fd, sys::kMountAttrNosuid | sys::kMountAttrNodev);
  raw::close(fs_fd);
  if (mount < 0) return fault_of(mount);
  const int mount_fd = static_cast<int>(mount);
  if (Fault fault = fault_of(raw::move_mount(mount_fd, AT_FDCWD, "/proc", 0))) return fault;
  if (Fault fault = fault_of(raw::fchdir(mount_fd))) return fault;
  raw::close(mount_fd);
  const long opened = raw::openat(AT_FDCWD, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  *directory = static_cast<int>(opened);
  return fault_of(opened);
}

Fault try_xattr() noexcept {
  return fault_of(raw::setxattr(".", "user.mayfly", "1", 1));
}

}  // namespace mayfly::isolate::layer
