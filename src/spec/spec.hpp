// Spec: what a sandbox is, as plain data. Opens nothing, resolves nothing.
//
// The command line fills one in; later policies and JSON do too. Lists are ordered because order
// matters: file system entries are applied as given, a later environment rule wins.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "spec/limits.hpp"

namespace mayfly::spec {

using Nanoseconds = std::chrono::nanoseconds;

// More labels than this are refused: they go into every record and result.
inline constexpr std::size_t kMostLabels = 100;

enum class RootKind { Host, Directory, Empty };
enum class ProjectMode { Cow, Rw, Ro, None };
// A group of system calls (policies/syscalls.toml) that is allowed or denied, whatever the stock
// policy does with it.
enum class Stand { Allow, Deny };
struct SyscallRule {
  std::string group;
  Stand stand = Stand::Deny;
  bool operator==(const SyscallRule&) const = default;
};

// What a system call that the policy refuses does to its caller, beside failing.
enum class SeccompAction { Errno, Kill };
enum class StdinKind { Inherit, Null, File };
enum class TtyMode { Auto, Yes, No };  // Auto: where stdin and stdout are terminals

enum class FsKind {
  Ro,       // source visible at target, read-only: a read-only overlay for a directory
  Rw,       // source bound live and writable at target
  Cow,      // source at target, writes on the layer
  Tmpfs,    // an empty tmpfs of its own (size) at target
  File,     // a file with `data`, or a copy of source, at target
  Dir,      // an empty directory at target
  Symlink,  // a symbolic link at target, pointing to `data`
  Mask,     // target hidden: an empty read-only directory or an unreadable file
  Device,   // a host device node bound at target (unsafe)
};

// The option that makes such an entry, as messages name it: "--ro".
[[nodiscard]] std::string_view option_of(FsKind kind);

// Made by us inside, from nothing of the host's.
[[nodiscard]] bool is_node(FsKind kind);

// One entry of the sandbox's file system, applied in the order given.
struct FsEntry {
  FsKind kind = FsKind::Ro;
  std::string source;            // on the host; empty where the kind has none
  std::string target;            // absolute, inside
  std::string data;              // File: content; Symlink: where it points
  std::uint64_t size = 0;        // Tmpfs: bytes, 0 = tmpfs_bytes()
  std::optional<unsigned> mode;  // File, Dir, Tmpfs: permission bits
  bool operator==(const FsEntry&) const = default;
};

// An entry as messages name it: "/opt (--ro)".
[[nodiscard]] std::string place_of(const FsEntry& entry);

enum class EnvKind {
  Set,          // name=value
  PassName,     // name, taken from the caller's environment if it is there
  PassPattern,  // a glob over the names of the caller's environment
};

struct EnvRule {
  EnvKind kind = EnvKind::Set;
  std::string name;
  std::string value;
  bool operator==(const EnvRule&) const = default;
};

// Whatever weakens isolation. Each is named --unsafe-… or is documented as unsafe; one grep for
// `unsafe_` finds every use.
struct Unsafe {
  bool unsafe_host_ids = false;  // --unsafe-ids=host: the task keeps the caller's id, root included
  bool unsafe_nesting = false;   // --unsafe-nesting: user namespaces and mounts inside are allowed
  bool unsafe_sockets = false;   // --unsafe-sockets: an --rw tree may hold sockets
  bool unsafe_tty = false;       // --unsafe-tty: a terminal is passed as it is
  bool unsafe_keep_caps = false;  // --keep-caps: capabilities inside the namespaces are kept
  bool operator==(const Unsafe&) const = default;
};

struct Spec {
  std::vector<std::string> argv;

  // root
  RootKind root = RootKind::Host;
  std::string root_dir;  // RootKind::Directory
  ProjectMode project = ProjectMode::Cow;
  bool project_is_asked = false;  // by name: then a root other than the host's shows it, too
  std::string project_dir;        // empty: the enclosing git work tree, else the working directory
  std::vector<FsEntry> fs;

  // the command's world
  std::vector<EnvRule> env;
  std::string chdir;  // empty: where the caller is, if that exists inside, else HOME
  std::string user;   // USER[:GROUP], names or numbers; empty: see DESIGN 9
  std::string hostname = "mayfly";
  unsigned umask = 022;
  StdinKind stdin_kind = StdinKind::Inherit;
  std::string stdin_file;
  TtyMode tty = TtyMode::Auto;

  // time and limits
  std::optional<Nanoseconds> ttl = std::chrono::hours(1);  // nullopt: none (--ttl 0)
  std::optional<Nanoseconds> ttl_max;  // how far a control command may extend it; nullopt: any
  Nanoseconds grace = std::chrono::seconds(2);
  Limits limits;
  std::optional<Nanoseconds> idle;          // no output and no command for so long
  std::optional<Nanoseconds> cpu_time;      // of the whole tree
  std::optional<std::uint64_t> max_output;  // bytes, standard output and error together

  // system calls
  std::vector<SyscallRule> syscalls;  // each group once, by name
  std::string seccomp_file;           // an OCI profile that comes on top; empty: none
  SeccompAction seccomp_action = SeccompAction::Errno;
  bool explain_denials = false;

  // ends
  bool linger = false;        // wait for background children, up to the TTL
  bool keep_running = false;  // outlive the caller

  // reports
  int status_fd = -1;
  int control_fd = -1;
  std::string result_file;
  bool quiet = false;
  bool progress = false;
  std::string name;  // empty: a random id
  std::vector<std::pair<std::string, std::string>> labels;

  Unsafe unsafe;

  bool operator==(const Spec&) const = default;
};

// What contradicts itself or cannot be: an empty argv, a relative target, a name with a slash …
[[nodiscard]] Result<void> validate(const Spec& spec);

}  // namespace mayfly::spec
