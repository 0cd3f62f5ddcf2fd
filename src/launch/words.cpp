// The words for each step that can fail: which path, and what to do about it.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "base/text.hpp"
#include "isolate/layer.hpp"
#include "launch/launch.hpp"
#include "launch/mount_words.hpp"
#include "sys/mounts.hpp"

namespace mayfly::launch {
namespace {

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

// Inside, the least of all limits on the way counts: the one that was asked for, and the caller's.
std::string too_few_processes(const plan::Plan& plan) {
  if (plan.processes.most >= plan.processes.asked) {
    return "the limit of processes is too low: raise --pids, or the caller's own (ulimit -u)";
  }
  return "the caller's limit of processes is too low (ulimit -u: " +
         std::to_string(plan.processes.most) + "): raise it, as with ulimit -u 4096";
}

Words words_of(const plan::Plan& plan, const Message& failed, Upper layer) {
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
      return mount_words(plan, failed.index,
                         {.error = failed.error,
                          .in_way = static_cast<unsigned>(failed.value),
                          .layer = layer,
                          .layer_parent = plan.layer_parent});
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
      return chdir_words(plan);
    case Step::TaskUser:
      return {.action = "become the task's user", .call = "setresuid", .hint = {}};
    case Step::InitRequest:
      return {.action = std::string("start the task: init refuses the request, whose ") +
                        failed.text + " is not what it may be",
              .call = {},
              .hint = {},
              .kind = ErrorKind::Internal};
    case Step::InitFork:
      return {.action = "start the task's process",
              .call = "clone",
              .hint = failed.error == EAGAIN ? too_few_processes(plan) : ""};
    case Step::InitFilter:
    case Step::TaskFilter:
      return {.action = "load the system call filter",
              .call = "seccomp",
              .hint = failed.error == EBUSY
                          ? "a filter around this sandbox is listened to already: "
                            "leave out --explain-denials and --seccomp-action"
                          : ""};
    default:
      return {.action = "prepare the task's process", .call = {}, .hint = {}};
  }
}

// The task's child was killed on its way to the execve: what it was about does not matter.
Error killed_before_start(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return Error{
      .kind = ErrorKind::Setup,
      .sys_errno = 0,
      .action = "start the task: its process was killed by " +
                (name != nullptr ? "SIG" + std::string(name) : "signal " + std::to_string(signal)) +
                " before its command ran",
      .call = {},
      .hint = "somebody outside, or the kernel for want of memory, did that"};
}

}  // namespace

Error refused_namespaces(int error, const host::Surroundings& around) {
  Error refused = step_error({}, Message{.step = Step::Clone, .error = error});
  // Others are a filter around us, as another mayfly's, or a want of descriptors or memory: their
  // words are there already.
  constexpr int kRefusals[] = {EPERM, EACCES, ENOSPC, EUSERS, EINVAL, EAGAIN};
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
               .hint = "raise --memory",
               .about = Subject{.key = "memory"}};
}

namespace {

// The setting that asked for a step, as far as it was asked for.
std::optional<Subject> subject_of(const plan::Plan& plan, const Message& failed) {
  switch (failed.step) {
    case Step::Mount:
    case Step::Seal:
      if (failed.index >= plan.mounts.size() || !plan.mounts[failed.index].entry) return {};
      return Subject{.key = "mounts", .item = *plan.mounts[failed.index].entry};
    case Step::Layer:
    case Step::LayerXattr:
      return Subject{.key = "layer"};
    case Step::TaskChdir:
      return Subject{.key = "chdir"};
    default:
      return {};
  }
}

}  // namespace

Error step_error(const plan::Plan& plan, const Message& failed, isolate::mounts::Upper layer) {
  if (failed.kind == Kind::ExecFailed && failed.error == 0 && failed.value != 0) {
    return killed_before_start(static_cast<int>(failed.value));
  }
  Words words = words_of(plan, failed, layer);
  if (const std::string remedy = sys::common_remedy(failed.error); !remedy.empty()) {
    words.hint = remedy;
  }
  return Error{.kind = words.kind,
               .sys_errno = failed.error,
               .action = std::move(words.action),
               .call = std::move(words.call),
               .hint = std::move(words.hint),
               .about = subject_of(plan, failed)};
}

}  // namespace mayfly::launch
