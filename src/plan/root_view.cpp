#include "plan/root_view.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "plan/trees.hpp"

namespace mayfly::plan {
namespace {

using spec::FsEntry;
using spec::FsKind;

std::string relative(const std::string& absolute) {
  return absolute.substr(1);
}

// Directories of a skeleton, each made once and after its parents.
class Skeleton {
 public:
  // A vector that grows leaves touched pages behind.
  explicit Skeleton(std::size_t usual) { nodes_.reserve(usual); }
  void dir(const std::string& path, unsigned mode = 0755, bool task_owned = false) {
    const std::size_t slash = path.rfind('/');
    if (slash != std::string::npos) parent(path.substr(0, slash));
    const auto known = find(path);
    if (known == nodes_.end()) {
      add({.kind = Node::Kind::Dir,
           .path = path,
           .mode = mode,
           .data = {},
           .task_owned = task_owned});
    }
  }
  void add(Node node) { nodes_.push_back(std::move(node)); }
  void link(const char* path, const char* target) {
    add({.kind = Node::Kind::Symlink, .path = path, .mode = 0777, .data = target});
  }
  void file(const std::string& path, unsigned mode = 0644) {
    add({.kind = Node::Kind::File, .path = path, .mode = mode, .data = {}});
  }
  [[nodiscard]] bool has(const std::string& path) { return find(path) != nodes_.end(); }
  std::vector<Node> take() { return std::move(nodes_); }

 private:
  void parent(const std::string& path) {
    if (find(path) == nodes_.end()) dir(path);
  }
  std::vector<Node>::iterator find(const std::string& path) {
    return std::find_if(nodes_.begin(), nodes_.end(),
                        [&](const Node& node) { return node.path == path; });
  }
  std::vector<Node> nodes_;
};

constexpr const char* kDevices[] = {"null", "zero", "full", "random", "urandom", "tty"};

// What every root has, whatever it is made from.
void add_base(Skeleton& root, const Ids& ids) {
  root.dir("dev");
  for (const char* device : kDevices)
    root.file(std::string("dev/") + device, 0666);
  root.dir("dev/pts");
  root.dir("dev/shm", 01777);
  root.link("dev/ptmx", "pts/ptmx");
  root.link("dev/fd", "/proc/self/fd");
  root.link("dev/stdin", "/proc/self/fd/0");
  root.link("dev/stdout", "/proc/self/fd/1");
  root.link("dev/stderr", "/proc/self/fd/2");
  root.dir("proc", 0555);
  root.dir("tmp", 01777);
  root.dir("run");
  root.file("run/.mayfly", 0444);  // the marker by which a program knows where it is
  root.dir("var/tmp", 01777);
  root.dir(relative(ids.home), 0700, true);
  root.dir("home");
  root.dir("root", 0700);
}

MountStep proc_step() {
  return {.kind = MountKind::Proc, .target = "proc", .own_target = true};
}

void add_devices(Plan& plan) {
  for (const char* device : kDevices) {
    plan.mounts.push_back({.kind = MountKind::Bind,
                           .target = std::string("dev/") + device,
                           .source = std::string("/dev/") + device,
                           .access = Access::ReadOnly,
                           .devices = true,
                           .own_target = true});
  }
  plan.mounts.push_back({.kind = MountKind::Devpts, .target = "dev/pts", .own_target = true});
}

// /proc entries that tell about the host or change it.
constexpr const char* kMasked[] = {"keys",          "key-users",  "kallsyms", "sched_debug", "acpi",
                                   "latency_stats", "interrupts", "scsi",     "asound",      "fs"};
// These obey the host's root alone: where nobody inside has its id, they refuse by themselves.
constexpr const char* kMaskedForRoot[] = {
    "kcore",       "kmsg",         "timer_list", "sysrq-trigger", "slabinfo",
    "vmallocinfo", "pagetypeinfo", "kpagecount", "kpageflags",    "kpagecgroup"};
// Some files here belong to the sandbox's own root.
constexpr const char* kReadOnly[] = {"sys"};
constexpr const char* kReadOnlyForRoot[] = {"irq", "bus"};

bool maps_host_root(const Ids& ids) {
  const auto is_root = [](const IdRange& range) { return range.outside == 0; };
  return std::any_of(ids.uids.begin(), ids.uids.end(), is_root) ||
         std::any_of(ids.gids.begin(), ids.gids.end(), is_root);
}

void add_proc_seals(Plan& plan) {
  const auto seal = [&](MountKind kind, const char* name) {
    plan.seals.push_back({.kind = kind,
                          .target = std::string("proc/") + name,
                          .own_target = true,
                          .optional = true});
  };
  for (const char* name : kMasked)
    seal(MountKind::Mask, name);
  for (const char* name : kReadOnly)
    seal(MountKind::ReadOnly, name);
  if (!maps_host_root(plan.ids)) return;
  for (const char* name : kMaskedForRoot)
    seal(MountKind::Mask, name);
  for (const char* name : kReadOnlyForRoot)
    seal(MountKind::ReadOnly, name);
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
  const std::string danger = danger_of_binding(path, facts, Sockets::Refused);
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
                       "unmount them, or copy the tree");
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

// A directory shown inside, its writes on the layer or refused.
struct Shown {
  const std::string& source;  // as the request names it
  const std::string& target;
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
                           .access = shown_dir.access,
                           .id_mapped = shown_dir.id_mapped,
                           .must_be_writable = true,
                           .own_target = shown_dir.in_skeleton,
                           .make_target = true});
    return {};
  }
  const bool added = add_tree({.source = real,
                               .target = relative(shown_dir.target),
                               .id_mapped = shown_dir.id_mapped,
                               .must_be_writable = true,
                               .make_target = true},
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
  if (fact != nullptr && !fact->socket.empty() && !unsafe.unsafe_sockets) {
    return usage_error("share " + shown(source) + ": it holds the socket " + shown(fact->socket) +
                           ", through which a task could reach the host",
                       "name a directory without it, or pass --unsafe-sockets");
  }
  step.kind = MountKind::Bind;
  step.source = host::real_path(facts.sources, source);
  step.make_target = true;
  const std::string danger = danger_of_binding(
      step.source, facts, unsafe.unsafe_sockets ? Sockets::Allowed : Sockets::Refused);
  if (!danger.empty()) {
    return usage_error("share " + shown(source) + " with what is mounted below it: " + danger,
                       "name the directories that the task needs instead of it");
  }
  plan.mounts.push_back(std::move(step));
  return {};
}

Result<void> add_project(const spec::Spec& spec, const host::HostFacts& facts,
                         const std::string& project, bool in_skeleton, Plan& plan) {
  if (project.empty()) return {};
  const bool live = spec.project == spec::ProjectMode::Rw;
  const bool read_only = spec.project == spec::ProjectMode::Ro;
  const bool mounts_below =
      host::has_mounts_below(facts.mounts, host::real_path(facts.sources, project));
  // The task may read its own project, whoever it belongs to.
  const bool id_mapped = plan.ids.range;
  if (live || (read_only && mounts_below)) {
    return add_bind(facts, project,
                    {.target = relative(project),
                     .access = live ? Access::ReadWrite : Access::ReadOnly,
                     .id_mapped = id_mapped,
                     .must_be_writable = live},
                    spec.unsafe, plan);
  }
  return add_overlay(facts,
                     {.source = project,
                      .target = project,
                      .access = read_only ? Access::ReadOnly : Access::ReadWrite,
                      .id_mapped = id_mapped,
                      .in_skeleton = in_skeleton},
                     plan);
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
              .data = entry.data};
    default:
      return {.kind = Node::Kind::Dir, .path = path, .mode = entry.mode.value_or(0755), .data = {}};
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
    return add_overlay(
        facts, {.source = entry.source, .target = entry.target, .id_mapped = plan.ids.range}, plan);
  }
  // Read-only is an overlay, too: sockets and FIFOs in it are dead. A tree with mounts is bound.
  if (read_only && is_dir &&
      !host::has_mounts_below(facts.mounts, host::real_path(facts.sources, entry.source))) {
    return add_overlay(facts,
                       {.source = entry.source,
                        .target = entry.target,
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

Result<void> add_entry(const FsEntry& entry, const host::HostFacts& facts, const spec::Spec& spec,
                       Plan& plan) {
  const std::string target = relative(entry.target);
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
              .devices = true,
              .make_target = true,
              .target_is_file = true};
      break;
    case FsKind::Tmpfs:
      step = {.kind = MountKind::Tmpfs,
              .target = target,
              .size = entry.size > 0 ? entry.size : plan.layer_bytes,
              .mode = entry.mode.value_or(01777),
              .make_target = true};
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

// Mount points that the skeleton can hold are made there: no step has to make them later.
std::vector<std::string> skeleton_points(const std::string& project, const host::HostFacts& facts) {
  if (project.empty()) return {};
  for (const host::TopEntry& entry : facts.top) {
    if (is_within(project, "/" + entry.name)) return {};
  }
  return {relative(project)};
}

}  // namespace

Result<void> plan_root(const spec::Spec& spec, const host::HostFacts& facts, const RootView& view,
                       Plan& plan) {
  Skeleton base(40);
  add_base(base, plan.ids);
  // Below a directory of the caller's the way may lead through links of its own: it is walked.
  const bool of_caller = spec.root == spec::RootKind::Directory;
  const std::vector<std::string> points =
      of_caller ? std::vector<std::string>{} : skeleton_points(view.project, facts);
  plan.mounts.reserve(20 + spec.fs.size());
  plan.seals.reserve(std::size(kMasked) + std::size(kMaskedForRoot) + std::size(kReadOnly) +
                     std::size(kReadOnlyForRoot));
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
  TRY(add_project(spec, facts, view.project, !points.empty(), plan));
  for (const FsEntry& entry : spec.fs) {
    TRY(add_entry(entry, facts, spec, plan));
  }
  // A sandbox inside could not mount its own /proc below masks: the kernel shows no more than the
  // outer one does.
  if (!spec.unsafe.unsafe_nesting) {
    add_proc_seals(plan);
  } else if (maps_host_root(plan.ids)) {
    return usage_error("nest sandboxes as the host's own root: /proc/sys would be open to it",
                       "leave out --unsafe-ids=host or --unsafe-nesting");
  }
  return {};
}

}  // namespace mayfly::plan
