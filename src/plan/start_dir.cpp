#include "plan/start_dir.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/text.hpp"
#include "plan/covering.hpp"

namespace mayfly::plan {
namespace {

using spec::FsEntry;
using spec::FsKind;

bool is_shown_directory(const FsEntry& entry, const host::HostFacts& facts) {
  const auto is_source = [&](const host::SourceFact& fact) { return fact.path == entry.source; };
  const auto fact = std::find_if(facts.sources.begin(), facts.sources.end(), is_source);
  return fact == facts.sources.end() || fact->kind == host::SourceFact::Kind::Directory;
}

// Whether there is a directory at `dir` as far as this entry decides it.
std::optional<bool> has_by(const FsEntry& entry, const std::string& dir,
                           const host::HostFacts& facts) {
  if (!is_within(dir, entry.target)) return std::nullopt;
  const bool exact = entry.target == dir;
  switch (entry.kind) {
    case FsKind::Tmpfs:
      return exact;
    case FsKind::Cow:
    case FsKind::Ro:
    case FsKind::Rw:
      // Of another tree nobody has looked whether it has a directory of that name.
      return exact ? is_shown_directory(entry, facts) : entry.source == entry.target;
    case FsKind::Dir:
      return exact ? std::optional(true) : std::nullopt;
    case FsKind::Mask:
      // Exactly there, a directory looks empty; above, what is in it is hidden.
      return exact ? std::nullopt : std::optional(false);
    case FsKind::File:
    case FsKind::Symlink:
    case FsKind::Device:
      break;
  }
  return false;
}

bool is_shown_by_root(const spec::Spec& spec, const host::HostFacts& facts,
                      const std::string& dir) {
  if (spec.root != spec::RootKind::Host) return false;
  const auto hides = [&](const std::string& name) { return is_within(dir, "/etc/" + name); };
  if (std::any_of(facts.etc_private.begin(), facts.etc_private.end(), hides)) return false;
  return std::any_of(facts.top.begin(), facts.top.end(), [&](const host::TopEntry& entry) {
    return entry.kind == host::TopEntry::Kind::Directory && is_within(dir, "/" + entry.name);
  });
}

bool is_seen(const spec::Spec& spec, const host::HostFacts& facts, const std::string& project,
             const Plan& plan) {
  const std::string& dir = facts.working_dir;
  if (dir.empty() || dir == "/") return false;
  for (auto entry = spec.fs.rbegin(); entry != spec.fs.rend(); ++entry) {
    if (const std::optional<bool> has = has_by(*entry, dir, facts)) return *has;
  }
  // A mount below a tree that could not be shown has an empty directory in its place.
  const std::string_view place = std::string_view(dir).substr(1);
  const MountStep* over = mount_over(plan.mounts, place);
  if (over != nullptr && over->kind == MountKind::Mask && over->target != place) return false;
  const bool in_project = !project.empty() && is_within(dir, project);
  return in_project || is_shown_by_root(spec, facts, dir);
}

}  // namespace

Result<std::string> start_dir(const spec::Spec& spec, const host::HostFacts& facts,
                              const std::string& project, const Plan& plan) {
  if (!spec.chdir.empty()) {
    if (spec.chdir[0] == '/') return spec.chdir;
    return usage_error("start in " + shown(spec.chdir) + ": it is not an absolute path",
                       "give the path as it is inside the sandbox, beginning with '/'");
  }
  if (is_seen(spec, facts, project, plan)) return facts.working_dir;
  // The project may be named by a path that leads through a link.
  const std::string& real = host::real_path(facts.sources, project);
  const bool is_linked = !project.empty() && real != project;
  if (!is_linked || !is_within(facts.working_dir, real)) return plan.ids.home;
  return project + facts.working_dir.substr(real.size());
}

}  // namespace mayfly::plan
