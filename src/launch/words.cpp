// The words for each step that can fail: which path, and what to do about it.
#include <algorithm>
#include <cerrno>
#include <iterator>

#include "base/text.hpp"
#include "isolate/layer.hpp"
#include "launch/launch.hpp"
#include "sys/mounts.hpp"

namespace mayfly::launch {
namespace {

struct Words {
  std::string action;
  std::string call;
  std::string hint;
  ErrorKind kind = ErrorKind::Setup;
};

const plan::MountStep* mount_step(const plan::Plan& plan, std::uint32_t index) {
  if (index < plan.mounts.size()) return &plan.mounts[index];
  index -= static_cast<std::uint32_t>(plan.mounts.size());
  return index < plan.seals.size() ? &plan.seals[index] : nullptr;
}

std::string inside(const std::string& target) {
  return "/" + target;
}

std::string joined(const std::vector<std::string>& paths) {
  std::string text;
  for (const std::string& path : paths)
    text += (text.empty() ? "" : ":") + shown(path);
  return text.empty() ? "an empty directory" : text;
}

Words overlay_words(const plan::MountStep& step, int error) {
  Words words;
  words.action = "put " + joined(step.lowers) + " at " + inside(step.target);
  words.call = "overlay(lowerdir=" + joined(step.lowers) + ")";
  if (error == EPERM) {
    words.kind = ErrorKind::HostUnsupported;
    words.hint = "this kernel refuses overlays in user namespaces; 5.14 or newer is needed";
  } else if (error == EINVAL) {
    words.hint =
        "a directory with other mounts below it, or on a file system that overlayfs does "
        "not take, cannot be a lower layer; name its parts, or use --ro or --rw";
  } else if (error == ELOOP) {
    words.hint =
        "the mount point inside must not be a symlink, and overlayfs takes none of the kernel's "
        "own file systems, such as /proc, as a source";
  } else if (error == ENOENT || error == ENOTDIR) {
    words.hint = "the mount point must exist inside, as a directory and not behind a symlink";
  }
  return words;
}

const char* bind_hint(const plan::MountStep& step, int error) {
  if (error == ENOTDIR || error == ELOOP) {
    return "the target must be of the source's kind and not behind a symlink";
  }
  if (step.target == "proc" || step.target.rfind("proc/", 0) == 0) {
    return "nothing can be put into the sandbox's /proc: choose another target";
  }
  return error == EACCES || error == EPERM
             ? "the sandbox's user must have rights to it on the host"
             : "choose another target, one that the sandbox can make or has already";
}

Words mount_words(const plan::Plan& plan, std::uint32_t index, int error) {
  const plan::MountStep* step = mount_step(plan, index);
  if (step == nullptr) return {.action = "build the root", .call = {}, .hint = {}};
  const std::string at = inside(step->target);
  switch (step->kind) {
    case plan::MountKind::Overlay:
      return overlay_words(*step, error);
    case plan::MountKind::Layer:
      return {.action = "make the root on the layer",
              .call = {},
              .hint = error == ENOSPC ? "raise --layer-size or --layer-inodes" : ""};
    case plan::MountKind::Nodes: {
      const std::string name = step->skeleton.empty() ? at : inside(step->skeleton.front().path);
      return {.action = "make " + shown(name) + " inside",
              .call = {},
              .hint = error == ENOSPC || error == EDQUOT
                          ? "the layer is full: raise --layer-size or --layer-inodes"
                          : "a parent that is a symlink or a file is refused"};
    }
    case plan::MountKind::Bind:
      return {.action = "bind " + shown(step->source) + " on " + shown(at) +
                        (step->access == plan::Access::ReadOnly ? " read-only" : ""),
              .call = "move_mount(" + shown(step->source) + ", " + shown(at) + ")",
              .hint = bind_hint(*step, error)};
    case plan::MountKind::Tmpfs:
      return {.action = "mount a tmpfs on " + shown(at), .call = "fsmount(tmpfs)", .hint = {}};
    case plan::MountKind::Proc:
      return {
          .action = "mount /proc",
          .call = "fsmount(proc)",
          .hint = error == EPERM
                      ? "this system's own /proc is partly masked, as in a container: start the "
                        "container with an unmasked /proc (docker: --security-opt "
                        "systempaths=unconfined)"
                      : "",
          .kind = error == EPERM ? ErrorKind::HostUnsupported : ErrorKind::Setup};
    case plan::MountKind::Devpts:
      return {.action = "mount /dev/pts", .call = "fsmount(devpts)", .hint = {}};
    case plan::MountKind::Mask:
      return {.action = "mask " + shown(at),
              .call = {},
              .hint = error == ELOOP
                          ? "it is a symbolic link, or behind one: mask what it points to"
                          : "it must be a file or directory of the sandbox"};
    case plan::MountKind::ReadOnly:
      return {.action = "make " + shown(at) + " read-only",
              .call = "mount_setattr(" + shown(at) + ", RDONLY)",
              .hint = {}};
  }
  return {};
}

Words layer_words(const plan::Plan& plan, const Message& failed) {
  const bool on_disk = failed.index == isolate::layer::kOnDisk;
  if (on_disk && failed.error == ENOSYS) {
    return {.action = "use a directory as the layer: this kernel has no mount_setattr",
            .call = "mount_setattr(layer)",
            .hint = "Linux 5.14 or newer is needed",
            .kind = ErrorKind::HostUnsupported};
  }
  if (on_disk) {
    const bool xattr = failed.step == Step::LayerXattr;
    return {.action = "use a directory in " + shown(plan.layer_parent) + " as the layer" +
                      (xattr ? ": its file system holds no user xattrs" : ""),
            .call = xattr ? "setxattr(layer, \"user.mayfly\")" : "mount(layer, MS_BIND)",
            .hint =
                "the cache directory must be on a file system such as ext4, xfs or btrfs: "
                "XDG_CACHE_HOME names another one"};
  }
  if (failed.step == Step::Layer) {
    return {.action = "make the layer (a tmpfs) that holds the sandbox's writes",
            .call = "fsmount(tmpfs)",
            .hint = failed.error == EPERM ? "user namespaces on this host may not mount; "
                                            "`mayfly doctor` names what forbids it"
                                          : "",
            .kind = failed.error == EPERM ? ErrorKind::HostUnsupported : ErrorKind::Setup};
  }
  return {.action =
              "keep the layer in memory: this kernel's tmpfs holds no user xattrs, so "
              "that deleting a directory of a lower layer would fail",
          .call = "setxattr(layer, \"user.mayfly\")",
          .hint = "Linux 6.6 or newer is needed for it; --layer disk works without",
          .kind = ErrorKind::HostUnsupported};
}

Words words_of(const plan::Plan& plan, const Message& failed) {
  switch (failed.step) {
    case Step::Clone:
      return {.action = "make a user namespace and the sandbox's other namespaces",
              .call = "clone3(NEWUSER|NEWNS|NEWPID|NEWNET|NEWIPC|NEWUTS|NEWCGROUP)",
              .hint = failed.error == ENOSYS
                          ? "a filter around us refuses clone3; mayfly inside mayfly needs "
                            "--unsafe-nesting for the outer one"
                          : "`mayfly doctor` names what forbids it on this host",
              .kind = ErrorKind::HostUnsupported};
    case Step::IdMap:
      return {.action = "map the sandbox's ids", .call = "write(uid_map)", .hint = {}};
    case Step::Groups:
      return {.action = "drop supplementary groups", .call = "setgroups([])", .hint = {}};
    case Step::User:
      return {.action = "become the sandbox's user", .call = "setresuid", .hint = {}};
    case Step::ParentDeath:
      return {.action = "tie the sandbox's life to the supervisor's",
              .call = "prctl(PR_SET_PDEATHSIG)",
              .hint = {}};
    case Step::Layer:
    case Step::LayerXattr:
      return layer_words(plan, failed);
    case Step::Mount:
    case Step::Seal:
      return mount_words(plan, failed.index, failed.error);
    case Step::PivotRoot:
      return {.action = "enter the new root", .call = "pivot_root(\".\", \".\")", .hint = {}};
    case Step::Marker:
      return {.action = "prove that the new root was entered", .call = "statx(\"/\")", .hint = {}};
    case Step::Terminal:
      return {.action = "make a terminal of the sandbox's own",
              .call = "open(/dev/pts/ptmx)",
              .hint = failed.error == ENOSPC
                          ? "all ptys of this host are in use: sysctl kernel.pty.max"
                          : "--tty no runs the command without one"};
    case Step::Ready:
      return {.action = "hand the layer over to the supervisor", .call = "sendmsg", .hint = {}};
    case Step::Hostname:
      return {
          .action = "set the host name " + shown(plan.hostname), .call = "sethostname", .hint = {}};
    case Step::Loopback:
      return {.action = "bring up the loopback device", .call = "ioctl(SIOCSIFFLAGS)", .hint = {}};
    case Step::Rlimit:
    case Step::TaskRlimit:
      return {.action = "set resource limits", .call = "prlimit64", .hint = {}};
    case Step::UserNamespaceBan:
      return {.action = "forbid user namespaces inside",
              .call = "write(/proc/sys/user/max_user_namespaces)",
              .hint = {}};
    case Step::UserNamespaceProof:
      return {.action = "prove that user namespaces inside are forbidden: making one worked",
              .call = "unshare(CLONE_NEWUSER)",
              .hint = {}};
    case Step::Capabilities:
      return {.action = "drop capabilities", .call = "capset", .hint = {}};
    case Step::NoNewPrivs:
      return {.action = "set no_new_privs", .call = "prctl(PR_SET_NO_NEW_PRIVS)", .hint = {}};
    case Step::Landlock:
      return {.action = "confine the sandbox to its root with Landlock",
              .call = "landlock_restrict_self",
              .hint = {}};
    case Step::Keyring:
      return {.action = "take a session keyring of its own",
              .call = "keyctl(JOIN_SESSION_KEYRING)",
              .hint = failed.error == EDQUOT ? "the caller's quota of keys is used up" : ""};
    case Step::Descriptors:
      return {.action = "close the caller's descriptors", .call = "close_range", .hint = {}};
    case Step::Cgroup:
      return {
          .action = "enter the sandbox's cgroup", .call = "unshare(CLONE_NEWCGROUP)", .hint = {}};
    case Step::ExecInit:
      return {
          .action = "execute init",
          .call = "execveat(memfd)",
          .hint = failed.error == EACCES ? "vm.memfd_noexec=2 forbids it: set it to 1 or 0" : ""};
    case Step::TaskChdir:
      return {.action = "start in " + shown(plan.chdir),
              .call = "chdir(" + shown(plan.chdir) + ")",
              .hint = "--chdir names a directory inside, which the sandbox's user may enter"};
    case Step::TaskUser:
      return {.action = "become the task's user", .call = "setresuid", .hint = {}};
    case Step::InitRequest:
      return {.action = std::string("start the task: init refuses the request, whose ") +
                        failed.text + " is not what it may be",
              .call = {},
              .hint = {},
              .kind = ErrorKind::Internal};
    case Step::InitFork:
      return {
          .action = "start the task's process",
          .call = "clone",
          .hint = failed.error == EAGAIN ? "the limit of processes is too low: raise --pids" : ""};
    case Step::InitFilter:
    case Step::TaskFilter:
      return {.action = "load the system call filter",
              .call = "seccomp",
              .hint = failed.error == EBUSY
                          ? "a filter around this sandbox is listened to already: "
                            "leave out --explain-denials and --seccomp-action"
                          : ""};
    default:
      return {.action = "start the task (step " +
                        std::to_string(static_cast<unsigned>(failed.step)) + " of init)",
              .call = {},
              .hint = {}};
  }
}

}  // namespace

Error refused_namespaces(int error, const host::Surroundings& around) {
  Error refused = step_error({}, Message{.step = Step::Clone, .error = error});
  // Others are a filter around us, as another mayfly's, or a want of descriptors or memory: their
  // words are there already.
  constexpr int kRefusals[] = {EPERM, EACCES, ENOSPC, EUSERS, EINVAL};
  if (std::find(std::begin(kRefusals), std::end(kRefusals), error) == std::end(kRefusals)) {
    return refused;
  }
  const bool exhausted = error == ENOSPC || error == EUSERS;
  const bool by_another = around.max_other_namespaces == 0 && around.max_user_namespaces != 0;
  const host::Cause cause = exhausted && by_another ? host::why_not_inside(error, around)
                                                    : host::why_no_user_namespace(error, around);
  refused.action += ": " + cause.why;
  refused.hint = cause.remedy;
  return refused;
}

Error memory_too_small(const plan::Plan& plan) {
  std::string limit;
  for (const plan::CgroupKnob& knob : plan.cgroup.knobs) {
    if (knob.file == std::string_view("memory.max")) limit = " of " + knob.value + " bytes";
  }
  return Error{.kind = ErrorKind::Setup,
               .sys_errno = ENOMEM,
               .action = "start the task within the memory limit" + limit +
                         ": the kernel killed the sandbox before it",
               .call = {},
               .hint = "raise --memory"};
}

Error step_error(const plan::Plan& plan, const Message& failed) {
  Words words = words_of(plan, failed);
  if (const std::string remedy = sys::common_remedy(failed.error); !remedy.empty()) {
    words.hint = remedy;
  }
  return Error{.kind = words.kind,
               .sys_errno = failed.error,
               .action = std::move(words.action),
               .call = std::move(words.call),
               .hint = std::move(words.hint)};
}

}  // namespace mayfly::launch
