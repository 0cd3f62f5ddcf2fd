#include "isolate/mounts.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/text.hpp"
#include "isolate/layer.hpp"
#include "sys/kernel.hpp"
#include "sys/mounts.hpp"

namespace mayfly::isolate::mounts {
namespace {

// A path in overlay's lowerdir option: ':' separates layers and '\' escapes.
std::string escaped(const std::string& path) {
  std::string text;
  for (const char c : path) {
    if (c == ':' || c == '\\') text += '\\';
    text += c;
  }
  return text;
}

// mount(2) takes a page of options, separated by commas. What does not fit goes by fsconfig(2),
// which takes every byte, but no more than 256 of them.
constexpr std::size_t kMostOptions = 4000;

bool fits_options(const std::string& lowerdir) {
  return lowerdir.size() < kMostOptions && lowerdir.find_first_of(",\\") == std::string::npos;
}

bool fits_path(const std::string& target) {
  return target.size() < 4000;
}

std::string overlay_options(const std::string& lowerdir, const Mount& mount) {
  std::string options = "lowerdir=" + lowerdir;
  if (mount.upper != nullptr) {
    options += std::string(",upperdir=") + mount.upper + ",workdir=" + mount.work;
    // In memory there is nothing to sync, and the kernel would make two directories for it.
    if (mount.is_volatile) options += ",volatile";
  }
  // trusted.* xattrs cannot be written inside a user namespace.
  return options + ",userxattr";
}

class Preparer {
 public:
  Preparer(Prepared& prepared, bool range, Upper upper)
      : prepared_(prepared), range_(range), upper_(upper) {}

  Result<Mount> mount(const plan::MountStep& step) {
    Mount out;
    out.kind = step.kind;
    out.access = step.access;
    out.target = step.target.c_str();
    if (is_own_target(step)) {
      out.direct = prepared_.arena.copy(names_from(step) + new_root_ + step.target);
    }
    out.make_target = step.make_target;
    out.target_is_file = step.target_is_file;
    out.optional = step.optional;
    out.devices = step.devices;
    out.mode = step.mode;
    if (step.size > 0) out.size = prepared_.arena.copy(std::to_string(step.size));
    if (!step.source.empty()) out.source = step.source.c_str();
    if (step.inode) {
      out.is_checked = true;
      out.inode = {.major = major(step.inode->device),
                   .minor = minor(step.inode->device),
                   .number = step.inode->number};
    }
    use_device_source(step, out);
    add_nodes(step, out);
    if (step.kind == plan::MountKind::Overlay) TRY(add_overlay(step, out));
    if (step.kind == plan::MountKind::Bind && step.id_mapped && range_) {
      // Everything that is mounted below comes along, or what it hides would show.
      TRY(add_tree(step.source, step.inode, sys::kOpenTreeClone | sys::kAtRecursive,
                   step.must_be_writable ? Shift::Writable : Shift::Readable));
      hand_over_trees(out);
    }
    return out;
  }

 private:
  // True where no step of the caller's lies at the target, above it or below it.
  bool is_own_target(const plan::MountStep& step) {
    if (!step.own_target) {
      if (!step.target.empty()) foreign_.push_back(step.target);
      return false;
    }
    return fits_path(step.target) &&
           std::none_of(foreign_.begin(), foreign_.end(), [&](const std::string& other) {
             return is_within("/" + step.target, "/" + other) ||
                    is_within("/" + other, "/" + step.target);
           });
  }

  // Before the layer's own names: empty where an overlay is mounted from the layer, as most are.
  std::string names_from(const plan::MountStep& step) const {
    const bool in_lower = step.kind == plan::MountKind::Overlay && step.inode && !step.detached &&
                          !(step.id_mapped && range_);
    return in_lower ? std::string(layer::kPlace) + "/" : std::string();
  }

  void use_device_source(const plan::MountStep& step, Mount& out) {
    if (out.direct == nullptr || step.kind != plan::MountKind::Bind || !step.devices) return;
    out.source =
        prepared_.arena.copy(kDeviceSource + step.target.substr(std::string_view("dev").size()));
  }

  void add_nodes(const plan::MountStep& step, Mount& out) {
    const std::span<Node> nodes = prepared_.arena.array<Node>(step.skeleton.size());
    std::transform(step.skeleton.begin(), step.skeleton.end(), nodes.begin(),
                   [](const plan::Node& node) {
                     return Node{.kind = node.kind,
                                 .path = node.path.c_str(),
                                 .mode = node.mode,
                                 .data = node.data.c_str(),
                                 .size = node.data.size(),
                                 .modified_ns = node.modified_ns,
                                 .task_owned = node.task_owned,
                                 .sets_mode = node.sets_mode};
                   });
    out.nodes = nodes.data();
    out.node_count = nodes.size();
  }

  Result<void> add_overlay(const plan::MountStep& step, Mount& out) {
    const std::string number = std::to_string(overlays_++);
    const std::string layer = names_from(step);
    const bool read_only = step.access == plan::Access::ReadOnly;
    if (!read_only) {
      out.upper = prepared_.arena.copy(layer + "u" + number);
      out.work = prepared_.arena.copy(layer + "w" + number);
      out.is_volatile = upper_ == Upper::OnDisk;
    }
    std::string lowerdir;
    // Without an upper directory the kernel wants two lower ones: an empty one of ours is added.
    if (!step.skeleton.empty() || step.lowers.empty() || (read_only && step.lowers.size() == 1)) {
      lowerdir = layer + "l" + number;
      out.own_lower = prepared_.arena.copy(lowerdir);
    }
    for (const std::string& lower : step.lowers) {
      if (!lowerdir.empty()) lowerdir += ':';
      const bool shifted = step.id_mapped && range_;
      if (shifted || step.detached) {
        const bool writable = !read_only && step.must_be_writable;
        lowerdir += TRY(add_tree(lower, step.inode, sys::kOpenTreeClone,
                                 !shifted   ? Shift::No
                                 : writable ? Shift::Writable
                                            : Shift::Readable));
      } else if (step.inode) {
        out.lower_path = prepared_.arena.copy(lower);
        lowerdir += '.';
      } else {
        lowerdir += escaped(lower);
      }
    }
    if (fits_options(lowerdir)) out.options = prepared_.arena.copy(overlay_options(lowerdir, out));
    out.lowerdir = prepared_.arena.copy(lowerdir);
    hand_over_trees(out);
    return {};
  }

  // Whether a tree's ids are mapped, and what must be possible where they cannot be.
  enum class Shift { No, Readable, Writable };

  // Opens a detached copy of the tree, for the id mapping or to be free of what is mounted below;
  // returns its place in the layer.
  Result<std::string> add_tree(const std::string& path, const std::optional<host::Inode>& inode,
                               unsigned flags, Shift shift) {
    Fd tree = TRY(sys::open_tree(path, flags));
    struct stat status = {};
    const bool is_it =
        !inode || (::fstat(tree.get(), &status) == 0 &&
                   *inode == host::Inode{.device = status.st_dev, .number = status.st_ino});
    if (!is_it) return was_replaced(path);
    const std::string point = "m" + std::to_string(prepared_.fds.size());
    if (shift != Shift::No) {
      prepared_.id_mapped.push_back(
          {.fd = tree.get(), .path = path, .must_be_writable = shift == Shift::Writable});
    }
    trees_.push_back(tree.get());
    points_.push_back(prepared_.arena.copy(point));
    prepared_.fds.push_back(std::move(tree));
    return point;
  }

  void hand_over_trees(Mount& out) {
    if (trees_.empty()) return;
    out.tree_count = trees_.size();
    const std::span<int> trees = prepared_.arena.array<int>(trees_.size());
    std::copy(trees_.begin(), trees_.end(), trees.begin());
    out.trees = trees.data();
    const std::span<const char*> points = prepared_.arena.array<const char*>(points_.size());
    std::copy(points_.begin(), points_.end(), points.begin());
    out.tree_points = points.data();
    trees_.clear();
    points_.clear();
  }

  Prepared& prepared_;
  bool range_;
  Upper upper_;
  const std::string new_root_ = std::string(kNewRoot) + "/";
  std::vector<std::string> foreign_;  // targets of the caller's steps so far
  unsigned overlays_ = 0;
  std::vector<int> trees_;
  std::vector<const char*> points_;
};

}  // namespace

Error was_replaced(const std::string& path) {
  return Error{.kind = ErrorKind::Setup,
               .sys_errno = ESTALE,
               .action = "show " + shown(path) + ": another took its place meanwhile",
               .call = {},
               .hint =
                   "whoever may rename it, or a directory above it, did so: start again, or "
                   "where nobody else may"};
}

Result<Prepared> prepare(const plan::Plan& plan, Upper upper) {
  Prepared prepared;
  prepared.task = {.uid = plan.ids.task_uid, .gid = plan.ids.task_gid};
  Preparer preparer(prepared, plan.ids.range, upper);
  prepared.mounts.reserve(plan.mounts.size());
  for (const plan::MountStep& step : plan.mounts) {
    prepared.mounts.push_back(TRY(preparer.mount(step)));
  }
  prepared.seals.reserve(plan.seals.size());
  for (const plan::MountStep& step : plan.seals) {
    prepared.seals.push_back(TRY(preparer.mount(step)));
  }
  return prepared;
}

Result<void> from_parent(const Prepared& prepared, pid_t child) {
  if (prepared.id_mapped.empty()) return {};
  const Fd user_ns = TRY(sys::open("/proc/" + std::to_string(child) + "/ns/user", O_RDONLY));
  for (const Prepared::IdMappedTree& tree : prepared.id_mapped) {
    const Result<void> mapped = sys::id_map_mount(tree.fd, user_ns.get(), tree.path);
    if (mapped) continue;
    const bool unsupported = mapped.error().sys_errno == EINVAL;
    if (!unsupported) return mapped.error();
    if (!tree.must_be_writable) continue;
    struct stat status = {};
    if (::fstat(tree.fd, &status) == 0 && (status.st_mode & S_IWOTH) != 0) continue;
    Error error = mapped.error();
    error.action = "let the task write to " + tree.path +
                   ": its file system has no id-mapped mounts, and the task's throwaway id may not "
                   "write there";
    error.hint = "run as an ordinary user, or keep the caller's own id with --unsafe-ids=host";
    return error;
  }
  return {};
}

}  // namespace mayfly::isolate::mounts
