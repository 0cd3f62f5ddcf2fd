#include "plan/project.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.hpp"
#include "plan/covering.hpp"
#include "plan/identity.hpp"
#include "spec/arguments.hpp"

namespace mayfly::plan {
namespace {

// The system's directories with all that is in them: nobody's work, and shown already or on purpose
// not at all.
constexpr std::array<std::string_view, 13> kSystemTrees = {
    "/bin",    "/boot", "/dev", "/etc",  "/lib", "/lib32", "/lib64",
    "/libx32", "/proc", "/run", "/sbin", "/sys", "/usr"};

// Exceptions: places below them where people do keep their work (removable drives, and the working
// directory of many container images), but not these directories themselves.
constexpr std::array<std::string_view, 3> kWorkBelow = {"/run/media", "/usr/src", "/usr/local/src"};

// Directories that hold other people's or programs' things side by side: only what is below them
// can be a project.
constexpr std::array<std::string_view, 17> kShared = {
    "/",        "/home",    "/media",     "/mnt",     "/nix",     "/opt",
    "/root",    "/snap",    "/srv",       "/tmp",     "/var",     "/var/cache",
    "/var/lib", "/var/log", "/var/spool", "/var/tmp", "/var/mail"};

// File systems of the kernel, which no sandbox is shown: not even naming them helps.
constexpr std::array<std::string_view, 3> kKernelTrees = {"/proc", "/sys", "/dev"};

bool is_system(std::string_view dir) {
  const auto below = [&](std::string_view tree) { return is_within(dir, tree) && dir != tree; };
  const auto within = [&](std::string_view tree) { return is_within(dir, tree); };
  if (std::any_of(kWorkBelow.begin(), kWorkBelow.end(), below)) return false;
  return std::any_of(kSystemTrees.begin(), kSystemTrees.end(), within);
}

// As a shell gives it to --cow.
std::string as_argument(const std::string& dir) {
  return shell_word(spec::format_entry({.kind = spec::FsKind::Cow, .source = dir, .target = dir}));
}

Result<Project> named_project(const spec::Spec& spec, const host::HostFacts& facts) {
  std::string path = spec.project_dir;
  if (path[0] != '/') {
    if (facts.working_dir.empty()) {
      return usage_error("use " + shown(path) + " as the project: the working directory is gone",
                         "give an absolute path");
    }
    path = facts.working_dir + "/" + path;
  }
  std::string dir = normal_path(path);
  const auto within = [&](std::string_view tree) { return is_within(dir, tree); };
  const bool is_kernels = std::any_of(kKernelTrees.begin(), kKernelTrees.end(), within);
  if (dir == "/" || is_kernels) {
    return usage_error("use " + shown(dir) + " as the project: it is " +
                           (is_kernels ? "the kernel's" : "the root of the host"),
                       "name a directory with files, not the root or a place in /proc, /sys, /dev");
  }
  return Project{.dir = std::move(dir), .why = "named by --project"};
}

}  // namespace

std::string why_no_project(const std::string& dir, const host::HostFacts& facts) {
  for (const std::string& home : {facts.home, facts.env_home}) {
    if (home.empty()) continue;
    if (dir == home) return "it is the home directory";
    if (is_within(home, dir)) return "the home directory is in it";
  }
  for (const host::PasswdEntry& entry : facts.passwd) {
    if (entry.uid >= kFirstPerson && entry.uid != kNobody && dir == entry.home) {
      return "it is the home directory of " + shown(entry.name);
    }
  }
  if (is_system(dir)) return "it belongs to the system";
  if (std::find(kShared.begin(), kShared.end(), dir) != kShared.end()) {
    return "it is shared by all programs or users";
  }
  return {};
}

bool shows_project(const spec::Spec& spec) {
  return spec.project != spec::ProjectMode::None &&
         (spec.root == spec::RootKind::Host || spec.project_is_asked);
}

Result<Project> choose_project(const spec::Spec& spec, const host::HostFacts& facts) {
  if (spec.project == spec::ProjectMode::None) {
    return Project{.dir = {}, .why = "no project: --project none"};
  }
  if (!spec.project_dir.empty()) return named_project(spec, facts);
  if (!facts.work_tree.empty() && why_no_project(facts.work_tree, facts).empty()) {
    return Project{
        .dir = facts.work_tree, .why = "the enclosing git work tree", .inode = facts.tree_inode};
  }
  if (facts.working_dir.empty()) {
    return Project{.dir = {}, .why = "no project: the working directory is gone or unreachable"};
  }
  const std::string why = why_no_project(facts.working_dir, facts);
  if (!why.empty()) {
    return Project{.dir = {},
                   .why = "no project: the working directory is " + shown(facts.working_dir) +
                          " and " + why + "; --project cow:DIR names one"};
  }
  return Project{
      .dir = facts.working_dir, .why = "the working directory", .inode = facts.working_inode};
}

void add_git_note(const Project& project, const host::HostFacts& facts, Plan& plan) {
  if (facts.git_dir.empty() || project.dir != facts.work_tree) return;
  const MountStep* over = mount_over(plan.mounts, std::string_view(facts.git_dir).substr(1));
  const bool is_shown =
      over != nullptr && (over->kind == MountKind::Overlay || over->kind == MountKind::Bind);
  if (is_shown) return;
  plan.notes.push_back(
      {.what = "git",
       .enforcement = Enforcement::NotEnforced,
       .how =
           "the project's git directory, " + shown(facts.git_dir) +
           (facts.has_git_dir ? ", is not shown: --cow " + as_argument(facts.git_dir) + " shows it"
                              : ", is not there on the host, or not for the caller")});
}

}  // namespace mayfly::plan
