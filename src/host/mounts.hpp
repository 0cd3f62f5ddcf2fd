// The mount table and the cgroup line of /proc/self, as pure functions over their text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "host/facts.hpp"

namespace mayfly::host {

// /proc/self/mountinfo, in its order; octal escapes (\040) undone. A line that is not as proc(5)
// says is an error: a mount that we overlook may be one that hides something.
[[nodiscard]] Result<std::vector<MountPoint>> parse_mountinfo(std::string_view text);

// The mounts strictly below `path` that a path leads to (none is on top of them), in the order of
// their paths: parents before what is in them.
[[nodiscard]] std::vector<const MountPoint*> visible_mounts_below(
    const std::vector<MountPoint>& mounts, const std::string& path);

// The mount that a path leads to: null if the table has none at all.
[[nodiscard]] const MountPoint* mount_of(const std::vector<MountPoint>& mounts,
                                         const std::string& path);

// Where the v2 hierarchy is mounted and our own cgroup in it; both empty if there is none that we
// can reach. `proc_cgroup` is /proc/self/cgroup. `writable` is left to the caller.
[[nodiscard]] CgroupFacts find_cgroup(const std::vector<MountPoint>& mounts,
                                      std::string_view proc_cgroup);

// The directory of our own cgroup.
[[nodiscard]] std::string own_cgroup_dir(const CgroupFacts& cgroup);

}  // namespace mayfly::host
