#include "isolate/layer.hpp"
#include "sys/raw_calls.hpp"

namespace mayfly::isolate::layer {

namespace raw = sys::raw;

namespace {

std::uint32_t place(const Prepared& prepared) noexcept {
  return prepared.on_disk.empty() ? kInMemory : kOnDisk;
}

long attach(const Prepared& prepared) noexcept {
  if (prepared.on_disk.empty()) {
    return raw::mount("tmpfs", kPlace, "tmpfs", MS_NOSUID | MS_NODEV, prepared.options.c_str());
  }
  return raw::mount(prepared.on_disk.c_str(), kPlace, nullptr, MS_BIND, nullptr);
}

}  // namespace

Fault enter(const Prepared& prepared, int* directory) noexcept {
  if (const long mounted = attach(prepared); mounted < 0) return fault_of(mounted, place(prepared));
  if (Fault fault = fault_of(raw::chdir(kPlace))) return fault;
  const long opened = raw::openat(AT_FDCWD, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  *directory = static_cast<int>(opened);
  if (opened < 0 || prepared.on_disk.empty()) return fault_of(opened);
  // A bind has the attributes of its source, some of which may not be cleared: they are added to.
  return fault_of(
      raw::mount_setattr(*directory, 0,
                         sys::MountAttr{.attr_set = sys::kMountAttrNosuid | sys::kMountAttrNodev}),
      place(prepared));
}

Fault try_xattr(const Prepared& prepared) noexcept {
  return fault_of(raw::setxattr(".", kMark, "1", 1), place(prepared));
}

}  // namespace mayfly::isolate::layer
