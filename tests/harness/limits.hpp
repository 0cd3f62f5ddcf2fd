// What a host lets a sandbox be held to, and what a result says of it.
#pragma once

#include <string>
#include <vector>

#include "harness/sandbox.hpp"

namespace harness {

// Where the cgroup v2 tree is mounted; "" if nowhere.
[[nodiscard]] std::string cgroup_tree();
// Whether the tree has the controller at all.
[[nodiscard]] bool has_controller(const std::string& name);
// True where there is no such controller, after it was shown that the options are refused.
bool refused_for_want_of(const std::string& controller, const Words& options);

// "enforced", "not_enforced" ...; "" if the result has no note of it.
[[nodiscard]] std::string note_of(const Ended& ended, const std::string& what);
// Whether limits_hit names it.
[[nodiscard]] bool was_hit(const Ended& ended, const std::string& limit);

// A cgroup of the test's own with all controllers, beside the parent of the one that it runs in,
// with no process and nothing enabled in it. Its end kills and removes what is left in it.
class OwnCgroup {
 public:
  OwnCgroup();
  ~OwnCgroup();
  OwnCgroup(const OwnCgroup&) = delete;
  OwnCgroup& operator=(const OwnCgroup&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  // The new cgroup `name` in it.
  [[nodiscard]] std::string make(const std::string& name) const;
  // The cgroups in it.
  [[nodiscard]] Words children() const;

 private:
  std::string path_;
};

// A file of a cgroup without the newline at its end; the test fails if it cannot be read.
[[nodiscard]] std::string cgroup_value(const std::string& cgroup, const std::string& file);
// The number in the line "key number" of a cgroup's file.
[[nodiscard]] std::uint64_t cgroup_count(const std::string& cgroup, const std::string& file,
                                         const std::string& key);
void set_cgroup_value(const std::string& cgroup, const std::string& file, const std::string& value);
// Words before a program that move it into the cgroup.
[[nodiscard]] Words inside_cgroup(const std::string& cgroup);

}  // namespace harness
