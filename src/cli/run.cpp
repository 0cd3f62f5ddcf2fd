// `mayfly run`: facts → supervisor → exit code.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/ending.hpp"
#include "cli/say.hpp"
#include "host/facts.hpp"
#include "report/status.hpp"
#include "supervise/supervisor.hpp"

namespace mayfly::cli {
namespace {

std::vector<std::string> environment() {
  std::vector<std::string> variables;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    variables.emplace_back(*variable);
  }
  return variables;
}

bool is_program(const std::string& path) {
  struct stat status = {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

// What the entries point to on the host, and the content of files that are copied inside.
Result<void> look_at_sources(spec::Spec& spec, host::HostFacts& facts) {
  for (spec::FsEntry& entry : spec.fs) {
    if (entry.source.empty()) continue;
    if (entry.kind == spec::FsKind::File) {
      entry.data = TRY(host::read_source(entry.source, spec.layer_bytes));
      entry.source.clear();
      continue;
    }
    facts.sources.push_back(TRY(host::inspect_source(entry.source)));
  }
  return {};
}

Result<host::HostFacts> facts_for(spec::Spec& spec) {
  TRY(spec::validate(spec));
  host::HostFacts facts = TRY(host::gather(
      spec.unsafe.unsafe_host_ids ? host::EtcCheck::ForHostIds : host::EtcCheck::ForCaller));
  TRY(look_at_sources(spec, facts));
  return facts;
}

supervise::Outcome refusal(const spec::Spec& spec, const Error& error) {
  supervise::Outcome outcome;
  outcome.reason = error.kind == ErrorKind::HostUnsupported ? supervise::Reason::HostUnsupported
                                                            : supervise::Reason::SetupFailed;
  outcome.code = supervise::exit_code(outcome.reason, 0);
  outcome.error = error;
  outcome.name = spec.name;
  outcome.labels = spec.labels;
  return outcome;
}

// A search path and a working directory are looked up only where a hint needs them.
int finish(const spec::Spec& spec, const std::string& working_dir,
           const supervise::Outcome& outcome, const report::Reporter& reporter) {
  if (!spec.quiet) {
    const char* path = std::getenv("PATH");
    say(ending_text(spec, outcome,
                    {.search_path = path != nullptr ? path : "",
                     .working_dir = working_dir,
                     .is_program = is_program}));
  }
  if (reporter.failure()) {
    say(complaint(*reporter.failure()));
    return outcome.code == 0 ? kFailed : outcome.code;
  }
  return outcome.code;
}

}  // namespace

int run(const Request& request) {
  spec::Spec spec = request.spec;
  report::Reporter reporter;
  const Result<void> opened =
      reporter.open({.status_fd = spec.status_fd, .result_file = spec.result_file});
  if (!opened) {
    say(complaint(opened.error()));
    return kFailed;
  }
  Result<host::HostFacts> facts = facts_for(spec);
  if (!facts) {
    const supervise::Outcome outcome = refusal(spec, facts.error());
    reporter.ended(outcome);
    return finish(spec, request.working_dir, outcome, reporter);
  }
  const supervise::Outcome outcome = supervise::run(spec, *facts, environment(), reporter);
  return finish(spec, request.working_dir, outcome, reporter);
}

int refuse_run(const Request& request, const Error& error) {
  // Errors of the command line are printed, --quiet or not: nobody else can explain them.
  say(complaint(error));
  report::Reporter reporter;
  const report::Reports wanted = {.status_fd = request.spec.status_fd,
                                  .result_file = request.spec.result_file};
  if (!reporter.open(wanted)) return kFailed;
  reporter.ended(refusal(request.spec, error));
  return kFailed;
}

}  // namespace mayfly::cli
