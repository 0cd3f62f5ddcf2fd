#include "plan/filter.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/text.hpp"
#include "plan/covering.hpp"
#include "policy/merge.hpp"
#include "policy/profile.hpp"

namespace mayfly::plan {
namespace {

// Such a program ends before it could say why.
void add_missed_note(Plan& plan) {
  for (const std::string& group : plan.programs.missed) {
    plan.notes.push_back({.what = "syscalls",
                          .enforcement = Enforcement::Enforced,
                          .how = policy::missed_words(group)});
  }
}

// The OCI profile, which comes on top of the groups.
Result<void> add_profile(const spec::Spec& spec, const host::HostFacts& facts, Plan& plan) {
  if (spec.seccomp_file.empty()) return {};
  Result<policy::Program> program = policy::compile_profile({.name = spec.seccomp_file,
                                                             .text = facts.seccomp_profile,
                                                             .capabilities = plan.keep_capabilities,
                                                             .kernel = facts.kernel_release});
  if (!program) {
    program.error().action += " (--seccomp)";
    return std::move(program).error();
  }
  plan.programs.task.push_back(*std::move(program));
  plan.notes.push_back({.what = "seccomp",
                        .enforcement = Enforcement::Enforced,
                        .how = spec.seccomp_file + ", on top of the policy's groups"});
  return {};
}

// Who is to end the sandbox at a refused call must hear of each.
Error never_fatal(const spec::Spec& spec, const std::string& untold_call, bool is_profile) {
  const std::string filter = is_profile ? "the seccomp profile " + shown(spec.seccomp_file)
                                        : "the choice of groups of system calls";
  const std::string why = untold_call.empty()
                              ? "is too long"
                              : "may refuse " + untold_call + ", which the sandbox's init needs";
  Error error = usage_error(
      "end the sandbox at a refused system call: " + filter + " " + why + ", so that only the " +
          "command can be held to it and what it refuses is not told",
      (untold_call.empty() ? std::string("shorten it")
       : is_profile        ? "allow " + untold_call + " in it"
                           : "leave the group allowed that has it (`mayfly policy show default`)") +
          ", or leave out --seccomp-action kill");
  error.about = Subject{.key = is_profile ? "seccomp" : "syscalls"};
  return error;
}

// Who listens hears of what init's own filter refuses, which takes in the others where it can.
Result<void> tell_refusals(const spec::Spec& spec, Plan& plan) {
  const policy::Program last =
      plan.programs.task.empty() ? policy::Program{} : plan.programs.task.back();
  policy::Told told =
      policy::with_told(std::move(plan.programs), policy::stock_filter(plan.filter));
  plan.programs = std::move(told.programs);
  if (told.is_complete) return {};
  if (plan.refusals == Refusals::Fatal) {
    const bool is_profile = !spec.seccomp_file.empty() && plan.programs.task.front() == last;
    return never_fatal(spec, told.untold_call, is_profile);
  }
  const std::string why = told.untold_call.empty()
                              ? "it is too long"
                              : "it may refuse " + told.untold_call + ", which init needs";
  plan.notes.push_back(
      {.what = "denials",
       .enforcement = Enforcement::Approximated,
       .how = "what a filter refuses that only the command has loaded is not told: " + why});
  return {};
}

}  // namespace

Result<void> choose_filter(const spec::Spec& spec, const host::HostFacts& facts, Plan& plan) {
  const bool nesting = spec.unsafe.unsafe_nesting;
  const bool live = std::any_of(plan.mounts.begin(), plan.mounts.end(), is_live);
  const bool fatal = spec.seccomp_action == spec::SeccompAction::Kill;
  plan.refusals = fatal                  ? Refusals::Fatal
                  : spec.explain_denials ? Refusals::Told
                                         : Refusals::Silent;
  plan.filter = nesting ? (live ? Filter::NestingLive : Filter::Nesting)
                        : (live ? Filter::Live : Filter::Default);
  plan.programs = TRY(about({.key = "syscalls"}, policy::programs_for(spec.syscalls, plan.filter)));
  add_missed_note(plan);
  TRY(about({.key = "seccomp"}, add_profile(spec, facts, plan)));
  if (plan.refusals != Refusals::Silent) TRY(tell_refusals(spec, plan));
  return {};
}

}  // namespace mayfly::plan
