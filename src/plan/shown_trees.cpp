#include "plan/shown_trees.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "host/facts.hpp"
#include "plan/covering.hpp"
#include "plan/trees.hpp"

namespace mayfly::plan {
namespace {

using spec::FsEntry;
using spec::FsKind;

std::string relative(const std::string& absolute) {
  return absolute.substr(1);
}

// What we make ourselves is never made on the host.
Result<void> check_live(const FsEntry& entry, const spec::Spec& spec, const Plan& plan) {
  if (!is_node(entry.kind)) return {};
  const MountStep* over = mount_over(plan.mounts, relative(entry.target));
  if (over == nullptr || !is_live(*over)) return {};
  const auto shows = [&](const FsEntry& each) {
    return each.kind == FsKind::Rw && relative(each.target) == over->target;
  };
  const bool by_rw = std::any_of(spec.fs.begin(), spec.fs.end(), shows);
  return usage_error("make " + place_of(entry) + ": it lies in " + shown(over->source) +
                         ", which is live at " + shown("/" + over->target) +
                         (by_rw ? " (--rw)" : " (--project rw)") +
                         ", so that it would be made on the host and stay there",
                     std::string("show that tree with ") + (by_rw ? "--cow" : "--project cow") +
                         ", choose a target outside of it, or make the entry there yourself");
}

// A mount point is not made where that would be on the host.
bool may_make(const std::string& target, const Plan& plan) {
  const MountStep* over = mount_over(plan.mounts, target);
  return over == nullptr || !is_live(*over);
}

// A directory shown inside, its writes on the layer or refused.
struct Shown {
  const std::string& source;  // as the request names it
  const std::string& target;
  std::optional<host::Inode> inode = std::nullopt;
  Access access = Access::ReadWrite;
  bool id_mapped = false;
  bool in_skeleton = false;  // the target is a directory of the root's skeleton
};

Result<void> add_overlay(const host::HostFacts& facts, const Shown& shown_dir, Plan& plan) {
  const std::string& real = host::real_path(facts.sources, shown_dir.source);
  if (!host::has_mounts_below(facts.mounts, real)) {
    plan.mounts.push_back({.kind = MountKind::Overlay,
                           .target = relative(shown_dir.target),
                           .lowers = {real},
                           .inode = shown_dir.inode,
                           .access = shown_dir.access,
                           .id_mapped = shown_dir.id_mapped,
                           .must_be_writable = true,
                           .own_target = shown_dir.in_skeleton,
                           .make_target = may_make(relative(shown_dir.target), plan)});
    return {};
  }
  const bool added = add_tree({.source = real,
                               .target = relative(shown_dir.target),
                               .inode = shown_dir.inode,
                               .id_mapped = shown_dir.id_mapped,
                               .must_be_writable = true,
                               .make_target = may_make(relative(shown_dir.target), plan)},
                              facts, plan);
  if (added) return {};
  return usage_error("make " + shown(shown_dir.source) +
                         " copy-on-write: other file systems are mounted below it, and too much "
                         "lies beside them",
                     "name it with --rw (live) or --ro, or its parts with --cow");
}

const host::SourceFact* source_of(const host::HostFacts& facts, const std::string& path) {
  const auto found = std::find_if(facts.sources.begin(), facts.sources.end(),
                                  [&](const host::SourceFact& s) { return s.path == path; });
  return found == facts.sources.end() ? nullptr : &*found;
}

// A directory or file bound as it is, with all that is mounted below it.
Result<void> add_bind(const host::HostFacts& facts, const std::string& source, MountStep step,
                      const spec::Unsafe& unsafe, Plan& plan) {
  const host::SourceFact* fact = source_of(facts, source);
  const Allowed allowed{.sockets = unsafe.unsafe_sockets, .fifos = step.access != Access::ReadOnly};
  if (fact != nullptr) {
    const std::string danger = danger_of(fact->channels, allowed);
    const bool by_socket = !allowed.sockets && !fact->channels.socket.empty();
    if (!danger.empty()) {
      return usage_error("share " + shown(source) + ": " + danger,
                         by_socket
                             ? "name a directory without it, or pass --unsafe-sockets"
                             : "name a directory without it, or show it with --rw, which lets "
                               "writes out");
    }
  }
  step.kind = MountKind::Bind;
  step.source = host::real_path(facts.sources, source);
  if (!step.inode && fact != nullptr) step.inode = fact->inode;
  step.make_target = may_make(step.target, plan);
  const std::string danger = danger_of_binding(step.source, facts, allowed);
  if (!danger.empty()) {
    return usage_error("share " + shown(source) + " with what is mounted below it: " + danger,
                       "name the directories that the task needs instead of it");
  }
  plan.mounts.push_back(std::move(step));
  return {};
}

Node node_of(const FsEntry& entry) {
  const std::string path = relative(entry.target);
  switch (entry.kind) {
    case FsKind::Symlink:
      return {.kind = Node::Kind::Symlink, .path = path, .mode = 0777, .data = entry.data};
    case FsKind::File:
      return {.kind = Node::Kind::File,
              .path = path,
              .mode = entry.mode.value_or(0644),
              .data = entry.data,
              .sets_mode = entry.mode.has_value()};
    default:
      return {.kind = Node::Kind::Dir,
              .path = path,
              .mode = entry.mode.value_or(0755),
              .data = {},
              .sets_mode = entry.mode.has_value()};
  }
}

Result<void> add_source(const FsEntry& entry, const host::HostFacts& facts, const spec::Spec& spec,
                        Plan& plan) {
  const host::SourceFact* source = source_of(facts, entry.source);
  const bool is_dir = source != nullptr && source->kind == host::SourceFact::Kind::Directory;
  const bool read_only = entry.kind == FsKind::Ro;
  if (entry.kind == FsKind::Cow) {
    if (!is_dir) {
      return usage_error("make " + shown(entry.source) + " copy-on-write: it is no directory",
                         "--file " + shown(entry.target) + "=@" + shown(entry.source) +
                             " puts a copy of a file inside");
    }
    return add_overlay(facts,
                       {.source = entry.source,
                        .target = entry.target,
                        .inode = host::inode_among(facts.sources, entry.source),
                        .id_mapped = plan.ids.range},
                       plan);
  }
  // Read-only is an overlay, too: sockets and FIFOs in it are dead. A tree with mounts is bound.
  if (read_only && is_dir &&
      !host::has_mounts_below(facts.mounts, host::real_path(facts.sources, entry.source))) {
    return add_overlay(facts,
                       {.source = entry.source,
                        .target = entry.target,
                        .inode = host::inode_among(facts.sources, entry.source),
                        .access = Access::ReadOnly,
                        .id_mapped = plan.ids.range},
                       plan);
  }
  return add_bind(facts, entry.source,
                  {.target = relative(entry.target),
                   .access = read_only ? Access::ReadOnly : Access::ReadWrite,
                   .id_mapped = plan.ids.range,
                   .must_be_writable = !read_only,
                   .target_is_file = !is_dir},
                  spec.unsafe, plan);
}

}  // namespace

Result<void> add_project(const spec::Spec& spec, const host::HostFacts& facts,
                         const Project& chosen, bool in_skeleton, Plan& plan) {
  const std::string& project = chosen.dir;
  if (project.empty()) return {};
  const std::optional<host::Inode> inode =
      chosen.inode ? chosen.inode : host::inode_among(facts.sources, project);
  const bool live = spec.project == spec::ProjectMode::Rw;
  const bool read_only = spec.project == spec::ProjectMode::Ro;
  const bool mounts_below =
      host::has_mounts_below(facts.mounts, host::real_path(facts.sources, project));
  // The task may read its own project, whoever it belongs to.
  const bool id_mapped = plan.ids.range;
  if (live || (read_only && mounts_below)) {
    return add_bind(facts, project,
                    {.target = relative(project),
                     .inode = inode,
                     .access = live ? Access::ReadWrite : Access::ReadOnly,
                     .id_mapped = id_mapped,
                     .must_be_writable = live},
                    spec.unsafe, plan);
  }
  return add_overlay(facts,
                     {.source = project,
                      .target = project,
                      .inode = inode,
                      .access = read_only ? Access::ReadOnly : Access::ReadWrite,
                      .id_mapped = id_mapped,
                      .in_skeleton = in_skeleton},
                     plan);
}

Result<void> add_entry(const FsEntry& entry, const host::HostFacts& facts, const spec::Spec& spec,
                       Plan& plan) {
  TRY(check_live(entry, spec, plan));
  const std::string target = relative(entry.target);
  const bool make_target = may_make(target, plan);
  MountStep step{.target = target};
  switch (entry.kind) {
    case FsKind::Cow:
    case FsKind::Ro:
    case FsKind::Rw:
      return add_source(entry, facts, spec, plan);
    case FsKind::Device:
      step = {.kind = MountKind::Bind,
              .target = target,
              .source = entry.source,
              .inode = host::inode_among(facts.sources, entry.source),
              .devices = true,
              .make_target = make_target,
              .target_is_file = true};
      break;
    case FsKind::Tmpfs:
      step = {.kind = MountKind::Tmpfs,
              .target = target,
              .size = entry.size > 0 ? entry.size : spec::tmpfs_bytes(spec),
              .mode = entry.mode.value_or(01777),
              .make_target = make_target};
      break;
    case FsKind::File:
    case FsKind::Dir:
    case FsKind::Symlink:
      step = {.kind = MountKind::Nodes, .target = target, .skeleton = {node_of(entry)}};
      break;
    case FsKind::Mask:
      step = {.kind = MountKind::Mask, .target = target, .optional = true};
      break;
  }
  plan.mounts.push_back(std::move(step));
  return {};
}

void keep_home(std::size_t first_shown, Plan& plan) {
  const std::string home = relative(plan.ids.home);
  const MountStep* over = mount_over(plan.mounts, home);
  const bool hidden =
      over != nullptr && over - plan.mounts.data() >= static_cast<std::ptrdiff_t>(first_shown);
  const bool takes_entries = hidden && over->access == Access::ReadWrite &&
                             (over->kind == MountKind::Overlay || over->kind == MountKind::Tmpfs);
  if (!takes_entries || over->target == home) return;
  plan.mounts.push_back({.kind = MountKind::Nodes,
                         .target = home,
                         .skeleton = {{.kind = Node::Kind::Dir, .path = home, .mode = 0700}},
                         .optional = true});
}

}  // namespace mayfly::plan
