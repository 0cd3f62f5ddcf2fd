// Plan: the list of steps that makes one sandbox, decided before anything is touched.
//
// make_plan() is pure: Spec + HostFacts → Plan, or a refusal that says what to change. Every
// downgrade is decided here and listed in `notes`, so that explain, doctor and the result say the
// same as what happens.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "host/facts.hpp"
#include "policy/programs.hpp"
#include "spec/spec.hpp"

namespace mayfly::plan {

// One line of /proc/PID/uid_map or gid_map.
struct IdRange {
  std::uint32_t inside = 0;
  std::uint32_t outside = 0;
  std::uint32_t count = 1;
  bool operator==(const IdRange&) const = default;
};

// Where the outside range of a throwaway mapping goes: chosen when it is locked, at prepare.
inline constexpr std::uint32_t kThrowawayBase = 0xFFFFFFFF;
inline constexpr std::uint32_t kRangeSize = 65536;
inline constexpr std::uint32_t kInitId = 65533;  // init's own id where a range is mapped
// Throwaway ranges are 64 Ki-aligned and lie in [kFirstRange, kLastRange], in units of kRangeSize.
inline constexpr std::uint32_t kFirstRange = 0x8;    // 0x80000
inline constexpr std::uint32_t kLastRange = 0x6FFE;  // 0x6FFE0000-0x6FFEFFFF

struct Ids {
  bool range = false;  // a throwaway range: outside == kThrowawayBase until prepare
  std::vector<IdRange> uids;
  std::vector<IdRange> gids;
  std::vector<IdRange> taken;  // outside ids that a throwaway range must not touch
  bool deny_setgroups = true;
  std::uint32_t task_uid = 0, task_gid = 0;  // inside
  std::uint32_t init_uid = 0, init_gid = 0;  // inside
  std::string user = "root";                 // the task's name, home and shell in its own passwd
  std::string home = "/root";
  std::string shell = "/bin/sh";
  bool operator==(const Ids&) const = default;
};

// What the child does to build the root, in order. Paths in `target` are relative to the new root
// and have no leading slash.
enum class MountKind {
  Layer,    // the root itself: a directory of the layer that holds `skeleton`
  Nodes,    // no mount: make `skeleton` below the new root as it stands, never through a symlink
  Overlay,  // lower directories (host paths or prepared trees) with upper and work on the layer
  Bind,     // a host path, recursively
  Tmpfs,
  Proc,
  Devpts,
  Mask,      // hide a file (unreadable) or directory (empty, read-only)
  ReadOnly,  // make what is mounted at target read-only, recursively
};

enum class Access { ReadWrite, ReadOnly };

// A directory, file, link or whiteout made before the mounts, in the skeleton that is the root or a
// lower layer of its overlay, or after the mounts (through them).
struct Node {
  enum class Kind { Dir, File, Symlink, Whiteout };
  Kind kind = Kind::Dir;
  std::string path = {};  // relative to the tree it belongs to
  unsigned mode = 0755;
  std::string data = {};         // File: content; Symlink: target
  std::int64_t modified_ns = 0;  // File: its time (CLOCK_REALTIME), 0 = now
  bool task_owned = false;       // belongs to the task's ids, not to those that build the root
  bool sets_mode = false;        // beneath the root: what is there already gets the mode, too
  bool operator==(const Node&) const = default;
};

struct MountStep {
  MountKind kind = MountKind::Overlay;
  std::string target = {};                // relative to the new root; empty: the root itself
  std::vector<std::string> lowers = {};   // Overlay: absolute host paths, top first
  std::vector<Node> skeleton = {};        // Overlay: what a topmost lower of our own holds
  std::string source = {};                // Bind: absolute host path
  std::optional<host::Inode> inode = {};  // what the source, or the only lower, must be
  Access access = Access::ReadWrite;
  bool id_mapped = false;  // Overlay, Bind: shift the host's ids into the sandbox's range
  // Overlay: the lower is a copy of its mount, without the mounts below, that the parent takes
  bool detached = false;
  bool must_be_writable = false;  // with id_mapped: refuse where the task could only read
  bool devices = false;           // Bind of a device node: no nodev
  std::uint64_t size = 0;         // Tmpfs
  unsigned mode = 0755;           // Tmpfs, root of an overlay's upper
  bool own_target = false;      // the whole way to the target is of our own or the kernel's making
  bool make_target = false;     // create the mount point inside if it is missing
  bool target_is_file = false;  // … as an empty file
  // Mask, ReadOnly: nothing to hide there is not a failure. Nodes: nothing that fails is one
  bool optional = false;
  std::optional<std::size_t> entry = std::nullopt;  // of the spec's fs, which asked for it
  bool operator==(const MountStep&) const = default;
};

struct Rlimit {
  int resource = 0;
  std::uint64_t soft = 0, hard = 0;
  bool operator==(const Rlimit&) const = default;
};

// How many processes were asked for, and the caller's own hard limit, which a limit inside cannot
// exceed.
struct ProcessLimit {
  std::uint64_t asked = 0, most = UINT64_MAX;
  bool operator==(const ProcessLimit&) const = default;
};

// A file of the sandbox's cgroup: what is written to it before the clone, and what it must say
// then.
struct CgroupKnob {
  host::Controller controller = host::Controller::Memory;
  const char* file = "";
  std::string value = {};
  std::string expected = {};  // a line of it
  bool optional = false;      // a kernel without the file has nothing to be limited
  bool operator==(const CgroupKnob&) const = default;
};

// What a sandbox's cgroup is to be limited by, and how one that can be is come by.
struct CgroupLimits {
  std::vector<CgroupKnob> knobs;  // empty: the cgroup needs no controller
  host::Controllers needed;       // theirs
  bool move_self = false;         // we live in cgroup_parent, and must leave for a leaf below it
  bool from_systemd = false;      // cgroup_parent is a scope that systemd will be asked for
  bool is_named = false;          // cgroup_parent is the caller's choice
  bool best_effort = false;       // where it fails, the task is started without
  bool operator==(const CgroupLimits&) const = default;
};

enum class Enforcement { Enforced, Approximated, NotEnforced };

// One line about how a promise or limit is kept on this host. Printed by doctor and the result.
struct Note {
  std::string what = {};
  Enforcement enforcement = Enforcement::Enforced;
  std::string how = {};
  bool operator==(const Note&) const = default;
};

using Filter = policy::Stock;

// Who learns that the filter refused a call. Told, Fatal: the supervisor, which answers it, or ends
// the sandbox.
enum class Refusals { Silent, Told, Fatal };

struct Plan {
  Ids ids;
  std::uint64_t layer_bytes = 0, layer_inodes = 0;
  spec::LayerKind layer = spec::LayerKind::Auto;
  std::string layer_parent;       // where a layer on disk is made: absolute, or empty
  std::vector<MountStep> mounts;  // the first is the root: Layer or Overlay
  // What is hidden or made read-only last, when everything is in place and the ban on user
  // namespaces was written through the still writable /proc/sys.
  std::vector<MountStep> seals;
  std::string hostname;
  bool loopback = true;
  std::vector<Rlimit> rlimits;       // of everything inside, init included
  std::vector<Rlimit> task_rlimits;  // of the task alone
  ProcessLimit processes;
  bool ban_user_namespaces = true;
  std::uint64_t keep_capabilities = 0;  // a mask of those that the task keeps (unsafe)
  int landlock_abi = 0;                 // 0: not enforced
  bool new_session_keyring = false;
  std::string cgroup_parent;  // absolute directory in which the sandbox's cgroup is made, or empty
  std::string cgroup_reason;  // why there is none
  CgroupLimits cgroup;
  Filter filter = Filter::Default;
  policy::Programs programs;  // where they are not the stock ones of this variant
  Refusals refusals = Refusals::Silent;

  std::vector<std::string> argv;
  std::vector<std::string> program_paths;  // candidates, in order
  std::vector<std::string> env;            // "NAME=VALUE"
  std::string chdir;                       // absolute, inside
  bool chdir_is_asked = false;             // else it is the caller's, or HOME
  unsigned umask = 022;
  bool linger = false;
  bool terminal = false;         // the task gets a pty of the sandbox's own devpts
  bool watch_processes = false;  // the supervisor gets the sandbox's /proc: no cgroup tells it
  std::vector<Note> notes;

  bool operator==(const Plan&) const = default;
};

// How the time of the whole tree is known, for --cpu-time and --progress: by the cgroup, if the
// plan has one. Again where that turned out not to be had.
void choose_meter(const spec::Spec& spec, Plan& plan);

[[nodiscard]] Result<Plan> make_plan(const spec::Spec& spec, const host::HostFacts& facts,
                                     const std::vector<std::string>& caller_env);

}  // namespace mayfly::plan
