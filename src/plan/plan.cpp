#include "plan/plan.hpp"

#include <linux/capability.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "base/text.hpp"
#include "plan/command.hpp"
#include "plan/covering.hpp"
#include "plan/environment.hpp"
#include "plan/etc_files.hpp"
#include "plan/filter.hpp"
#include "plan/identity.hpp"
#include "plan/limits.hpp"
#include "plan/project.hpp"
#include "plan/reports.hpp"
#include "plan/root_view.hpp"
#include "plan/start_dir.hpp"

namespace mayfly::plan {
namespace {

constexpr std::uint64_t kAllCapabilities = ~std::uint64_t{0};

void add_rights(const spec::Spec& spec, const host::HostFacts& facts, Plan& plan) {
  const bool nesting = spec.unsafe.unsafe_nesting;
  plan.ban_user_namespaces = !nesting;
  // A user namespace whose root is to be mapped to the task's root must be made with CAP_SETFCAP.
  if (nesting && plan.ids.task_uid == 0) plan.keep_capabilities = 1ULL << CAP_SETFCAP;
  if (spec.unsafe.unsafe_keep_caps) plan.keep_capabilities = kAllCapabilities;
  plan.new_session_keyring = facts.owns_all_ids;
  // Landlock refuses mounts, which nested sandboxes need.
  plan.landlock_abi = nesting ? 0 : facts.landlock_abi;
  if (plan.landlock_abi > 0) {
    plan.notes.push_back({.what = "landlock",
                          .enforcement = Enforcement::Enforced,
                          .how = "ABI " + std::to_string(plan.landlock_abi)});
  } else {
    plan.notes.push_back(
        {.what = "landlock",
         .enforcement = Enforcement::NotEnforced,
         .how = nesting ? "off for nested sandboxes (--unsafe-nesting)" : "this kernel has none"});
  }
}

void add_group_note(const host::HostFacts& facts, Plan& plan) {
  if (!plan.ids.deny_setgroups || facts.groups.empty()) return;
  std::string list;
  for (const gid_t group : facts.groups) {
    list += (list.empty() ? "" : " ") + std::to_string(group);
  }
  plan.notes.push_back(
      {.what = "groups",
       .enforcement = Enforcement::NotEnforced,
       .how = "an ordinary caller's supplementary groups cannot be dropped: " + list});
}

// A terminal of its own: asked for, or in the place of the caller's, which the task never holds.
bool has_terminal(const spec::Spec& spec, const host::HostFacts& facts) {
  if (spec.tty != spec::TtyMode::Auto) return spec.tty == spec::TtyMode::Yes;
  return facts.on_terminal && spec.stdin_kind == spec::StdinKind::Inherit && !spec.progress &&
         !spec.unsafe.unsafe_tty;
}

}  // namespace

void choose_meter(const spec::Spec& spec, Plan& plan) {
  const bool has_cgroup = !plan.cgroup_parent.empty();
  plan.watch_processes = (spec.cpu_time || spec.progress) && !has_cgroup;
  std::erase_if(plan.notes, [](const Note& note) { return note.what == "cpu-time"; });
  if (!spec.cpu_time) return;
  plan.notes.push_back(
      {.what = "cpu-time",
       .enforcement = has_cgroup ? Enforcement::Enforced : Enforcement::Approximated,
       .how = has_cgroup ? "cpu.stat of the sandbox's cgroup"
                         : "the times of its processes, without the last moments of those whose "
                           "parent does not wait for them; no cgroup: " +
                               plan.cgroup_reason});
}

Result<Plan> make_plan(const spec::Spec& spec, const host::HostFacts& facts,
                       const std::vector<std::string>& caller_env) {
  TRY(spec::validate(spec));
  Plan plan;
  plan.ids = TRY(about({.key = "user"}, choose_ids(spec, facts)));
  plan.hostname = spec.hostname;
  TRY(add_limits(spec, facts, plan));
  add_rights(spec, facts, plan);
  choose_meter(spec, plan);
  add_group_note(facts, plan);

  RootView view;
  view.etc_files = TRY(etc_files(facts, plan.ids, spec.hostname));
  if (shows_project(spec)) {
    view.project = TRY(about({.key = "project"}, choose_project(spec, facts)));
    const Project& project = view.project;
    plan.notes.push_back(
        {.what = "project",
         .enforcement = Enforcement::Enforced,
         .how = project.dir.empty() ? project.why : project.dir + ": " + project.why});
  }
  TRY(plan_root(spec, facts, view, plan));
  add_git_note(view.project, facts, plan);
  TRY(check_reports(spec, facts, plan));
  TRY(choose_filter(spec, facts, plan));

  plan.argv = spec.argv;
  plan.terminal = has_terminal(spec, facts);
  plan.env = TRY(task_environment(spec, plan.ids, caller_env,
                                  plan.terminal ? Terminal::Present : Terminal::None));
  plan.chdir = TRY(start_dir(spec, facts, view.project.dir, plan));
  plan.chdir_is_asked = !spec.chdir.empty();
  plan.program_paths = program_paths(spec.argv.front(), plan.env, plan.chdir);
  plan.umask = spec.umask;
  plan.linger = spec.linger;
  TRY(check_exec_size(plan.argv, plan.env, facts.stack_bytes));
  return plan;
}

}  // namespace mayfly::plan
