// `mayfly explain [--json] run …`: the plan that `run` would make of the same words, and nothing
// else: no sandbox, no file, no entry in the registry.
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "cli/caller.hpp"
#include "cli/commands.hpp"
#include "cli/gather.hpp"
#include "cli/help.hpp"
#include "cli/read_request.hpp"
#include "cli/say.hpp"
#include "cli/verbs.hpp"
#include "host/probe.hpp"
#include "launch/launch.hpp"
#include "plan/covering.hpp"
#include "plan/limits.hpp"
#include "plan/plan.hpp"
#include "policy/programs.hpp"
#include "report/explanation.hpp"
#include "report/status.hpp"
#include "supervise/control.hpp"
#include "supervise/descriptor.hpp"
#include "supervise/stdio.hpp"
#include "sys/entries.hpp"

namespace mayfly::cli {
namespace {

Result<void> check_words(const std::vector<std::string>& words) {
  constexpr const char* kHint = "write the command as it would be run: mayfly explain run make";
  if (words.empty()) return usage_error("explain: no verb was given", kHint);
  if (words.front() == kRunVerb.name) return {};
  return usage_error("explain " + shown(words.front()) + ": only run has a plan", kHint);
}

// What `run` is asked for by the words behind `explain`.
Result<Request> read_words(const Request& outer) {
  TRY(check_words(outer.spec.argv));
  Request inner;
  inner.working_dir = outer.working_dir;
  inner.read_file = outer.read_file;
  inner.beginning = outer.beginning;
  std::vector<std::string> words = outer.spec.argv;
  std::vector<char*> args;
  for (std::string& word : words)
    args.push_back(word.data());
  args.push_back(nullptr);
  TRY(read_request(kRunVerb, std::span(args).first(words.size()), inner));
  inner.json = outer.json;
  return inner;
}

// Where the layer is, which a start finds out by trying.
Result<void> settle_layer(const host::HostFacts& facts, plan::Plan& plan) {
  using spec::LayerKind;
  if (plan.layer != LayerKind::Disk) {
    const std::optional<bool> in_memory = host::tmpfs_holds_user_xattrs(facts);
    if (!in_memory) return {};
    if (!*in_memory && plan.layer == LayerKind::Memory) {
      return launch::step_error(plan, {.step = launch::Step::LayerXattr, .error = EOPNOTSUPP});
    }
    if (*in_memory) plan.layer = LayerKind::Memory;
  }
  if (plan.layer == LayerKind::Memory) return {};
  plan.notes.push_back(plan::disk_layer_note(plan, plan.layer_parent));
  plan.layer = LayerKind::Disk;
  return {};
}

// Whether an entry is written to, or given a mode, where it is already. What is in its way is not.
bool changes(const plan::MountStep& step, const Fd& found) {
  struct stat info {};
  if (step.kind != plan::MountKind::Nodes || ::fstat(found.get(), &info) != 0) return false;
  return std::any_of(step.skeleton.begin(), step.skeleton.end(), [&](const plan::Node& node) {
    if (node.kind == plan::Node::Kind::File) return S_ISREG(info.st_mode);
    return node.kind == plan::Node::Kind::Dir && node.sets_mode && S_ISDIR(info.st_mode);
  });
}

// How a start would fail to find or make a mount point in a tree of the host, as far as that can be
// seen there: an errno, or 0.
int mount_point_error(const plan::MountStep& over, const plan::MountStep& step) {
  // What we put into a tree of our own may be in the place of what the host has.
  const bool has_own = over.target.empty() || !over.skeleton.empty();
  const std::string place = plan::on_host(over, step.target);
  if (has_own || place.empty()) return 0;
  const Result<Fd> found = sys::open_without_links(place.c_str());
  const int error = found ? 0 : found.error().sys_errno;
  if (error == ELOOP && step.kind != plan::MountKind::Nodes) return ELOOP;
  if (found && over.access == plan::Access::ReadOnly && changes(step, *found)) return EROFS;
  if (error != ENOENT) return 0;
  // What would stay on the host is not made.
  if (plan::is_live(over)) return step.make_target ? 0 : ENOENT;
  return over.access == plan::Access::ReadOnly ? EROFS : 0;
}

Result<void> check_mount_points(const plan::Plan& plan) {
  const std::span<const plan::MountStep> steps = plan.mounts;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const plan::MountStep* over = plan::mount_over(steps.first(i), steps[i].target);
    if (over == nullptr || steps[i].optional || steps[i].own_target) continue;
    const int error = mount_point_error(*over, steps[i]);
    if (error == 0) continue;
    return launch::step_error(
        plan,
        {.step = launch::Step::Mount, .index = static_cast<std::uint32_t>(i), .error = error});
  }
  return {};
}

// A directory and a socket are refused as standard input. To open anything else could do something.
Result<void> check_stdin(const spec::Spec& spec) {
  struct stat info {};
  if (spec.stdin_kind != spec::StdinKind::File) return {};
  if (::stat(spec.stdin_file.c_str(), &info) != 0) return {};
  if (!S_ISDIR(info.st_mode) && !S_ISSOCK(info.st_mode)) return {};
  const Result<supervise::Stdio> stdio = supervise::prepare_stdio(spec, {});
  return stdio ? Result<void>() : stdio.error();
}

Result<std::string> explanation(Request& request) {
  const spec::Spec& spec = request.spec;
  report::Reporter reporter;
  TRY(reporter.take({.status_fd = spec.status_fd,
                     .result_file = spec.result_file,
                     .working_dir = request.working_dir}));
  const host::HostFacts facts = TRY(gather_facts(request.spec, request.working_dir));
  plan::Plan plan = TRY(plan::make_plan(spec, facts, caller_environment()));
  TRY(check_mount_points(plan));
  TRY(settle_layer(facts, plan));
  TRY(check_stdin(spec));
  if (spec.control_fd >= 0) {
    TRY(supervise::open_control(spec.control_fd, spec.control_fd == spec.status_fd));
  }
  TRY(supervise::keep_from_task(spec));
  const policy::Stands stands = TRY(policy::stands(spec.syscalls, plan.filter));
  return request.json ? report::explanation_json(request, plan, stands) + "\n"
                      : report::explanation_text(request, plan, stands);
}

}  // namespace

int explain(const Request& outer) {
  Result<Request> request = read_words(outer);
  if (request && request->help) return print(verb_help(kRunVerb));
  Result<std::string> text = request ? explanation(*request) : request.error();
  if (text) return print(*text);
  say(complaint(request ? spec::with_place(*request, text.error()) : text.error()));
  return kFailed;
}

}  // namespace mayfly::cli
