#include "plan/root_view.hpp"

#include <cstddef>
#include <utility>

#include "base/text.hpp"
#include "plan/base_view.hpp"
#include "plan/shown_trees.hpp"
#include "plan/skeleton.hpp"
#include "plan/trees.hpp"

namespace mayfly::plan {
namespace {

std::string relative(const std::string& absolute) {
  return absolute.substr(1);
}

// A directory of the host at the same place inside, its writes on the layer. One with mounts below
// is rebuilt; where that would take too much, it is bound read-only as it is.
void add_host_dir(const host::HostFacts& facts, const std::string& path, std::vector<Node> own,
                  bool id_mapped, Plan& plan) {
  if (!host::has_mounts_below(facts.mounts, path)) {
    plan.mounts.push_back({.kind = MountKind::Overlay,
                           .target = relative(path),
                           .lowers = {path},
                           .skeleton = std::move(own),
                           .id_mapped = id_mapped,
                           .own_target = true});
    return;
  }
  const TreeView view{
      .source = path, .target = relative(path), .own = std::move(own), .id_mapped = id_mapped};
  if (add_tree(view, facts, plan)) return;
  const std::string danger = danger_of_binding(path, facts, {});
  if (danger.empty()) {
    plan.mounts.push_back({.kind = MountKind::Bind,
                           .target = relative(path),
                           .source = path,
                           .access = Access::ReadOnly});
    for (const Node& node : view.own) {
      if (node.kind != Node::Kind::Whiteout) continue;
      plan.mounts.push_back(
          {.kind = MountKind::Mask, .target = relative(path) + "/" + node.path, .optional = true});
    }
  }
  plan.notes.push_back(
      {.what = path,
       .enforcement = Enforcement::Approximated,
       .how = danger.empty() ? "read-only: other file systems are mounted below it, and too much "
                               "lies beside them"
                             : "not shown: " + danger});
}

std::vector<Node> etc_overlay_nodes(const host::HostFacts& facts, const RootView& view) {
  Skeleton etc(view.etc_files.size() + 2 * facts.etc_private.size());
  for (const Node& node : view.etc_files) {
    if (node.kind == Node::Kind::File) etc.add(node);
  }
  for (const std::string& name : facts.etc_private) {
    if (etc.has(name)) continue;
    const std::size_t slash = name.rfind('/');
    if (slash != std::string::npos) etc.dir(name.substr(0, slash));
    etc.add({.kind = Node::Kind::Whiteout, .path = name, .mode = 0, .data = {}});
  }
  return etc.take();
}

void add_host_root(const host::HostFacts& facts, const RootView& view, Skeleton root,
                   const std::vector<std::string>& points, Plan& plan) {
  for (const host::TopEntry& entry : facts.top) {
    if (entry.kind == host::TopEntry::Kind::Symlink) {
      root.link(entry.name.c_str(), entry.link.c_str());
    } else {
      root.dir(entry.name);
    }
  }
  for (const std::string& point : points)
    root.dir(point);
  plan.mounts.push_back({.kind = MountKind::Layer, .skeleton = root.take()});
  for (const host::TopEntry& entry : facts.top) {
    if (entry.kind == host::TopEntry::Kind::Symlink || entry.empty) continue;
    const std::string path = "/" + entry.name;
    const bool is_etc = entry.name == "etc";
    // Only program trees are shifted: what only root may read in /etc and /opt stays unreadable.
    const bool id_mapped = plan.ids.range && !is_etc && entry.name != "opt";
    add_host_dir(facts, path, is_etc ? etc_overlay_nodes(facts, view) : std::vector<Node>{},
                 id_mapped, plan);
  }
}

Result<void> add_directory_root(const std::string& dir, const host::HostFacts& facts,
                                const RootView& view, Skeleton root,
                                const std::vector<std::string>& points, Plan& plan) {
  const std::string& real = host::real_path(facts.sources, dir);
  if (host::has_mounts_below(facts.mounts, real)) {
    return usage_error("use " + shown(dir) + " as root: other file systems are mounted below it",
                       real == "/" ? "--root host shows what programs need of the host's own root"
                                   : "unmount them, or copy the tree");
  }
  root.dir("etc");
  for (const Node& node : view.etc_files) {
    const bool own = node.path == "hosts" || node.path == "hostname" || node.path == "resolv.conf";
    if (!own) continue;
    Node placed = node;
    placed.path = "etc/" + node.path;
    root.add(std::move(placed));
  }
  for (const std::string& point : points)
    root.dir(point);
  // Our skeleton is the top layer: whatever the directory holds at /dev, /proc or /etc/resolv.conf,
  // a link included, lies below it.
  plan.mounts.push_back({.kind = MountKind::Overlay,
                         .target = "",
                         .lowers = {real},
                         .skeleton = root.take(),
                         .inode = host::inode_among(facts.sources, dir),
                         .id_mapped = plan.ids.range});
  return {};
}

void add_empty_root(const RootView& view, Skeleton root, const std::vector<std::string>& points,
                    Plan& plan) {
  root.dir("etc");
  for (const Node& node : view.etc_files) {
    Node placed = node;
    placed.path = "etc/" + node.path;
    root.add(std::move(placed));
  }
  for (const std::string& point : points)
    root.dir(point);
  plan.mounts.push_back({.kind = MountKind::Layer, .skeleton = root.take()});
}

// Mount points that the skeleton can hold are made there: no step has to make them later.
std::vector<std::string> skeleton_points(const std::string& project, const host::HostFacts& facts) {
  if (project.empty()) return {};
  for (const host::TopEntry& entry : facts.top) {
    if (is_within(project, "/" + entry.name)) return {};
  }
  return {relative(project)};
}

// What the entry of this number says of a part of the project that it names by another path than
// the project's: through a link, as by $PWD where the shell came by one, or not through the link by
// which the project is named. There, too, it is what was asked for.
std::optional<spec::FsEntry> in_project(const spec::Spec& spec, std::size_t number,
                                        const host::HostFacts& facts, const std::string& project) {
  const spec::FsEntry& entry = spec.fs[number];
  if (project.empty() || number >= facts.places.size()) return std::nullopt;
  const bool shows_itself = !entry.source.empty() && entry.source == entry.target;
  const std::string& place =
      shows_itself ? host::real_path(facts.sources, entry.source) : facts.places[number];
  const std::string& real = host::real_path(facts.sources, project);
  // A link to the whole project is one more name of it, and no part.
  if (!is_within(place, real) || (place == real && entry.target != real)) return std::nullopt;
  spec::FsEntry alias = entry;
  alias.target = project + place.substr(real.size());
  if (alias.target == entry.target) return std::nullopt;
  return alias;
}

}  // namespace

Result<void> plan_root(const spec::Spec& spec, const host::HostFacts& facts, const RootView& view,
                       Plan& plan) {
  Skeleton base(40);
  add_base(base, plan.ids);
  // Below a directory of the caller's the way may lead through links of its own: it is walked.
  const bool of_caller = spec.root == spec::RootKind::Directory;
  const std::vector<std::string> points =
      of_caller ? std::vector<std::string>{} : skeleton_points(view.project.dir, facts);
  plan.mounts.reserve(20 + spec.fs.size());
  switch (spec.root) {
    case spec::RootKind::Host:
      add_host_root(facts, view, std::move(base), points, plan);
      break;
    case spec::RootKind::Directory:
      TRY(add_directory_root(spec.root_dir, facts, view, std::move(base), points, plan));
      break;
    case spec::RootKind::Empty:
      add_empty_root(view, std::move(base), points, plan);
      break;
  }
  plan.mounts.push_back(proc_step());
  add_devices(plan);
  const std::size_t first_shown = plan.mounts.size();
  TRY(add_project(spec, facts, view.project, !points.empty(), plan));
  for (std::size_t i = 0; i < spec.fs.size(); ++i) {
    const std::size_t first = plan.mounts.size();
    const Subject subject{.key = "mounts", .item = i};
    if (const auto alias = in_project(spec, i, facts, view.project.dir)) {
      TRY(about(subject, add_entry(*alias, facts, spec, plan)));
    }
    TRY(about(subject, add_entry(spec.fs[i], facts, spec, plan)));
    for (MountStep& step : std::span(plan.mounts).subspan(first))
      step.entry = i;
  }
  keep_home(first_shown, plan);
  // A sandbox inside could not mount its own /proc below masks: the kernel shows no more than the
  // outer one does.
  if (!spec.unsafe.unsafe_nesting) {
    add_proc_seals(plan);
  } else if (maps_host_root(plan.ids) && facts.is_host_root) {
    return usage_error("nest sandboxes as the host's own root: /proc/sys would be open to it",
                       spec.unsafe.unsafe_host_ids
                           ? "leave out --unsafe-ids=host or --unsafe-nesting"
                           : "run mayfly as another user, or leave out --unsafe-nesting");
  }
  return {};
}

}  // namespace mayfly::plan
