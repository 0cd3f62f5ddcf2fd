#include "host/probe.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>

#include "host/attempts.hpp"
#include "host/causes.hpp"
#include "host/mounts.hpp"
#include "sys/files.hpp"

namespace mayfly::host {
namespace {

// What else must be there for a row to be tried.
enum class Requires { Nothing, UserNamespace, MountNamespace, AllIds, WritableCgroup, Memory };

struct Row {
  const char* name;
  Need need;
  Requires requires_;
  World world;
  Finding (*attempt)(const HostFacts&);
  Cause (*cause)(int error, const Surroundings& around);
};

Cause no_overlay(int error, const Surroundings& around) {
  if (error == EIO) {
    return {
        .why = "tmpfs holds no user xattrs on this kernel",
        .remedy = "none is needed: the layer is on disk; a kernel from 6.6 on has it in memory"};
  }
  if (error == EPERM) {
    return {.why = "this kernel lets no user namespace mount an overlay",
            .remedy = "use a kernel from 5.14 on"};
  }
  return why_not_inside(error, around);
}

Cause no_ban(int error, const Surroundings& around) {
  if (error != EROFS && error != EACCES && error != EPERM && error != ENOENT) {
    return why_not_inside(error, around);
  }
  return {.why = "/proc/sys is read-only or hidden, as in a container",
          .remedy =
              "start the container with an unmasked /proc (docker: --security-opt "
              "systempaths=unconfined; podman: --security-opt unmask=ALL)"};
}

Cause no_process_limit(int, const Surroundings&) {
  return {.why = "RLIMIT_NPROC does not count the processes of one user namespace here",
          .remedy = "use a kernel from 5.14 on, and do not run as a root that maps no other ids"};
}

Cause no_id_map(int error, const Surroundings& around) {
  if (error == EINVAL) {
    return {.why = "the file system of /usr takes no id mapping",
            .remedy = "none is needed: files that everybody may read are shown unmapped"};
  }
  return why_not_inside(error, around);
}

Cause no_landlock(int error, const Surroundings& around) {
  if (error == EOPNOTSUPP) {
    return {.why = "Landlock is not among the security modules of this boot",
            .remedy = "add landlock to the kernel's lsm= parameter"};
  }
  if (error == ENOSYS) {
    return {.why = "this kernel has no Landlock",
            .remedy = "use a kernel with CONFIG_SECURITY_LANDLOCK"};
  }
  return why_not_inside(error, around);
}

Cause no_seccomp(int error, const Surroundings& around) {
  if (error == EBUSY) {
    return {.why = "an outer sandbox or container already has the one listener that is allowed",
            .remedy = "start mayfly outside it to have denials explained"};
  }
  return why_not_inside(error, around);
}

Cause no_process_call(int error, const Surroundings& around) {
  if (error == ENOSYS && around.filtered) {
    return {.why = "a seccomp filter hides clone3 or pidfds, as in a container",
            .remedy =
                "start the container with a newer profile (docker, podman: --security-opt "
                "seccomp=unconfined)"};
  }
  return why_not_inside(error, around);
}

Cause no_cgroup_clone(int error, const Surroundings& around) {
  if (error == 0) {
    return {.why = "this kernel kills what is cloned into a cgroup below one that was killed once",
            .remedy = "none is needed: the process is moved after its start instead"};
  }
  return why_not_inside(error, around);
}

Cause no_cgroup(int error, const Surroundings& around) {
  if (error == ENOENT) {
    return {.why = "this kernel does not have that file", .remedy = "use a kernel from 5.19 on"};
  }
  return why_not_inside(error, around);
}

Cause no_controllers(int, const Surroundings& around) {
  if (around.no_controllers) {
    return {.why = "the cgroup v2 tree of this host has no controller: a v1 tree has them",
            .remedy = "boot with cgroup v2 alone (systemd.unified_cgroup_hierarchy=1)"};
  }
  return {.why = "no cgroup controller is delegated to the caller's cgroup",
          .remedy =
              "log in through systemd, or run under: systemd-run --user --scope -p "
              "Delegate=yes (root: without --user)"};
}

using enum Requires;
constexpr World kInside = World::UserNamespace, kHere = World::Here;

// clang-format off
constexpr std::array kRows = {
    Row{"user_namespace",   Need::Always, Nothing,        kInside, attempts::user_namespace,   why_no_user_namespace},
    Row{"mount_namespace",  Need::Always, UserNamespace,  kInside, attempts::mount_namespace,  why_not_inside},
    Row{"pid_namespace",    Need::Always, UserNamespace,  kInside, attempts::pid_namespace,    why_not_inside},
    Row{"net_namespace",    Need::Always, UserNamespace,  kInside, attempts::net_namespace,    why_not_inside},
    Row{"ipc_namespace",    Need::Always, UserNamespace,  kInside, attempts::ipc_namespace,    why_not_inside},
    Row{"uts_namespace",    Need::Always, UserNamespace,  kInside, attempts::uts_namespace,    why_not_inside},
    Row{"cgroup_namespace", Need::Always, UserNamespace,  kInside, attempts::cgroup_namespace, why_not_inside},
    Row{"namespace_ban",    Need::Always, UserNamespace,  kInside, attempts::namespace_ban,    no_ban},
    Row{"process_limit",    Need::Some,   UserNamespace,  kInside, attempts::process_limit,    no_process_limit},
    Row{"tmpfs",            Need::Always, MountNamespace, kInside, attempts::tmpfs,            why_not_inside},
    Row{"overlay",          Need::Some,   MountNamespace, kInside, attempts::overlay,          no_overlay},
    Row{"proc",             Need::Always, MountNamespace, kInside, attempts::proc,             why_no_proc},
    Row{"devpts",           Need::Always, MountNamespace, kInside, attempts::devpts,           why_not_inside},
    Row{"read_only_tree",   Need::Always, MountNamespace, kInside, attempts::read_only_tree,   why_not_inside},
    Row{"id_mapped_mount",  Need::Some,   AllIds,         kHere,   attempts::id_mapped_mount,  no_id_map},
    Row{"landlock",         Need::Some,   Nothing,        kHere,   attempts::landlock,         no_landlock},
    Row{"seccomp_filter",   Need::Always, Nothing,        kHere,   attempts::seccomp_filter,   no_seccomp},
    Row{"seccomp_notify",   Need::Some,   Nothing,        kHere,   attempts::seccomp_notify,   no_seccomp},
    Row{"pidfd",            Need::Always, Nothing,        kHere,   attempts::pidfd,            no_process_call},
    Row{"cgroup_clone",     Need::Some,   WritableCgroup, kHere,   attempts::cgroup_clone,     no_cgroup_clone},
    Row{"cgroup_kill",      Need::Some,   WritableCgroup, kHere,   attempts::cgroup_kill,      no_cgroup},
    Row{"cgroup_controllers", Need::Some, Nothing,        kHere,   attempts::cgroup_controllers, no_controllers},
    Row{"memory_peak",      Need::Some,   Memory,         kHere,   attempts::cgroup_memory_peak, no_cgroup},
};
// clang-format on

bool works(const std::vector<ProbeRow>& rows, std::string_view name) {
  for (const ProbeRow& row : rows) {
    if (row.name == name) return row.verdict == Verdict::Works;
  }
  return false;
}

// Why a row is not tried, or empty.
std::string missing(Requires what, const HostFacts& facts, const std::vector<ProbeRow>& rows) {
  switch (what) {
    case Nothing:
      return {};
    case UserNamespace:
      return works(rows, "user_namespace") ? "" : "needs user_namespace";
    case MountNamespace:
      return works(rows, "mount_namespace") ? "" : "needs mount_namespace";
    case AllIds:
      if (!works(rows, "user_namespace")) return "needs user_namespace";
      return facts.owns_all_ids ? "" : "needs a caller that is root and owns all ids";
    case WritableCgroup:
      if (facts.cgroup.mount.empty()) return "no cgroup v2 tree is mounted";
      return facts.cgroup.writable ? "" : "the caller's own cgroup is not writable for it";
    case Memory: {
      // The root of all cgroups has no memory files, whatever its controllers.
      const std::string current = own_cgroup_dir(facts.cgroup) + "/memory.current";
      return sys::may_access(AT_FDCWD, current.c_str(), R_OK)
                 ? ""
                 : "the memory controller does not count the caller's own cgroup";
    }
  }
  return {};
}

}  // namespace

std::vector<ProbeRow> probe(const HostFacts& facts) {
  const Surroundings around = look_around(facts);
  std::vector<ProbeRow> rows;
  rows.reserve(kRows.size());
  for (const Row& row : kRows) {
    ProbeRow result;
    result.name = row.name;
    result.need = row.need;
    result.detail = missing(row.requires_, facts, rows);
    if (result.detail.empty()) {
      // It counts who lives in our cgroup: a child would be one more.
      const bool in_place = row.attempt == attempts::cgroup_controllers;
      Finding finding = in_place ? row.attempt(facts) : attempt(row.world, facts, row.attempt);
      result.verdict = finding.works ? Verdict::Works : Verdict::Fails;
      result.error = finding.error;
      result.detail = std::move(finding.detail);
      if (!finding.works) {
        Cause cause = row.cause(finding.error, around);
        result.cause = std::move(cause.why);
        result.remedy = std::move(cause.remedy);
      }
    }
    rows.push_back(std::move(result));
  }
  return rows;
}

std::optional<bool> tmpfs_holds_user_xattrs(const HostFacts& facts) {
  const Finding finding = attempt(World::UserNamespace, facts, attempts::user_xattrs);
  if (finding.works) return true;
  if (finding.error == EOPNOTSUPP) return false;
  return std::nullopt;
}

std::string_view verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::Works:
      return "works";
    case Verdict::Fails:
      return "fails";
    case Verdict::NotTried:
      return "not_tried";
  }
  return {};
}

}  // namespace mayfly::host
