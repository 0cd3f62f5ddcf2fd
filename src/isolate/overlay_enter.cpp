#include "isolate/overlay_enter.hpp"

#include "isolate/layer.hpp"
#include "isolate/nodes_enter.hpp"

namespace mayfly::isolate::mounts {

namespace raw = sys::raw;

namespace {

constexpr const char kNewRootPlace[] = "/proc/r";

long attach_trees(const Mount& step) noexcept {
  for (std::size_t i = 0; i < step.tree_count; ++i) {
    if (const long made = raw::mkdirat(AT_FDCWD, step.tree_points[i], 0700); made < 0) return made;
    if (const long moved = raw::move_mount(step.trees[i], AT_FDCWD, step.tree_points[i], 0);
        moved < 0) {
      return moved;
    }
  }
  return 0;
}

long make_overlay_dirs(const Mount& step, const TaskIds& task, std::uint32_t index) noexcept {
  if (step.upper != nullptr) {
    if (const long made = raw::mkdirat(AT_FDCWD, step.upper, step.mode); made < 0) return made;
    if (const long made = raw::mkdirat(AT_FDCWD, step.work, 0700); made < 0) return made;
  }
  if (step.own_lower == nullptr) return 0;
  if (const long made = raw::mkdirat(AT_FDCWD, step.own_lower, step.mode); made < 0) return made;
  const Held tree(raw::openat(AT_FDCWD, step.own_lower, O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!tree) return tree.answer();
  const Fault fault = make_own_nodes(tree.get(), step.nodes, step.node_count, task, index);
  return -fault.error;
}

// The top of a tree that was asked for is as on the host: an overlay shows that of its first layer,
// which is ours. It belongs to whoever builds the root, or to the task where it does on the host: a
// task with a user of its own could not write there, and git would distrust the tree. Only lowers
// whose ids are shifted tell. `lower`: the tree's place.
long copy_top(const Mount& step, const TaskIds& task, const char* lower) noexcept {
  constexpr unsigned kMask = STATX_MODE | STATX_UID | STATX_GID | STATX_ATIME | STATX_MTIME;
  constexpr unsigned kNobody = 65534;  // not of the sandbox
  const char* const top = step.upper != nullptr ? step.upper : step.own_lower;
  if (top == nullptr || !step.is_checked || step.target[0] == '\0') return 0;
  struct statx status = {};
  if (const long got = raw::statx(AT_FDCWD, lower, 0, kMask, &status); got < 0) return got;
  const bool is_of_task = task.uid != 0 && step.tree_count > 0 && status.stx_uid == task.uid;
  const bool has_group = status.stx_gid != task.gid && status.stx_gid != kNobody;
  if (is_of_task || has_group) {
    // Refused for a group that is not mapped.
    static_cast<void>(raw::fchownat(AT_FDCWD, top, is_of_task ? task.uid : -1u,
                                    has_group ? status.stx_gid : task.gid, AT_SYMLINK_NOFOLLOW));
  }
  const unsigned mode = status.stx_mode & 03777u;
  if (mode != step.mode) {
    if (const long set = raw::fchmodat(AT_FDCWD, top, mode); set < 0) return set;
  }
  const timespec times[] = {
      {.tv_sec = status.stx_atime.tv_sec, .tv_nsec = status.stx_atime.tv_nsec},
      {.tv_sec = status.stx_mtime.tv_sec, .tv_nsec = status.stx_mtime.tv_nsec}};
  return raw::utimensat(AT_FDCWD, top, times);
}

// Only what is of the child's own mount namespace can be a lower layer, so that no descriptor that
// the parent opened can be: the path is opened once more, and what that gives is looked at.
long enter_lower(const Mount& step) noexcept {
  const Held lower(raw::openat(AT_FDCWD, step.lower_path, O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!lower) return lower.answer();
  return is_checked_inode(lower.get(), step.inode) ? raw::fchdir(lower.get()) : -ESTALE;
}

long mount_overlay_at(const char* target, const Mount& step) noexcept {
  const unsigned long read_only = step.access == plan::Access::ReadOnly ? MS_RDONLY : 0;
  return raw::mount("overlay", target, "overlay", MS_NOSUID | MS_NODEV | read_only, step.options);
}

// The overlay's mount, not yet attached, or -errno. Directories of the layer are named relative to
// the working directory.
long overlay_mount(const Mount& step) noexcept {
  const Held fs(raw::fsopen("overlay"));
  if (!fs) return fs.answer();
  long answer = raw::fsconfig_string(fs.get(), "lowerdir", step.lowerdir);
  if (answer >= 0 && step.upper != nullptr) {
    answer = raw::fsconfig_string(fs.get(), "upperdir", step.upper);
    if (answer >= 0) answer = raw::fsconfig_string(fs.get(), "workdir", step.work);
    if (answer >= 0 && step.is_volatile) answer = raw::fsconfig_flag(fs.get(), "volatile");
  }
  // trusted.* xattrs cannot be written inside a user namespace.
  if (answer >= 0) answer = raw::fsconfig_flag(fs.get(), "userxattr");
  if (answer >= 0) answer = raw::fsconfig_create(fs.get());
  if (answer < 0) return answer;
  const bool read_only = step.access == plan::Access::ReadOnly;
  return raw::fsmount(fs.get(), kPlain | (read_only ? sys::kMountAttrRdonly : 0));
}

// The same by mount(2), which takes longer paths: mounted in the layer and opened there.
long overlay_by_options(const Mount& step) noexcept {
  static constexpr const char kPlace[] = "/proc/t";
  const long made = raw::mkdirat(AT_FDCWD, kPlace, 0700);
  if (made < 0 && made != -EEXIST) return made;
  if (const long mounted = mount_overlay_at(kPlace, step); mounted < 0) return mounted;
  return raw::openat(AT_FDCWD, kPlace, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

// The new root stays open, and hangs in the layer until it is entered.
long keep_root(int* root) noexcept {
  const long opened = raw::openat(AT_FDCWD, kNewRootPlace, O_PATH | O_DIRECTORY | O_CLOEXEC);
  *root = static_cast<int>(opened);
  return opened;
}

bool is_directory(int fd) noexcept {
  struct statx status = {};
  return raw::statx(fd, "", AT_EMPTY_PATH, STATX_TYPE, &status) >= 0 &&
         (status.stx_mode & S_IFMT) == S_IFDIR;
}

// The kernel has one answer, EINVAL, for much; here it says what most often is the reason: a
// directory cannot be put on a file, nor a file on a directory.
long why_not_on(int mount, int target) noexcept {
  if (is_directory(mount) == is_directory(target)) return -EINVAL;
  return is_directory(target) ? -EISDIR : -ENOTDIR;
}

}  // namespace

bool is_checked_inode(int fd, const Inode& inode) noexcept {
  struct statx status = {};
  return raw::statx(fd, "", AT_EMPTY_PATH, STATX_INO, &status) >= 0 &&
         status.stx_ino == inode.number && status.stx_dev_major == inode.major &&
         status.stx_dev_minor == inode.minor;
}

long attach(int mount, const Mount& step, int root) noexcept {
  const Held target(step.make_target ? open_or_make(root, step.target, step.target_is_file)
                                     : open_beneath(root, step.target, 0));
  if (!target) return target.answer();
  const long moved = raw::move_mount(mount, target.get(), "", sys::kMoveMountTEmptyPath);
  return moved == -EINVAL ? why_not_on(mount, target.get()) : moved;
}

// A directory of the layer, bound to itself, since only a mount can be the root.
long layer_root(const Mount& step, const TaskIds& task, std::uint32_t index, int* root) noexcept {
  if (const long made = raw::mkdirat(AT_FDCWD, kNewRoot, step.mode); made < 0) return made;
  const Held tree(raw::openat(AT_FDCWD, kNewRoot, O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!tree) return tree.answer();
  const Fault fault = make_own_nodes(tree.get(), step.nodes, step.node_count, task, index);
  if (fault) return -fault.error;
  const long bound = raw::mount(kNewRoot, kNewRoot, nullptr, MS_BIND, nullptr);
  return bound < 0 ? bound : keep_root(root);
}

namespace {

// *root as for overlay().
long mount_prepared(const Mount& step, int* root) noexcept {
  const bool is_root = *root < 0;
  if (step.options != nullptr && (is_root || step.direct != nullptr)) {
    const long mounted = mount_overlay_at(is_root ? kNewRootPlace : step.direct, step);
    return mounted < 0 || !is_root ? mounted : keep_root(root);
  }
  const long mount = step.options != nullptr ? overlay_by_options(step) : overlay_mount(step);
  if (mount < 0) return mount;
  if (is_root) {
    *root = static_cast<int>(mount);
    return raw::move_mount(*root, AT_FDCWD, kNewRootPlace, 0);
  }
  const Held held(mount);
  return attach(held.get(), step, *root);
}

}  // namespace

long overlay(const Mount& step, const TaskIds& task, std::uint32_t index, int* root) noexcept {
  if (const long made = make_overlay_dirs(step, task, index); made < 0) return made;
  if (const long attached = attach_trees(step); attached < 0) return attached;
  if (step.tree_count > 0) {
    if (const long copied = copy_top(step, task, step.tree_points[0]); copied < 0) return copied;
  }
  if (*root < 0) {
    if (const long made = raw::mkdirat(AT_FDCWD, kNewRoot, 0700); made < 0) return made;
  }
  if (step.lower_path == nullptr) return mount_prepared(step, root);
  if (const long entered = enter_lower(step); entered < 0) return entered;
  const long copied = step.tree_count > 0 ? 0 : copy_top(step, task, ".");
  const long mounted = copied < 0 ? copied : mount_prepared(step, root);
  const long back = raw::chdir(layer::kPlace);
  return mounted < 0 ? mounted : back;
}

}  // namespace mayfly::isolate::mounts
