#include "host/mounts.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace mayfly;
using namespace mayfly::host;

namespace {

MountPoint mount_at(std::string path, std::string fstype = "ext4", std::string root = "/") {
  return {.path = std::move(path),
          .fstype = std::move(fstype),
          .read_only = false,
          .root = std::move(root)};
}

}  // namespace

TEST_CASE("parse_mountinfo reads the fields that matter") {
  const auto mounts = parse_mountinfo(
      "22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/root rw,discard\n"
      "23 22 0:5 /a\\040b /mnt/with\\040blank\\134\\011tab\\043 ro,nosuid - tmpfs none rw\n"
      "24 22 0:6 / /data rw shared:3 master:4 propagate_from:2 - fuse.sshfs host:/x ro,user_id=0\n"
      "25 22 0:7 / /rw rw,nosuid - ext4 /dev/rox rw,errors=remount-ro\n"
      "26 22 0:8 / /nosource rw - tmpfs  rw\n");
  REQUIRE(mounts);
  REQUIRE(mounts->size() == 5);
  CHECK((*mounts)[0] == MountPoint{.path = "/", .fstype = "ext4", .read_only = false, .root = "/"});
  CHECK((*mounts)[1] == MountPoint{.path = "/mnt/with blank\\\ttab#",
                                   .fstype = "tmpfs",
                                   .read_only = true,
                                   .root = "/a b"});
  CHECK((*mounts)[2].fstype == "fuse.sshfs");
  CHECK((*mounts)[2].read_only);  // the file system is, if not the mount
  CHECK_FALSE((*mounts)[3].read_only);
  CHECK((*mounts)[4].fstype == "tmpfs");
}

TEST_CASE("parse_mountinfo: an escape that is cut short or no octal number stays as it is") {
  const auto mounts =
      parse_mountinfo("1 0 0:1 / /a\\04 rw - tmpfs x rw\n2 0 0:1 / /b\\089 rw - t x y");
  REQUIRE(mounts);
  CHECK((*mounts)[0].path == "/a\\04");
  CHECK((*mounts)[1].path == "/b\\089");
}

TEST_CASE("parse_mountinfo refuses a line it does not understand, and shows it") {
  for (const char* bad : {"rubbish", "1 0 0:1 / /x rw shared:1",
                          "1 0 0:1 / relative rw - tmpfs x rw", "1 0 0:1 / /x rw -", "\n"}) {
    CAPTURE(bad);
    const auto mounts = parse_mountinfo(bad);
    REQUIRE_FALSE(mounts);
    CHECK(describe(mounts.error()).find("understand the line of /proc/self/mountinfo") !=
          std::string::npos);
  }
  const auto mounts = parse_mountinfo("rub\x1b[2Jbish");
  REQUIRE_FALSE(mounts);
  CHECK(describe(mounts.error()).find("rub\\x1b[2Jbish") != std::string::npos);
}

TEST_CASE("find_cgroup: where the v2 tree is and which group is ours") {
  const std::string hybrid = "4:memory:/elsewhere\n1:name=systemd:/x\n0::/user.slice/a\n";
  SUBCASE("unified") {
    const auto found =
        find_cgroup({mount_at("/"), mount_at("/sys/fs/cgroup", "cgroup2")}, "0::/user.slice/a\n");
    CHECK(found.mount == "/sys/fs/cgroup");
    CHECK(found.own == "/user.slice/a");
    CHECK_FALSE(found.writable);
    CHECK(own_cgroup_dir(found) == "/sys/fs/cgroup/user.slice/a");
  }
  SUBCASE("hybrid: v1 lines and mounts are passed over") {
    const auto found = find_cgroup(
        {mount_at("/sys/fs/cgroup", "tmpfs"), mount_at("/sys/fs/cgroup/memory", "cgroup"),
         mount_at("/sys/fs/cgroup/unified", "cgroup2")},
        hybrid);
    CHECK(found.mount == "/sys/fs/cgroup/unified");
    CHECK(found.own == "/user.slice/a");
  }
  SUBCASE("our own cgroup is the root of the mount") {
    const auto found = find_cgroup({mount_at("/cg", "cgroup2")}, "0::/\n");
    CHECK(found.own == "/");
    CHECK(own_cgroup_dir(found) == "/cg");
  }
  SUBCASE("a container that sees a part of the host's tree") {
    const auto found =
        find_cgroup({mount_at("/sys/fs/cgroup", "cgroup2", "/docker/77")}, "0::/docker/77/sub\n");
    CHECK(found.own == "/sub");
    CHECK(own_cgroup_dir(found) == "/sys/fs/cgroup/sub");
    CHECK(find_cgroup({mount_at("/cg", "cgroup2", "/docker/7")}, "0::/docker/77\n") ==
          CgroupFacts{});
  }
  SUBCASE("outside the cgroup namespace's root: unreachable") {
    CHECK(find_cgroup({mount_at("/cg", "cgroup2")}, "0::/../../other\n") == CgroupFacts{});
    CHECK(find_cgroup({mount_at("/cg", "cgroup2", "/..")}, "0::/a\n") == CgroupFacts{});
  }
  SUBCASE("a name that only begins with dots is an ordinary one") {
    CHECK(find_cgroup({mount_at("/cg", "cgroup2")}, "0::/..odd\n").own == "/..odd");
  }
  SUBCASE("a mount hidden by a later one does not count, a later root hides nothing") {
    CHECK(find_cgroup({mount_at("/sys/fs/cgroup", "cgroup2"), mount_at("/sys", "sysfs")}, "0::/\n")
              .mount.empty());
    CHECK(find_cgroup({mount_at("/sys/fs/cgroup", "cgroup2"), mount_at("/")}, "0::/\n").mount ==
          "/sys/fs/cgroup");
  }
  SUBCASE("no v2 at all") {
    CHECK(find_cgroup({mount_at("/cg", "cgroup")}, "4:memory:/x\n") == CgroupFacts{});
    CHECK(find_cgroup({mount_at("/cg", "cgroup2")}, "") == CgroupFacts{});
  }
}

TEST_CASE("has_mounts_below looks strictly below, by whole components") {
  const std::vector<MountPoint> mounts = {mount_at("/"), mount_at("/usr"), mount_at("/etc/hosts")};
  CHECK(has_mounts_below(mounts, "/"));
  CHECK(has_mounts_below(mounts, "/etc"));
  CHECK_FALSE(has_mounts_below(mounts, "/usr"));
  CHECK_FALSE(has_mounts_below(mounts, "/us"));
  CHECK_FALSE(has_mounts_below(mounts, "/opt"));
}
