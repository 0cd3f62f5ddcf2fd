// `mayfly run`: one sandbox, from the request to the words at its end.
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <utility>

#include "base/text.hpp"
#include "cli/caller.hpp"
#include "cli/commands.hpp"
#include "cli/ending.hpp"
#include "cli/gather.hpp"
#include "cli/not_found.hpp"
#include "cli/say.hpp"
#include "report/status.hpp"
#include "spec/writer.hpp"
#include "supervise/signals.hpp"
#include "supervise/supervisor.hpp"

namespace mayfly::cli {
namespace {

using supervise::Outcome;

bool is_program(const std::string& path) {
  struct stat status = {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

// A program by its mode that its mount forbids to execute.
bool is_on_noexec(const std::string& path) {
  struct stat status = {};
  struct statvfs mount = {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         (status.st_mode & 0111) != 0 && ::statvfs(path.c_str(), &mount) == 0 &&
         (mount.f_flag & ST_NOEXEC) != 0;
}

HostView host_view(const Request& request) {
  const char* path = std::getenv("PATH");
  return {.search_path = path != nullptr ? path : "",
          .working_dir = request.working_dir,
          .is_program = is_program,
          .is_on_noexec = is_on_noexec};
}

Outcome explained(const Request& request, Outcome outcome) {
  if (outcome.reason == supervise::Reason::ExecFailed) {
    explain_exec(request.spec, host_view(request), outcome);
  }
  if (outcome.error) outcome.error = spec::with_place(request, std::move(*outcome.error));
  return outcome;
}

// Passes on what happens; what it says about a command that is not there knows the host, and about
// a setting the document that it is from.
class Explainer final : public supervise::Observer {
 public:
  Explainer(const Request& request, supervise::Observer& next) : request_(request), next_(next) {}
  void created(const Outcome& outcome, const plan::Plan& plan) override {
    next_.created(outcome, plan);
  }
  void started(int pid_inside) override { next_.started(pid_inside); }
  void denied(const supervise::Denial& denial) override { next_.denied(denial); }
  void ending(supervise::Reason reason) override { next_.ending(reason); }
  void answered(const supervise::ControlAnswer& answer) override { next_.answered(answer); }
  [[nodiscard]] int backlog() const override { return next_.backlog(); }
  void write_backlog() override { next_.write_backlog(); }
  void ended(const Outcome& outcome) override {
    next_.ended(outcome.error ? explained(request_, outcome) : outcome);
  }

 private:
  const Request& request_;
  supervise::Observer& next_;
};

Outcome attempt(const Request& request, supervise::Observer& observer) {
  spec::Spec spec = request.spec;
  Result<host::HostFacts> facts = gather_facts(spec, request.working_dir);
  if (facts) {
    return supervise::run(spec, *facts, caller_environment(), *request.beginning, observer);
  }
  Outcome outcome = supervise::never_started(spec, std::move(facts).error());
  observer.ended(outcome);
  return outcome;
}

// Whoever reads "hello" is promised a result, whatever signal comes then.
Result<void> hold_signals(const spec::Spec& spec) {
  const bool has_reports = spec.status_fd != -1 || !spec.result_file.empty();
  return has_reports ? supervise::hold_signals() : Result<void>();
}

int print_spec(const Request& request) {
  const Result<void> valid = spec::validate(request.spec);
  const Result<std::string> text = valid ? spec::write_json(request.spec) : valid.error();
  if (text) return print(*text);
  say(complaint(spec::with_place(request, text.error())));
  return kFailed;
}

}  // namespace

int run(const Request& request) {
  const spec::Spec& spec = request.spec;
  if (request.print_spec) return print_spec(request);
  if (const Result<void> held = hold_signals(spec); !held) return refuse_run(request, held.error());
  report::Reporter reporter;
  const Result<void> opened = reporter.open({.status_fd = spec.status_fd,
                                             .result_file = spec.result_file,
                                             .policies = request.policies,
                                             .working_dir = request.working_dir});
  if (!opened) return refuse_run(request, spec::with_place(request, opened.error()));
  Explainer explainer(request, reporter);
  const Outcome outcome = explained(request, attempt(request, explainer));
  std::string text;
  if (!spec.quiet) text = ending_text(outcome);
  // Whoever asked for a result must not take its absence, or what lies in its place, for one.
  if (reporter.failure()) text += complaint(*reporter.failure());
  if (reporter.unread() && !spec.quiet) text += complaint(*reporter.unread());
  if (outcome.screen_in_line && !text.empty()) text.insert(0, "\n");
  say(text, outcome.screen_stuck ? Patience::None : Patience::Usual);
  const bool is_lost = outcome.lost_output && outcome.code == 0;
  return reporter.failure() || is_lost ? kFailed : outcome.code;
}

int refuse_run(const Request& request, const Error& error) {
  const spec::Spec& spec = request.spec;
  static_cast<void>(hold_signals(spec));
  say(complaint(error));
  const report::Reports places[] = {
      {.status_fd = spec.status_fd, .result_file = {}},
      {.status_fd = -1, .result_file = spec.result_file, .working_dir = request.working_dir},
  };
  // Each by itself: one that is wrong must not keep the other from getting its result.
  for (const report::Reports& place : places) {
    report::Reporter reporter;
    if (reporter.open(place)) reporter.ended(supervise::never_started(spec, error));
  }
  return kFailed;
}

}  // namespace mayfly::cli
