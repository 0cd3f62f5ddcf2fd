#include "host/causes.hpp"

#include <fcntl.h>
#include <sys/resource.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <string_view>

#include "base/text.hpp"
#include "host/cgroup_places.hpp"
#include "host/mounts.hpp"
#include "sys/files.hpp"

namespace mayfly::host {
namespace {

std::optional<std::int64_t> setting(const char* path) {
  std::string buffer;
  const auto text = sys::read_whole_file(AT_FDCWD, path, buffer, 256);
  std::int64_t value = 0;
  if (!text) return std::nullopt;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

// The mode in the line "Seccomp:\t2" of /proc/self/status; 0 is none.
bool is_filtered() {
  std::string buffer;
  const auto text = sys::read_whole_file(AT_FDCWD, "/proc/self/status", buffer, 1u << 16);
  constexpr std::string_view kLine = "\nSeccomp:\t";
  const std::size_t at = text ? text->find(kLine) : std::string_view::npos;
  return at != std::string_view::npos && text->substr(at + kLine.size(), 1) != "0";
}

void look_at_proc(const HostFacts& facts, Surroundings& around) {
  bool has_root = false;
  for (const MountPoint& mount : facts.mounts) {
    has_root = has_root || mount.path == "/";
    const bool over_proc = mount.path == "/proc" || mount.path == "/proc/sys";
    // binfmt_misc and the like are mounted on directories that are empty for this; all else below
    // /proc hides something.
    const bool hides = mount.path != "/proc" && is_within(mount.path, "/proc") &&
                       mount.path != "/proc/sys/fs/binfmt_misc" && mount.path != "/proc/fs/nfsd";
    around.masked_proc = around.masked_proc || hides;
    around.read_only_proc = around.read_only_proc || (over_proc && mount.read_only);
  }
  around.in_chroot = !has_root;
}

// The nearest that is full, of our own cgroup and those above it; empty: none is, or it cannot be
// seen. A process that could not be made is not counted.
std::string find_full_cgroup(const CgroupFacts& cgroup) {
  if (cgroup.mount.empty()) return {};
  for (std::string path = own_cgroup_dir(cgroup); path.size() >= cgroup.mount.size();
       path.erase(path.rfind('/'))) {
    const auto most = setting((path + "/pids.max").c_str());
    const auto now = setting((path + "/pids.current").c_str());
    if (most && now && *now >= *most) return path;
  }
  return {};
}

// The soft one, which the kernel holds; never against the host's root.
std::optional<std::uint64_t> process_limit(const HostFacts& facts) {
  rlimit limit = {};
  if (facts.uid == 0 && facts.owns_all_ids) return std::nullopt;
  if (::getrlimit(RLIMIT_NPROC, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return std::nullopt;
  }
  return limit.rlim_cur;
}

// EAGAIN of what makes a process.
Cause too_many_processes(const Surroundings& around) {
  if (!around.full_cgroup.empty()) {
    return {
        .why = "the cgroup " + around.full_cgroup + " has as many processes as its pids.max allows",
        .remedy = "raise its pids.max (TasksMax= of a systemd unit), or end some of them"};
  }
  if (around.process_limit) {
    return {.why = "the caller's limit of processes is reached (ulimit -u: " +
                   std::to_string(*around.process_limit) + ")",
            .remedy = "raise it, as with ulimit -u 4096, or end processes of this user"};
  }
  return {.why = "as many processes exist as may, by a limit of a container or of the host",
          .remedy =
              "end some, or raise the limit: pids.max of the container, or the host's "
              "kernel.pid_max and kernel.threads-max"};
}

Cause policy_cause(const Surroundings& around) {
  if (around.apparmor_restrict_userns.value_or(0) != 0) {
    return {.why =
                "AppArmor restricts user namespaces of ordinary users "
                "(kernel.apparmor_restrict_unprivileged_userns is 1)",
            .remedy =
                "load an AppArmor profile with the rule \"userns,\" for mayfly, or: sysctl -w "
                "kernel.apparmor_restrict_unprivileged_userns=0"};
  }
  if (around.in_chroot) {
    return {.why = "this is a chroot, where the kernel makes no user namespace",
            .remedy = "start mayfly outside the chroot"};
  }
  if (around.filtered) {
    return {.why = "a seccomp filter is in force here, as in a container",
            .remedy =
                "start the container with a profile that allows namespaces and mounts "
                "(docker, podman: --security-opt seccomp=unconfined)"};
  }
  return {.why = "a security policy of this host forbids it",
          .remedy =
              "ask the kernel log (dmesg, audit) which of AppArmor, SELinux or another module "
              "it was"};
}

}  // namespace

Surroundings look_around(const HostFacts& facts) {
  Surroundings around;
  around.unprivileged_userns_clone = setting("/proc/sys/kernel/unprivileged_userns_clone");
  around.apparmor_restrict_userns =
      setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns");
  around.max_user_namespaces = setting("/proc/sys/user/max_user_namespaces");
  for (const char* kind : {"mnt", "pid", "net", "ipc", "uts", "cgroup"}) {
    const std::string name = "max_" + std::string(kind) + "_namespaces";
    const auto most = setting(("/proc/sys/user/" + name).c_str());
    if (!most || (around.max_other_namespaces && *around.max_other_namespaces <= *most)) continue;
    around.max_other_namespaces = most;
    around.exhausted = "user." + name;
  }
  around.no_controllers =
      !facts.cgroup.mount.empty() && read_controllers_of(facts.cgroup.mount).none();
  around.process_limit = process_limit(facts);
  around.full_cgroup = find_full_cgroup(facts.cgroup);
  around.filtered = is_filtered();
  look_at_proc(facts, around);
  return around;
}

Cause why_no_user_namespace(int error, const Surroundings& around) {
  if (around.max_user_namespaces == 0 && (error == ENOSPC || error == EUSERS)) {
    return {.why = "user.max_user_namespaces is 0",
            .remedy = "sysctl -w user.max_user_namespaces=10000"};
  }
  switch (error) {
    case ENOSPC:
    case EUSERS:
      return {
          .why = "too many user namespaces exist, or they are nested 32 deep",
          .remedy = "raise user.max_user_namespaces, or start mayfly outside the other sandbox"};
    case EROFS:
      return {.why = "/proc is read-only, so ids cannot be mapped",
              .remedy =
                  "start the container with a writable /proc (docker: --security-opt "
                  "systempaths=unconfined)"};
    case EINVAL:
    case ENOSYS:
      return {.why = "this kernel has no user namespaces",
              .remedy = "use a kernel with CONFIG_USER_NS, 5.14 or later"};
    case EAGAIN:
      return too_many_processes(around);
    default:
      break;
  }
  if (around.unprivileged_userns_clone == 0) {
    return {.why = "kernel.unprivileged_userns_clone is 0",
            .remedy = "sysctl -w kernel.unprivileged_userns_clone=1"};
  }
  return policy_cause(around);
}

Cause why_not_inside(int error, const Surroundings& around) {
  switch (error) {
    case ENOSPC:
      if (around.max_other_namespaces == 0) {
        return {.why = around.exhausted + " is 0",
                .remedy = "sysctl -w " + around.exhausted + "=10000"};
      }
      return {.why = "too many namespaces of this kind exist",
              .remedy = "raise the user.max_*_namespaces of this kind"};
    case ENODEV:
    case EINVAL:
    case ENOSYS:
    case EOPNOTSUPP:
      return {.why = "this kernel does not have it",
              .remedy = "use a kernel from 5.14 on that is built with it, or load its module"};
    case EAGAIN:
      return too_many_processes(around);
    default:
      return policy_cause(around);
  }
}

Cause why_no_proc(int error, const Surroundings& around) {
  const bool refused = error == EPERM || error == EACCES;
  if (refused && (around.masked_proc || around.read_only_proc)) {
    return {.why = "parts of this host's /proc are hidden or read-only, as in a container",
            .remedy =
                "start the container with an unmasked /proc (docker: --security-opt "
                "systempaths=unconfined; podman: --security-opt unmask=ALL)"};
  }
  return why_not_inside(error, around);
}

}  // namespace mayfly::host
