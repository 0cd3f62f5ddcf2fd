#include "isolate/nodes_enter.hpp"
#include "isolate/overlay_enter.hpp"
#include "sys/raw_calls.hpp"

namespace mayfly::isolate::mounts {

namespace raw = sys::raw;

namespace {

constexpr unsigned long kProcFlags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
constexpr const char kMaskFile[] = "k/file";
constexpr const char kMaskDir[] = "k/dir";

long restrict(int tree, unsigned long attributes) noexcept {
  return raw::mount_setattr(tree, sys::kAtRecursive, sys::MountAttr{.attr_set = attributes});
}

// Trees in the layer that many steps bind from, one call for each bind, since a bind has the
// attributes of its source: made when the first step needs them.
class Sources {
 public:
  enum Which : unsigned { kDevices = 1, kMasks = 2 };

  long need(Which which) noexcept {
    if ((made_ & which) != 0) return 0;
    made_ |= which;
    const long made = which == kDevices ? devices() : masks();
    return made == -EEXIST ? 0 : made;  // made before, by enter() for seal()
  }

 private:
  // The host's devices: their nodes open, and cannot be touched.
  static long devices() noexcept {
    if (const long made = raw::mkdirat(AT_FDCWD, kDeviceSource, 0700); made < 0) return made;
    return bind_source(kDeviceSource, "/dev", sys::kMountAttrNosuid | sys::kMountAttrNoexec);
  }

  // A file that nobody may open and a directory without entries.
  static long masks() noexcept {
    if (const long made = raw::mkdirat(AT_FDCWD, kMaskSource, 0755); made < 0) return made;
    if (const long made = raw::mknodat(AT_FDCWD, kMaskFile, S_IFREG, 0); made < 0) return made;
    if (const long made = raw::mkdirat(AT_FDCWD, kMaskDir, 0555); made < 0) return made;
    return bind_source(kMaskSource, kMaskSource, kPlain | sys::kMountAttrNoexec);
  }

  static long bind_source(const char* name, const char* from, unsigned long attributes) noexcept {
    const Held tree(raw::open_tree(AT_FDCWD, from, sys::kOpenTreeClone | sys::kAtRecursive));
    if (!tree) return tree.answer();
    if (const long set = restrict(tree.get(), attributes | sys::kMountAttrRdonly); set < 0) {
      return set;
    }
    return raw::move_mount(tree.get(), AT_FDCWD, name, 0);
  }

  unsigned made_ = 0;
};

long bind_direct(const char* source, const Mount& step) noexcept {
  return raw::mount(source, step.direct, nullptr, MS_BIND, nullptr);
}

long bind(const Mount& step, int root, Sources* sources) noexcept {
  if (step.direct != nullptr && step.devices) {
    const long made = sources->need(Sources::kDevices);
    return made < 0 ? made : bind_direct(step.source, step);
  }
  const Held tree(step.tree_count > 0 ? raw::fcntl(step.trees[0], F_DUPFD_CLOEXEC, 0)
                                      : raw::open_tree(AT_FDCWD, step.source,
                                                       sys::kOpenTreeClone | sys::kAtRecursive));
  if (!tree) return tree.answer();
  if (step.is_checked && !is_checked_inode(tree.get(), step.inode)) return -ESTALE;
  const unsigned long attributes =
      sys::kMountAttrNosuid | (step.devices ? sys::kMountAttrNoexec : sys::kMountAttrNodev) |
      (step.access == plan::Access::ReadOnly ? sys::kMountAttrRdonly : 0);
  if (const long set = restrict(tree.get(), attributes); set < 0) return set;
  return attach(tree.get(), step, root);
}

// A file system of a kind that needs at most a size and a mode.
long fresh_mount(const char* type, const Mount& step, unsigned long attributes,
                 const char* const (*options)[2], std::size_t option_count, int root) noexcept {
  const Held fs(raw::fsopen(type));
  if (!fs) return fs.answer();
  for (std::size_t i = 0; i < option_count; ++i) {
    if (options[i][1] == nullptr) continue;
    if (const long set = raw::fsconfig_string(fs.get(), options[i][0], options[i][1]); set < 0) {
      return set;
    }
  }
  if (const long created = raw::fsconfig_create(fs.get()); created < 0) return created;
  const Held mount(raw::fsmount(fs.get(), attributes));
  if (!mount) return mount.answer();
  return attach(mount.get(), step, root);
}

long tmpfs(const Mount& step, int root) noexcept {
  char mode[8] = {'0',
                  static_cast<char>('0' + ((step.mode >> 9) & 7)),
                  static_cast<char>('0' + ((step.mode >> 6) & 7)),
                  static_cast<char>('0' + ((step.mode >> 3) & 7)),
                  static_cast<char>('0' + (step.mode & 7)),
                  '\0'};
  const char* const options[][2] = {{"size", step.size}, {"mode", mode}};
  const bool read_only = step.access == plan::Access::ReadOnly;
  return fresh_mount("tmpfs", step, kPlain | (read_only ? sys::kMountAttrRdonly : 0), options, 2,
                     root);
}

// Hides what is there below an unreadable file or an empty directory. Which of them is looked up
// first: a bind that is refused has made a mount already, and to drop it waits for the kernel's
// readers, ten times as long as all of this takes.
long mask(const Mount& step, int root, Sources* sources) noexcept {
  if (const long made = sources->need(Sources::kMasks); made < 0) return made;
  const Held there(step.direct != nullptr ? AT_FDCWD : open_beneath(root, step.target, 0));
  if (step.direct == nullptr && !there) return there.answer();
  const char* const path = step.direct != nullptr ? step.direct : "";
  struct statx status = {};
  if (const long got = raw::statx(there.get(), path, AT_EMPTY_PATH, STATX_TYPE, &status); got < 0) {
    return got;
  }
  const char* const source = (status.stx_mode & S_IFMT) == S_IFDIR ? kMaskDir : kMaskFile;
  if (step.direct != nullptr) return bind_direct(source, step);
  const Held cover(raw::open_tree(AT_FDCWD, source, sys::kOpenTreeClone));
  if (!cover) return cover.answer();
  return raw::move_mount(cover.get(), there.get(), "", sys::kMoveMountTEmptyPath);
}

// Makes what is at the target read-only with everything below it.
long read_only(const Mount& step, int root) noexcept {
  if (step.direct != nullptr) {
    const long bound = bind_direct(step.direct, step);
    constexpr unsigned long kReadOnly = MS_REMOUNT | MS_BIND | MS_RDONLY | kProcFlags;
    return bound < 0 ? bound : raw::mount(nullptr, step.direct, nullptr, kReadOnly, nullptr);
  }
  const Held there(open_beneath(root, step.target, 0));
  if (!there) return there.answer();
  const Held tree(
      raw::open_tree(there.get(), "", sys::kOpenTreeClone | sys::kAtRecursive | sys::kAtEmptyPath));
  if (!tree) return tree.answer();
  if (const long set = restrict(tree.get(), sys::kMountAttrRdonly); set < 0) return set;
  return raw::move_mount(tree.get(), there.get(), "", sys::kMoveMountTEmptyPath);
}

long make(const Mount& step, const TaskIds& task, std::uint32_t index, int* root,
          Sources* sources) noexcept {
  switch (step.kind) {
    case plan::MountKind::Nodes:
      return -EINVAL;  // make_all() makes them
    case plan::MountKind::Layer:
      return layer_root(step, task, index, root);
    case plan::MountKind::Overlay:
      return overlay(step, task, index, root);
    case plan::MountKind::Bind:
      return bind(step, *root, sources);
    case plan::MountKind::Tmpfs:
      return tmpfs(step, *root);
    case plan::MountKind::Proc:
      if (step.direct != nullptr) {
        return raw::mount("proc", step.direct, "proc", kProcFlags, nullptr);
      }
      return fresh_mount("proc", step, kPlain | sys::kMountAttrNoexec, nullptr, 0, *root);
    case plan::MountKind::Devpts: {
      if (step.direct != nullptr) {
        return raw::mount("devpts", step.direct, "devpts", MS_NOSUID | MS_NOEXEC,
                          "ptmxmode=0666,mode=0620");
      }
      const char* const options[][2] = {{"ptmxmode", "0666"}, {"mode", "0620"}};
      return fresh_mount("devpts", step, sys::kMountAttrNosuid | sys::kMountAttrNoexec, options, 2,
                         *root);
    }
    case plan::MountKind::Mask:
      return mask(step, *root, sources);
    case plan::MountKind::ReadOnly:
      return read_only(step, *root);
  }
  return -EINVAL;
}

Fault make_all(const std::vector<Mount>& steps, const TaskIds& task, std::uint32_t first,
               int* root) noexcept {
  const Mount* const all = steps.data();
  Sources sources;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::uint32_t index = first + static_cast<std::uint32_t>(i);
    if (all[i].kind == plan::MountKind::Nodes) {
      const Fault fault = make_nodes_beneath(*root, all[i].nodes, all[i].node_count, task, index);
      if (fault && !all[i].optional) return fault;
      continue;
    }
    const long answer = make(all[i], task, index, root, &sources);
    if (answer == -ENOENT && all[i].optional) continue;
    if (answer < 0) return fault_of(answer, index);
  }
  return {};
}

}  // namespace

Fault enter(const Prepared& prepared, int* root) noexcept {
  *root = -1;
  return make_all(prepared.mounts, prepared.task, 0, root);
}

Fault seal(const Prepared& prepared, int root) noexcept {
  return make_all(prepared.seals, prepared.task, static_cast<std::uint32_t>(prepared.mounts.size()),
                  &root);
}

}  // namespace mayfly::isolate::mounts
