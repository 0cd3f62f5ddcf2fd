#include "isolate/layer.hpp"
#include "sys/raw_calls.hpp"

namespace mayfly::isolate::layer {

namespace raw = sys::raw;

Fault enter(const Prepared& prepared, int* directory) noexcept {
  const long mounted =
      raw::mount("tmpfs", "/proc", "tmpfs", MS_NOSUID | MS_NODEV, prepared.options.c_str());
  if (mounted < 0) return fault_of(mounted);
  if (Fault fault = fault_of(raw::chdir("/proc"))) return fault;
  const long opened = raw::openat(AT_FDCWD, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  *directory = static_cast<int>(opened);
  return fault_of(opened);
}

Fault try_xattr() noexcept {
  return fault_of(raw::setxattr(".", "user.mayfly", "1", 1));
}

}  // namespace mayfly::isolate::layer
