// HostFacts: what this host is and can do, as a value that a test can write by hand.
//
// gather() reads only what a start needs; probe() (for doctor and features) tries each mechanism
// for real. Nothing here looks at a version number.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "host/controllers.hpp"
#include "host/report_places.hpp"
#include "host/sources.hpp"
#include "host/trees.hpp"

namespace mayfly::host {

struct MountPoint {
  std::string path;    // normal and absolute, octal escapes undone
  std::string fstype;  // "ext4", "cgroup2", …
  bool read_only = false;
  std::string root;  // field 4 of mountinfo: the mount's root within its file system
  bool operator==(const MountPoint&) const = default;
};

struct PasswdEntry {
  std::string name;
  uid_t uid = 0;
  gid_t gid = 0;
  std::string home;
  std::string shell;
  bool operator==(const PasswdEntry&) const = default;
};

struct GroupEntry {
  std::string name;
  gid_t gid = 0;
  bool operator==(const GroupEntry&) const = default;
};

// A range of ids that the host gave to somebody: /etc/subuid and /etc/subgid, without the names.
struct SubordinateRange {
  std::uint32_t first = 0;
  std::uint64_t count = 0;
  bool operator==(const SubordinateRange&) const = default;
};

// An entry of the host's root directory that the `host` root view may show.
struct TopEntry {
  enum class Kind { Directory, Symlink };
  std::string name;  // "usr", "bin"
  Kind kind = Kind::Directory;
  std::string link;    // Symlink: where it points
  bool empty = false;  // Directory: known to have no entry
  bool operator==(const TopEntry&) const = default;
};

// A cgroup below which one with limits may be made.
struct CgroupPlace {
  enum class Kind {
    Named,     // by --cgroup-parent
    Own,       // where we live ourselves: to be left for a leaf below it
    Ancestor,  // of our own
  };
  Kind kind = Kind::Ancestor;
  std::string path;
  Controllers enabled;     // those that its children have already
  Controllers gives;       // those, and the ones that may be enabled
  bool move_self = false;  // we live directly in it, and must leave before anything is enabled
  std::string why_not;     // why it gives no more
  bool operator==(const CgroupPlace&) const = default;
};

// Where a cgroup for a sandbox can be made.
struct CgroupFacts {
  std::string mount;      // mount point of the v2 tree, empty if there is none
  std::string own;        // our own cgroup's path below it, "/" or "/user.slice/…"
  bool writable = false;  // we may create a child of our own cgroup

  // Only for requests with limits that need controllers: see look_for_places().
  std::vector<CgroupPlace> places;  // in the order in which they are to be preferred
  bool has_systemd = false;         // it runs, and may be asked for a scope
  Controllers in_tree;              // what the root of the tree has at all
  bool operator==(const CgroupFacts&) const = default;
};

// The most that the caller's own limits allow; nullopt: no bound.
struct HardLimit {
  int resource = 0;
  std::optional<std::uint64_t> most;
  bool operator==(const HardLimit&) const = default;
};

// The disk that a path of --io lies on.
struct BlockDevice {
  std::string path;
  std::string number;  // "8:0"
  bool operator==(const BlockDevice&) const = default;
};

struct HostFacts {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;  // supplementary, without gid
  bool owns_all_ids = false;  // uid 0 that may map a throwaway range: all ids are in its map, and
                              // it has CAP_SETUID, CAP_SETGID, CAP_SYS_ADMIN
  bool is_host_root = false;  // uid 0 that is not known to be another user's outside
  std::vector<MountPoint> mounts;
  std::vector<TopEntry> top;  // /usr /bin /sbin /lib* /etc /opt, as far as they exist
  std::vector<PasswdEntry> passwd;
  std::vector<GroupEntry> group;
  std::vector<SubordinateRange> subordinate;  // read only if owns_all_ids
  std::vector<std::string> etc_private;       // entries of /etc not readable by everyone: "shadow"
  std::string working_dir;                    // of the caller; empty if it is deleted or unreadable
  std::string work_tree;                      // the enclosing git work tree, or empty
  // The git directory that a work tree's .git file leads to: of a linked work tree the
  // repository's, of a submodule its own. Empty: .git is a directory.
  std::string git_dir;
  bool has_git_dir = false;  // there is such a directory, and the caller may look at it
  // What the working directory and work tree are from where the caller is, whatever their paths
  // lead to later.
  std::optional<Inode> working_inode, tree_inode;
  std::string home;                      // the caller's home by passwd, or by HOME; may be empty
  std::string env_home;                  // HOME, if it names another directory than passwd
  std::uint64_t stack_bytes = 8u << 20;  // RLIMIT_STACK, soft: bounds argv and the environment
  int landlock_abi = 0;                  // 0: none
  CgroupFacts cgroup;
  bool on_terminal = false;         // stdin and stdout are terminals; looked at where it matters
  std::vector<SourceFact> sources;  // what the request's entries point to, by inspect_source()
  std::vector<std::string> places;  // where the targets of its entries lie here, by real_place()
  std::vector<TreeFact> trees;      // those with mounts below, by look_at_tree()
  std::string runtime_dir;          // where the registry lives (DESIGN 11)
  std::string cache_dir;            // where a layer on disk is made; may be empty
  // Only for requests that name them:
  std::vector<ReportPlace> report_places;
  std::vector<HardLimit> hard_limits;
  std::vector<BlockDevice> devices;
  std::string seccomp_profile;  // the content of the request's profile, where there is one
  std::string kernel_release;   // read only with it

  bool operator==(const HostFacts&) const = default;
};

// Whose eyes etc_private protects from.
enum class EtcCheck {
  ForCaller,   // what matters for the ids that this caller's tasks get (nothing for root)
  ForHostIds,  // the task keeps the caller's id (--unsafe-ids=host): all of /etc is looked through
};

// Reads the facts that a start needs. Fails only on what no start can do without (no /proc).
// working_dir: what sys::getcwd() said, empty if it failed, where the caller has asked already.
[[nodiscard]] Result<HostFacts> gather(EtcCheck etc = EtcCheck::ForCaller,
                                       std::optional<std::string> working_dir = std::nullopt);

// True if some mount of the table lies strictly below `path`.
[[nodiscard]] bool has_mounts_below(const std::vector<MountPoint>& mounts, const std::string& path);

}  // namespace mayfly::host
