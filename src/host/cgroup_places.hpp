// Where in the cgroup v2 tree a sandbox's limits could be held (DESIGN 10): looked at, not touched.
//
// A cgroup gives a controller to its children if that is enabled in it (cgroup.subtree_control),
// which the kernel allows only where no process lives directly. What may be changed: a parent that
// the caller names; else a cgroup that was delegated to the caller and in which only the caller's
// own processes live. The root of the tree, and what systemd manages and has not delegated, is
// somebody else's.
#pragma once

#include <string>
#include <vector>

#include "host/controllers.hpp"
#include "host/facts.hpp"

namespace mayfly::host {

// For a caller whose request has such limits: fills places, systemd and root_controllers in.
// named: the directory that --cgroup-parent gives, or empty; then no other is looked at.
void look_for_places(CgroupFacts& cgroup, Controllers wanted, const std::string& named);

// One of them, as it is now.
[[nodiscard]] CgroupPlace look_at_place(CgroupPlace::Kind kind, const std::string& path,
                                        Controllers wanted);

// Those of its cgroup.controllers.
[[nodiscard]] Controllers read_controllers_of(const std::string& path);

// Our own cgroup's directory as it is now, after somebody moved us.
[[nodiscard]] Result<std::string> own_cgroup(const CgroupFacts& cgroup);

// True if the processes of the cgroup, and of all below it that are no sandboxes of ours, belong
// to this user. False as well where there are too many to look at.
[[nodiscard]] bool only_own_processes(const std::string& path);

}  // namespace mayfly::host
