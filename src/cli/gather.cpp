#include "cli/gather.hpp"

#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "cli/named_file.hpp"
#include "host/cgroup_places.hpp"
#include "host/devices.hpp"
#include "host/mounts.hpp"
#include "host/report_places.hpp"
#include "host/sources.hpp"
#include "host/trees.hpp"
#include "plan/identity.hpp"
#include "plan/limits.hpp"
#include "plan/project.hpp"
#include "plan/trees.hpp"
#include "sys/process.hpp"

namespace mayfly::cli {
namespace {

// What to do instead of showing a part of one of the kernel's own file systems.
std::string kernel_fs_remedy(const std::string& path) {
  const std::string copy = "copy what the task is to read with --file";
  if (is_within(path, "/proc")) return "the sandbox has its own /proc; " + copy;
  if (is_within(path, "/dev/pts")) {
    return "the sandbox has its own /dev/pts; --tty yes gives the command a terminal there";
  }
  if (is_within(path, "/dev")) {
    return "the sandbox has its own /dev; --device NODE shows a device of the host";
  }
  return copy;
}

// The kernel's own file systems tell about the host and change it.
Result<void> refuse_kernel_fs(const host::SourceFact& fact, const host::HostFacts& facts) {
  const host::MountPoint* mount = host::mount_of(facts.mounts, fact.real);
  const bool below_proc = is_within(fact.real, "/proc");
  if (!below_proc && (mount == nullptr || !host::is_kernel_fs(mount->fstype))) return {};
  if (fact.kind == host::SourceFact::Kind::Device) {
    return usage_error("show " + shown(fact.path) + " inside: it is a device",
                       "--device " + shown(fact.path) + " shows one, at its own path");
  }
  return usage_error("show " + shown(fact.path) +
                         " inside: it belongs to a file system of the "
                         "kernel" +
                         (mount == nullptr ? "" : " (" + mount->fstype + ")"),
                     kernel_fs_remedy(fact.real));
}

// What the kernel said of a value tells nothing of the option that it was given to.
Result<void> told(Subject subject, std::string_view option, Result<void> looked) {
  if (!looked && looked.error().sys_errno != 0)
    looked.error().action += " (" + std::string(option) + ")";
  return about(subject, std::move(looked));
}

Result<void> look_at_root(const spec::Spec& spec, host::HostFacts& facts) {
  if (spec.root != spec::RootKind::Directory) return {};
  host::SourceFact root = TRY(host::inspect_source(spec.root_dir, facts.working_dir));
  if (root.kind != host::SourceFact::Kind::Directory) {
    return Error{.kind = ErrorKind::Usage,
                 .sys_errno = ENOTDIR,
                 .action = "use " + shown(spec.root_dir) + " as root",
                 .call = {},
                 .hint = "--root takes a directory: unpack an image or archive first"};
  }
  TRY(refuse_kernel_fs(root, facts));
  facts.sources.push_back(std::move(root));
  return {};
}

Result<void> look_at_project(const spec::Spec& spec, host::HostFacts& facts) {
  const bool live = spec.project == spec::ProjectMode::Rw;
  const bool read_only = spec.project == spec::ProjectMode::Ro;
  if (spec.project_dir.empty() && !live && !read_only) return {};
  const plan::Project project = TRY(plan::choose_project(spec, facts));
  if (project.dir.empty()) return {};
  host::SourceFact fact = TRY(host::inspect_source(project.dir, facts.working_dir));
  if (fact.kind != host::SourceFact::Kind::Directory) {
    return usage_error("use " + shown(project.dir) + " as the project: it is not a directory",
                       "name the directory that holds it: --project cow:DIR");
  }
  if (live || (read_only && host::has_mounts_below(facts.mounts, fact.real)))
    fact.channels = host::channels_in(project.dir, facts.working_dir);
  facts.sources.push_back(std::move(fact));
  return {};
}

Result<void> look_at_stdin(const spec::Spec& spec, const host::HostFacts& facts) {
  if (spec.stdin_kind != spec::StdinKind::File) return {};
  TRY(host::inspect_source(spec.stdin_file, facts.working_dir));
  return {};
}

void look_at_terminal(const spec::Spec& spec, host::HostFacts& facts) {
  if (spec.tty != spec::TtyMode::Auto || spec.stdin_kind != spec::StdinKind::Inherit) return;
  facts.on_terminal = ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1;
}

// An overlay has to search its directory, which the sandbox's root can where it is the caller's.
Result<void> check_may_search(const std::string& path, const std::string& working_dir) {
  if (host::may_enter(AT_FDCWD, seen_from(working_dir, path).c_str())) return {};
  return Error{.kind = ErrorKind::Usage,
               .sys_errno = EACCES,
               .action = "use " + shown(path) + " of the host",
               .call = "faccessat(" + shown(path) + ", X_OK)",
               .hint = host::path_remedy(EACCES)};
}

Result<void> look_at_entry(spec::FsEntry& entry, std::size_t layer_bytes, host::HostFacts& facts) {
  if (entry.kind == spec::FsKind::File) {
    entry.data = TRY(host::read_source(entry.source, facts.working_dir, layer_bytes));
    entry.source.clear();
    return {};
  }
  host::SourceFact fact = TRY(host::inspect_source(entry.source, facts.working_dir));
  if (entry.kind == spec::FsKind::Device && fact.kind != host::SourceFact::Kind::Device) {
    return usage_error("show " + shown(entry.source) + " as a device: it is none",
                       "--ro and --rw show files and directories");
  }
  if (entry.kind != spec::FsKind::Device) TRY(refuse_kernel_fs(fact, facts));
  // An overlay makes no socket or FIFO work that lies in it: only a bind can.
  const bool is_dir = fact.kind == host::SourceFact::Kind::Directory;
  const bool by_overlay = is_dir && entry.kind != spec::FsKind::Rw;
  if (by_overlay) TRY(check_may_search(entry.source, facts.working_dir));
  const bool live =
      entry.kind == spec::FsKind::Rw ||
      (entry.kind == spec::FsKind::Ro && host::has_mounts_below(facts.mounts, fact.real));
  if (is_dir && live) fact.channels = host::channels_in(entry.source, facts.working_dir);
  facts.sources.push_back(std::move(fact));
  return {};
}

Result<void> look_at_entries(spec::Spec& spec, host::HostFacts& facts) {
  for (std::size_t i = 0; i < spec.fs.size(); ++i) {
    spec::FsEntry& entry = spec.fs[i];
    facts.places.push_back(host::real_place(entry.target, facts.working_dir));
    if (entry.source.empty()) continue;
    TRY(told({.key = "mounts", .item = i}, spec::option_of(entry.kind),
             look_at_entry(entry, spec::layer_bytes(spec), facts)));
  }
  return {};
}

void look_at_reports(const spec::Spec& spec, host::HostFacts& facts) {
  using Kind = host::ReportPlace::Kind;
  const auto add = [&](Kind kind, std::optional<std::string> path) {
    if (path) facts.report_places.push_back({.kind = kind, .path = std::move(*path)});
  };
  if (!spec.result_file.empty())
    add(Kind::Result, host::place_of_result(spec.result_file, facts.working_dir));
  if (!spec.result_file.empty() && !facts.report_places.empty()) {
    facts.report_places.back().above = host::above_result(spec.result_file, facts.working_dir);
  }
  if (spec.status_fd >= 0) add(Kind::Status, host::place_of_descriptor(spec.status_fd));
  if (spec.control_fd >= 0) add(Kind::Control, host::place_of_descriptor(spec.control_fd));
}

Result<void> look_at_profile(const spec::Spec& spec, host::HostFacts& facts) {
  if (spec.seccomp_file.empty()) return {};
  Result<std::string> profile = read_named_file(spec.seccomp_file, facts.working_dir);
  if (!profile) {
    profile.error().action += " (--seccomp)";
    return std::move(profile).error();
  }
  facts.seccomp_profile = std::move(*profile);
  utsname name = {};
  if (::uname(&name) == 0) facts.kernel_release = name.release;
  return {};
}

Result<void> look_at_trees(const spec::Spec& spec, host::HostFacts& facts) {
  // Copies of files go to the layer and must leave room there.
  const std::uint64_t most_copied = std::min<std::uint64_t>(spec::layer_bytes(spec) / 4, 64u << 20);
  for (const plan::WantedTree& tree : TRY(plan::wanted_trees(spec, facts))) {
    facts.trees.push_back(
        TRY(host::look_at_tree(tree.path, tree.detail, facts.mounts, most_copied)));
  }
  return {};
}

Result<void> look_at_resources(const spec::Limits& limits, host::HostFacts& facts) {
  for (const int number : {RLIMIT_CORE, RLIMIT_NPROC})
    facts.hard_limits.push_back({.resource = number, .most = sys::hard_limit(number)});
  for (const spec::ResourceLimit& limit : limits.resources) {
    const int number = TRY(spec::resource_named(limit.name)).number;
    facts.hard_limits.push_back({.resource = number, .most = sys::hard_limit(number)});
  }
  return {};
}

// Whoever asks for no such limit needs no look at the cgroup tree.
Result<void> look_at_cgroups(const spec::Spec& spec, host::HostFacts& facts) {
  const std::string& parent = spec.limits.cgroup_parent;
  const bool below = !facts.cgroup.mount.empty() && is_within(parent, facts.cgroup.mount);
  if (!parent.empty() && !below) {
    return usage_error(
        "use " + shown(parent) + " as the parent cgroup: it is not in the cgroup v2 " + "tree",
        facts.cgroup.mount.empty() ? "no such tree is mounted here"
                                   : "that is at " + facts.cgroup.mount);
  }
  host::Controllers wanted = plan::wanted_controllers(spec.limits);
  if (spec.limits.pids && spec.unsafe.unsafe_host_ids) wanted = wanted | host::Controller::Pids;
  if (wanted.none() && parent.empty()) return {};
  host::look_for_places(facts.cgroup, wanted, parent);
  if (!parent.empty() && facts.cgroup.places.front().gives.none() &&
      !facts.cgroup.places.front().why_not.empty() && wanted.none()) {
    return usage_error(
        "use " + shown(parent) + " as the parent cgroup: " + facts.cgroup.places.front().why_not,
        "name one that is delegated to the caller");
  }
  return {};
}

Result<void> look_at_limits(const spec::Spec& spec, host::HostFacts& facts) {
  TRY(look_at_resources(spec.limits, facts));
  TRY(about({.key = "cgroup-parent"}, look_at_cgroups(spec, facts)));
  const std::vector<spec::IoLimit>& io = spec.limits.io;
  for (std::size_t i = 0; i < io.size(); ++i)
    facts.devices.push_back(TRY(about({.key = "io", .item = i}, host::disk_of(io[i].path))));
  return {};
}

}  // namespace

Result<host::HostFacts> gather_facts(spec::Spec& spec, const std::string& working_dir) {
  TRY(spec::validate(spec));
  host::HostFacts facts = TRY(host::gather(
      spec.unsafe.unsafe_host_ids ? host::EtcCheck::ForHostIds : host::EtcCheck::ForCaller,
      working_dir));
  TRY(told({.key = "root"}, "--root", look_at_root(spec, facts)));
  TRY(told({.key = "project"}, "--project", look_at_project(spec, facts)));
  TRY(told({.key = "stdin"}, "--stdin", look_at_stdin(spec, facts)));
  look_at_terminal(spec, facts);
  TRY(look_at_entries(spec, facts));
  look_at_reports(spec, facts);
  TRY(about({.key = "seccomp"}, look_at_profile(spec, facts)));
  TRY(look_at_trees(spec, facts));
  TRY(look_at_limits(spec, facts));
  return facts;
}

}  // namespace mayfly::cli
