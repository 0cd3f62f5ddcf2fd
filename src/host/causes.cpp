#include "host/causes.hpp"

#include <fcntl.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <string_view>

#include "base/text.hpp"
#include "host/cgroup_places.hpp"
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
