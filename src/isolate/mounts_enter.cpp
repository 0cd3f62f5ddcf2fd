#include "isolate/nodes_enter.hpp"
#include "sys/raw_calls.hpp"

namespace mayfly::isolate::mounts {

namespace raw = sys::raw;

namespace {

constexpr unsigned long kPlain = sys::kMountAttrNosuid | sys::kMountAttrNodev;

// An open descriptor of the child half, closed at the end of the scope.
class Held {
 public:
  explicit Held(long answer) noexcept : fd_(static_cast<int>(answer)) {}
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() noexcept {
    if (fd_ >= 0) raw::close(fd_);
  }
  [[nodiscard]] int get() const noexcept { return fd_; }
  // The kernel's answer: negative where nothing was opened.
  [[nodiscard]] long answer() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }

 private:
  int fd_;
};

// Attaches a mount at the step's target.
long attach(int mount, const Mount& step, int root) noexcept {
  if (step.simple_target) return raw::move_mount(mount, root, step.target, 0);
  const Held target(step.make_target ? open_or_make(root, step.target, step.target_is_file)
                                     : open_beneath(root, step.target, 0));
  if (!target) return target.answer();
  return raw::move_mount(mount, target.get(), "", sys::kMoveMountTEmptyPath);
}

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

// The overlay's mount, not yet attached, or -errno. Directories of the layer are named relative to
// the working directory.
long overlay_mount(const Mount& step) noexcept {
  const Held fs(raw::fsopen("overlay"));
  if (!fs) return fs.answer();
  long answer = raw::fsconfig_string(fs.get(), "lowerdir", step.lowerdir);
  if (answer >= 0 && step.upper != nullptr) {
    answer = raw::fsconfig_string(fs.get(), "upperdir", step.upper);
    if (answer >= 0) answer = raw::fsconfig_string(fs.get(), "workdir", step.work);
    // Nothing of the layer outlives the sandbox, so nothing has to be synced.
    if (answer >= 0) answer = raw::fsconfig_flag(fs.get(), "volatile");
  }
  // trusted.* xattrs cannot be written inside a user namespace.
  if (answer >= 0) answer = raw::fsconfig_flag(fs.get(), "userxattr");
  if (answer >= 0) answer = raw::fsconfig_create(fs.get());
  if (answer < 0) return answer;
  const bool read_only = step.access == plan::Access::ReadOnly;
  return raw::fsmount(fs.get(), kPlain | (read_only ? sys::kMountAttrRdonly : 0));
}

long overlay(const Mount& step, const TaskIds& task, std::uint32_t index, int* root) noexcept {
  if (const long made = make_overlay_dirs(step, task, index); made < 0) return made;
  if (const long attached = attach_trees(step); attached < 0) return attached;
  const long mount = overlay_mount(step);
  if (mount < 0) return mount;
  if (*root < 0) {  // the first one is the new root: it stays open and hangs in the layer
    *root = static_cast<int>(mount);
    if (const long made = raw::mkdirat(AT_FDCWD, "r", 0700); made < 0) return made;
    return raw::move_mount(*root, AT_FDCWD, "r", 0);
  }
  const Held held(mount);
  return attach(held.get(), step, *root);
}

long bind(const Mount& step, int root) noexcept {
  const Held tree(step.tree_count > 0 ? raw::fcntl(step.trees[0], F_DUPFD_CLOEXEC, 0)
                                      : raw::open_tree(AT_FDCWD, step.source,
                                                       sys::kOpenTreeClone | sys::kAtRecursive));
  if (!tree) return tree.answer();
  const sys::MountAttr attributes{
      .attr_set = sys::kMountAttrNosuid |
                  (step.devices ? sys::kMountAttrNoexec : sys::kMountAttrNodev) |
                  (step.access == plan::Access::ReadOnly ? sys::kMountAttrRdonly : 0)};
  if (const long set = raw::mount_setattr(tree.get(), sys::kAtRecursive, attributes); set < 0) {
    return set;
  }
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

// Hides a directory below an empty read-only tmpfs.
long mask_dir(int there) noexcept {
  const Held fs(raw::fsopen("tmpfs"));
  if (!fs) return fs.answer();
  long answer = raw::fsconfig_string(fs.get(), "nr_inodes", "2");
  if (answer >= 0) answer = raw::fsconfig_string(fs.get(), "mode", "0555");
  if (answer >= 0) answer = raw::fsconfig_create(fs.get());
  if (answer < 0) return answer;
  const Held mount(raw::fsmount(fs.get(), kPlain | sys::kMountAttrRdonly | sys::kMountAttrNoexec));
  if (!mount) return mount.answer();
  return raw::move_mount(mount.get(), there, "", sys::kMoveMountTEmptyPath);
}

// Hides a file below the null device of the host, on a mount that refuses to open devices: every
// open of it fails with EACCES, whoever asks.
long mask_file(int there) noexcept {
  const Held null(raw::open_tree(AT_FDCWD, "/dev/null", sys::kOpenTreeClone));
  if (!null) return null.answer();
  const sys::MountAttr attributes{.attr_set =
                                      kPlain | sys::kMountAttrRdonly | sys::kMountAttrNoexec};
  if (const long set = raw::mount_setattr(null.get(), 0, attributes); set < 0) return set;
  return raw::move_mount(null.get(), there, "", sys::kMoveMountTEmptyPath);
}

long mask(const Mount& step, int root) noexcept {
  const Held there(open_beneath(root, step.target, 0));
  if (!there) return there.answer();
  struct statx status = {};
  if (const long got = raw::statx(there.get(), "", AT_EMPTY_PATH, STATX_TYPE, &status); got < 0) {
    return got;
  }
  return (status.stx_mode & S_IFMT) == S_IFDIR ? mask_dir(there.get()) : mask_file(there.get());
}

// Makes what is at the target read-only with everything below it.
long read_only(const Mount& step, int root) noexcept {
  const Held there(open_beneath(root, step.target, 0));
  if (!there) return there.answer();
  const Held tree(
      raw::open_tree(there.get(), "", sys::kOpenTreeClone | sys::kAtRecursive | sys::kAtEmptyPath));
  if (!tree) return tree.answer();
  const sys::MountAttr attributes{.attr_set = sys::kMountAttrRdonly};
  if (const long set = raw::mount_setattr(tree.get(), sys::kAtRecursive, attributes); set < 0) {
    return set;
  }
  return raw::move_mount(tree.get(), there.get(), "", sys::kMoveMountTEmptyPath);
}

long make(const Mount& step, const TaskIds& task, std::uint32_t index, int* root) noexcept {
  switch (step.kind) {
    case plan::MountKind::Nodes:
      return -make_nodes_beneath(*root, step.nodes, step.node_count, task, index).error;
    case plan::MountKind::Overlay:
      return overlay(step, task, index, root);
    case plan::MountKind::Bind:
      return bind(step, *root);
    case plan::MountKind::Tmpfs:
      return tmpfs(step, *root);
    case plan::MountKind::Proc:
      return fresh_mount("proc", step, kPlain | sys::kMountAttrNoexec, nullptr, 0, *root);
    case plan::MountKind::Devpts: {
      const char* const options[][2] = {{"ptmxmode", "0666"}, {"mode", "0620"}};
      return fresh_mount("devpts", step, sys::kMountAttrNosuid | sys::kMountAttrNoexec, options, 2,
                         *root);
    }
    case plan::MountKind::Mask:
      return mask(step, *root);
    case plan::MountKind::ReadOnly:
      return read_only(step, *root);
  }
  return -EINVAL;
}

Fault make_all(const std::vector<Mount>& steps, const TaskIds& task, std::uint32_t first,
               int* root) noexcept {
  const Mount* const all = steps.data();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::uint32_t index = first + static_cast<std::uint32_t>(i);
    const long answer = make(all[i], task, index, root);
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
