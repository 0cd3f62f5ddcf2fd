#include "plan/trees.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "plan/project.hpp"

namespace mayfly::plan {
namespace {

using host::TreeEntry;
using host::TreePart;

// File systems that overlayfs does not take as a lower layer: they compare names in ways of their
// own.
constexpr std::array<std::string_view, 10> kNoLower = {
    "cifs", "exfat", "hfs", "hfsplus", "iso9660", "msdos", "ntfs", "ntfs3", "smb3", "vfat"};

bool can_be_lower(const std::string& fstype) {
  return std::find(kNoLower.begin(), kNoLower.end(), fstype) == kNoLower.end();
}

const host::TreeFact* tree_of(const host::HostFacts& facts, const std::string& path) {
  const auto found = std::find_if(facts.trees.begin(), facts.trees.end(),
                                  [&](const host::TreeFact& tree) { return tree.path == path; });
  return found == facts.trees.end() ? nullptr : &*found;
}

std::string joined(const std::string& directory, const std::string& below) {
  if (directory.empty() || below.empty()) return directory + below;
  return entry_path(directory, below);
}

// `path` as seen from `base`, which it is or lies below; both absolute, or both without a leading
// slash.
std::string below(const std::string& path, const std::string& base) {
  if (base.empty()) return path;
  if (path.size() == base.size()) return {};
  return path.substr(base.back() == '/' ? base.size() : base.size() + 1);
}

bool covers(const std::string& base, const std::string& path) {
  return base.empty() || is_within(path, base);
}

// Why a mount cannot be shown as it is, or nothing.
std::string danger_of_part(const TreePart& part, Allowed allowed) {
  if (host::is_kernel_fs(part.fstype)) {
    return "the kernel's file system " + part.fstype + " is mounted on " + shown(part.path);
  }
  if (part.kind == TreePart::Kind::Other) {
    return shown(part.path) + " is neither a file nor a directory";
  }
  return danger_of(part.channels, allowed);
}

std::string danger_below(const host::TreeFact& tree, const std::string& source, Allowed allowed) {
  for (const TreePart& part : tree.parts) {
    if (!is_within(part.path, source)) continue;
    std::string danger = danger_of_part(part, allowed);
    if (!danger.empty()) return danger;
  }
  return {};
}

class Builder {
 public:
  Builder(const TreeView& view, const host::TreeFact& tree) : view_(view), tree_(tree) {}

  void build() {
    for (const TreePart& part : tree_.parts)
      add_part(part);
    place_own_nodes();
  }

  std::vector<MountStep> steps;
  std::vector<Note> notes;

 private:
  // A file or directory of the host, and its place below the view's.
  struct Shown {
    const std::string& source;
    const std::string& at;
    std::optional<host::Inode> inode;
  };

  void add_part(const TreePart& part) {
    const bool top = &part == &tree_.parts.front();
    const std::string at = below(part.path, tree_.path);
    if (is_replaced(at) || is_closed(at)) return;
    // An overlay makes no socket or FIFO work that lies in it, so only what is no directory counts.
    const std::string danger = danger_of_part(part, {.sockets = true, .fifos = true});
    if (!danger.empty()) {
      return leave_out(at, "not shown: " + danger);
    }
    if (part.closed) return leave_out(at, "not shown: the caller may not look up anything in it");
    const Shown shown_part{.source = part.path, .at = at, .inode = part.inode};
    if (part.kind == TreePart::Kind::File) return add_bind(shown_part);
    if (part.crowded || !can_be_lower(part.fstype)) return add_whole(shown_part, part.channels);
    MountStep step = overlay(at);
    if (part.mounts_below && !part.detachable) {
      step.skeleton = nodes_of(part, at);
    } else {
      step.lowers = {part.path};
      step.inode = top ? view_.inode : checked(part.inode);
      step.id_mapped = view_.id_mapped;
      step.must_be_writable = view_.must_be_writable;
      step.detached = part.mounts_below;
    }
    step.make_target = top && view_.make_target;
    add_overlay(std::move(step), at);
    if (!part.detachable) add_entries(part, at);
  }

  // A copy belongs to the sandbox's root, which is the task: what not everybody may read on the
  // host is not copied, unless the tree is the caller's work. `closed`: directories met so far that
  // not everybody may enter.
  bool hides(const TreeEntry& entry, std::vector<std::string>& closed) const {
    if (view_.must_be_writable) return false;
    const bool below = std::any_of(closed.begin(), closed.end(), [&](const std::string& directory) {
      return is_within("/" + entry.path, "/" + directory);
    });
    if (entry.kind == TreeEntry::Kind::File) return below || (entry.mode & 0004) == 0;
    const bool is_dir = entry.kind != TreeEntry::Kind::Symlink;
    if (is_dir && (entry.mode & 0001) == 0) closed.push_back(entry.path);
    return false;
  }

  // What a rebuilt directory holds itself.
  std::vector<Node> nodes_of(const TreePart& part, const std::string& at) const {
    std::vector<Node> nodes;
    std::vector<std::string> closed;
    for (const TreeEntry& entry : part.entries) {
      if (is_replaced(joined(at, entry.path))) continue;
      if (hides(entry, closed)) continue;
      Node node{.path = entry.path, .mode = entry.mode, .task_owned = view_.must_be_writable};
      switch (entry.kind) {
        case TreeEntry::Kind::Lower:
        case TreeEntry::Kind::Opened:
        case TreeEntry::Kind::Crowded:
        case TreeEntry::Kind::DirPoint:
          break;
        case TreeEntry::Kind::Symlink:
          node.kind = Node::Kind::Symlink;
          node.data = entry.data;
          break;
        case TreeEntry::Kind::File:
          node.modified_ns = entry.modified_ns;
          [[fallthrough]];
        case TreeEntry::Kind::FilePoint:
        case TreeEntry::Kind::Unread:
          node.kind = Node::Kind::File;
          node.data = entry.data;
          break;
      }
      nodes.push_back(std::move(node));
    }
    return nodes;
  }

  // What a rebuilt directory shows of the host's.
  void add_entries(const TreePart& part, const std::string& at) {
    for (const TreeEntry& entry : part.entries) {
      const std::string where = joined(at, entry.path);
      const std::string source = joined(part.path, entry.path);
      if (is_replaced(where)) continue;
      if (entry.kind == TreeEntry::Kind::Lower) {
        MountStep step = overlay(where);
        step.lowers = {source};
        step.inode = checked(entry.inode);
        step.mode = entry.mode;
        step.id_mapped = view_.id_mapped;
        step.must_be_writable = view_.must_be_writable;
        add_overlay(std::move(step), where);
      } else if (entry.kind == TreeEntry::Kind::Unread) {
        add_bind({.source = source, .at = where, .inode = entry.inode});
      } else if (entry.kind == TreeEntry::Kind::Crowded) {
        add_whole({.source = source, .at = where, .inode = entry.inode}, entry.channels);
      }
    }
  }

  // A directory as it is, with what is mounted below it.
  void add_whole(const Shown& whole, const host::Channels& channels) {
    std::string danger = danger_of(channels, {});
    if (danger.empty()) danger = danger_below(tree_, whole.source, {});
    if (!danger.empty()) return leave_out(whole.at, "not shown: " + danger);
    add_bind(whole);
    closed_.push_back(whole.at);
  }

  // In a tree of the caller's somebody else may have put another there since it was looked at.
  std::optional<host::Inode> checked(const std::optional<host::Inode>& inode) const {
    return view_.inode ? inode : std::nullopt;
  }

  void add_bind(const Shown& bound) {
    const auto& [source, at, inode] = bound;
    steps.push_back({.kind = MountKind::Bind,
                     .target = joined(view_.target, at),
                     .source = source,
                     .inode = checked(inode),
                     .access = Access::ReadOnly,
                     .id_mapped = view_.id_mapped});
    notes.push_back({.what = source,
                     .enforcement = Enforcement::Approximated,
                     .how = "read-only: it cannot be shown copy-on-write beside what is mounted "
                            "below " +
                            tree_.path});
  }

  // An empty directory in its place: what is mounted there may hide something, too.
  void leave_out(const std::string& at, std::string why) {
    steps.push_back({.kind = MountKind::Mask, .target = joined(view_.target, at)});
    notes.push_back({.what = joined(tree_.path, at),
                     .enforcement = Enforcement::NotEnforced,
                     .how = std::move(why)});
    closed_.push_back(at);
  }

  MountStep overlay(const std::string& at) const {
    return {.kind = MountKind::Overlay, .target = joined(view_.target, at)};
  }

  void add_overlay(MountStep step, std::string at) {
    overlays_.emplace_back(steps.size(), std::move(at));
    steps.push_back(std::move(step));
  }

  // True if a node of our own takes the place of what is there, or of something that it is in.
  bool is_replaced(const std::string& at) const {
    if (at.empty()) return false;
    return std::any_of(view_.own.begin(), view_.own.end(), [&](const Node& node) {
      return node.kind != Node::Kind::Dir && covers(node.path, at);
    });
  }

  bool is_closed(const std::string& at) const {
    return std::any_of(closed_.begin(), closed_.end(),
                       [&](const std::string& dir) { return at != dir && covers(dir, at); });
  }

  // Each of our own nodes goes into the innermost overlay that shows its place.
  void place_own_nodes() {
    for (const Node& node : view_.own) {
      std::pair<std::size_t, std::string>* best = nullptr;
      for (auto& overlay : overlays_) {
        const bool holds = covers(overlay.second, node.path) && overlay.second != node.path;
        if (holds && (best == nullptr || overlay.second.size() >= best->second.size())) {
          best = &overlay;
        }
      }
      if (best == nullptr) continue;
      MountStep& step = steps[best->first];
      // What a rebuilt directory does not show needs no hiding.
      if (node.kind == Node::Kind::Whiteout && step.lowers.empty()) continue;
      Node placed = node;
      placed.path = below(node.path, best->second);
      step.skeleton.push_back(std::move(placed));
    }
  }

  const TreeView& view_;
  const host::TreeFact& tree_;
  std::vector<std::pair<std::size_t, std::string>> overlays_;  // index of the step, its place
  std::vector<std::string> closed_;  // places below which nothing is mounted again
};

void want(std::vector<WantedTree>& wanted, const host::HostFacts& facts, const std::string& path,
          host::TreeDetail detail) {
  if (!host::has_mounts_below(facts.mounts, path)) return;
  const auto known = std::find_if(wanted.begin(), wanted.end(),
                                  [&](const WantedTree& tree) { return tree.path == path; });
  if (known == wanted.end()) {
    wanted.push_back({.path = path, .detail = detail});
  } else if (detail == host::TreeDetail::Entries) {
    known->detail = detail;
  }
}

}  // namespace

Result<std::vector<WantedTree>> wanted_trees(const spec::Spec& spec, const host::HostFacts& facts) {
  using host::TreeDetail;
  std::vector<WantedTree> wanted;
  if (spec.root == spec::RootKind::Host) {
    for (const host::TopEntry& entry : facts.top) {
      const bool shown_as_tree = entry.kind == host::TopEntry::Kind::Directory && !entry.empty;
      if (shown_as_tree) want(wanted, facts, "/" + entry.name, TreeDetail::Entries);
    }
  }
  if (shows_project(spec)) {
    const Project project = TRY(choose_project(spec, facts));
    const bool cow = spec.project == spec::ProjectMode::Cow;
    if (!project.dir.empty()) {
      want(wanted, facts, host::real_path(facts.sources, project.dir),
           cow ? TreeDetail::Entries : TreeDetail::Parts);
    }
  }
  for (const spec::FsEntry& entry : spec.fs) {
    const bool cow = entry.kind == spec::FsKind::Cow;
    if (!cow && entry.kind != spec::FsKind::Ro && entry.kind != spec::FsKind::Rw) continue;
    want(wanted, facts, host::real_path(facts.sources, entry.source),
         cow ? TreeDetail::Entries : TreeDetail::Parts);
  }
  return wanted;
}

bool add_tree(const TreeView& view, const host::HostFacts& facts, Plan& plan) {
  const host::TreeFact* tree = tree_of(facts, view.source);
  if (tree == nullptr || tree->parts.empty() || tree->parts.front().crowded) return false;
  Builder builder(view, *tree);
  builder.build();
  std::move(builder.steps.begin(), builder.steps.end(), std::back_inserter(plan.mounts));
  std::move(builder.notes.begin(), builder.notes.end(), std::back_inserter(plan.notes));
  return true;
}

std::string danger_of(const host::Channels& channels, Allowed allowed) {
  const auto words = [&](const char* kind, const std::string& path, const char* through) {
    if (path != channels.unseen) {
      return std::string("it holds the ") + kind + " " + shown(path) + ", through which a task " +
             through;
    }
    return std::string("a ") + kind + ", through which a task " + through + ", may lie in " +
           shown(path) + ": " + channels.why_unseen;
  };
  if (!allowed.sockets && !channels.socket.empty()) {
    return words("socket", channels.socket, "could reach the host");
  }
  if (!allowed.fifos && !channels.fifo.empty()) {
    return words("FIFO", channels.fifo, "could write to the host");
  }
  return {};
}

std::string danger_of_binding(const std::string& source, const host::HostFacts& facts,
                              Allowed allowed) {
  const host::TreeFact* tree = tree_of(facts, source);
  return tree == nullptr ? std::string() : danger_below(*tree, source, allowed);
}

}  // namespace mayfly::plan
