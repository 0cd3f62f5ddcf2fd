#include "host/causes.hpp"

#include <doctest/doctest.h>

#include <cerrno>

using namespace mayfly::host;

namespace {

bool says(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("why_no_user_namespace names the setting that does it") {
  Surroundings around;
  around.max_user_namespaces = 10000;
  SUBCASE("a count of zero") {
    around.max_user_namespaces = 0;
    CHECK(why_no_user_namespace(ENOSPC, around).why == "user.max_user_namespaces is 0");
    CHECK(says(why_no_user_namespace(ENOSPC, around).remedy, "user.max_user_namespaces="));
  }
  SUBCASE("a full count or too deep a nesting") {
    CHECK(says(why_no_user_namespace(ENOSPC, around).why, "too many user namespaces"));
  }
  SUBCASE("Debian's switch") {
    around.unprivileged_userns_clone = 0;
    around.filtered = true;
    CHECK(why_no_user_namespace(EPERM, around).why == "kernel.unprivileged_userns_clone is 0");
  }
  SUBCASE("Ubuntu's AppArmor") {
    around.unprivileged_userns_clone = 1;
    around.apparmor_restrict_userns = 1;
    CHECK(says(why_no_user_namespace(EPERM, around).why, "apparmor_restrict_unprivileged_userns"));
    CHECK(says(why_no_user_namespace(EACCES, around).remedy, "AppArmor profile"));
  }
  SUBCASE("a chroot, a container's filter, something else") {
    CHECK(says(why_no_user_namespace(EPERM, around).why, "a security policy"));
    around.filtered = true;
    CHECK(says(why_no_user_namespace(EPERM, around).why, "seccomp filter"));
    around.in_chroot = true;
    CHECK(says(why_no_user_namespace(EPERM, around).why, "chroot"));
  }
  SUBCASE("too many processes: the limit that is reached, never a security policy") {
    CHECK(says(why_no_user_namespace(EAGAIN, around).remedy, "kernel.threads-max"));
    around.process_limit = 3;
    CHECK(says(why_no_user_namespace(EAGAIN, around).why, "ulimit -u: 3"));
    CHECK(says(why_not_inside(EAGAIN, around).remedy, "ulimit -u 4096"));
    around.full_cgroup = "/sys/fs/cgroup/x";
    CHECK(says(why_no_user_namespace(EAGAIN, around).why, "/sys/fs/cgroup/x"));
    CHECK(says(why_not_inside(EAGAIN, around).remedy, "pids.max"));
  }
  SUBCASE("a read-only /proc refuses the id maps") {
    CHECK(says(why_no_user_namespace(EROFS, around).why, "/proc is read-only"));
  }
  SUBCASE("a kernel without them") {
    CHECK(says(why_no_user_namespace(EINVAL, around).remedy, "CONFIG_USER_NS"));
  }
}

TEST_CASE("why_not_inside and why_no_proc") {
  Surroundings around;
  around.max_other_namespaces = 0;
  around.exhausted = "user.max_net_namespaces";
  CHECK(why_not_inside(ENOSPC, around).why == "user.max_net_namespaces is 0");
  around.max_other_namespaces = 5;
  CHECK(says(why_not_inside(ENOSPC, around).why, "too many namespaces"));
  CHECK(says(why_not_inside(ENODEV, around).why, "this kernel does not have it"));
  around.apparmor_restrict_userns = 1;
  CHECK(says(why_not_inside(EPERM, around).why, "AppArmor"));

  CHECK(says(why_no_proc(EPERM, around).why, "AppArmor"));
  around.masked_proc = true;
  CHECK(says(why_no_proc(EPERM, around).why, "/proc are hidden"));
  CHECK(says(why_no_proc(EPERM, around).remedy, "systempaths=unconfined"));
  CHECK(says(why_no_proc(ENOSPC, around).why, "too many namespaces"));
}

TEST_CASE("look_around sees in the mount table what is done to /proc and the root") {
  const auto with = [](std::vector<MountPoint> mounts) {
    HostFacts facts;
    facts.mounts = std::move(mounts);
    return look_around(facts);
  };
  const MountPoint root = {.path = "/", .fstype = "ext4", .read_only = false, .root = "/"};
  const MountPoint proc = {.path = "/proc", .fstype = "proc", .read_only = false, .root = "/"};
  const MountPoint misc = {
      .path = "/proc/sys/fs/binfmt_misc", .fstype = "binfmt_misc", .read_only = false, .root = "/"};
  const MountPoint mask = {
      .path = "/proc/kcore", .fstype = "tmpfs", .read_only = false, .root = "/null"};
  const MountPoint sys = {.path = "/proc/sys", .fstype = "proc", .read_only = true, .root = "/sys"};

  const Surroundings plain = with({root, proc, misc});
  CHECK_FALSE(plain.in_chroot);
  CHECK_FALSE(plain.masked_proc);
  CHECK_FALSE(plain.read_only_proc);
  CHECK(plain.max_user_namespaces.has_value());  // every kernel since 4.9 has it
  CHECK(plain.max_other_namespaces.has_value());
  CHECK(says(plain.exhausted, "user.max_"));

  CHECK(with({proc}).in_chroot);
  CHECK(with({root, proc, mask}).masked_proc);
  CHECK(with({root, proc, sys}).read_only_proc);
}
