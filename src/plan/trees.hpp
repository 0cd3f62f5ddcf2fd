// Directories with other file systems mounted below them, shown inside. Pure.
//
// The kernel takes no such directory as the lower layer of an overlay inside a user namespace, and
// an overlay would show what the mounts hide. So the directory is taken apart: an overlay of its
// own content, and on it the mounts again, each as an overlay of its own.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "plan/plan.hpp"

namespace mayfly::plan {

struct WantedTree {
  std::string path;
  host::TreeDetail detail = host::TreeDetail::Parts;
  bool operator==(const WantedTree&) const = default;
};

// The directories with mounts below that this request shows, for host::look_at_tree(), whose
// answers belong in facts.trees. facts.sources is complete.
[[nodiscard]] Result<std::vector<WantedTree>> wanted_trees(const spec::Spec& spec,
                                                           const host::HostFacts& facts);

// How a tree is to be shown copy-on-write.
struct TreeView {
  std::string source = {};     // absolute, without symbolic links
  std::string target = {};     // relative to the new root
  std::vector<Node> own = {};  // what takes the place of the tree's, paths relative to it
  std::optional<host::Inode> inode = {};  // what the source must be
  bool id_mapped = false;
  bool must_be_writable = false;
  bool make_target = false;
};

// Adds the steps that show it, and a note for each part that is not what was asked for. False, and
// nothing added: it would take too many mounts, or it was not looked at.
[[nodiscard]] bool add_tree(const TreeView& view, const host::HostFacts& facts, Plan& plan);

// Ways out of the sandbox that a request lets in.
struct Allowed {
  bool sockets = false;  // --unsafe-sockets
  bool fifos = false;    // of a live tree, which lets writes out anyway
};

// Why something with these in it cannot be bound, or empty.
[[nodiscard]] std::string danger_of(const host::Channels& channels, Allowed allowed);

// Why a directory cannot be bound with all that is mounted below it: a task could reach the host
// through it. Empty if it can.
[[nodiscard]] std::string danger_of_binding(const std::string& source, const host::HostFacts& facts,
                                            Allowed allowed);

}  // namespace mayfly::plan
