// `mayfly run`: one sandbox, from the request to the words at its end.
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <utility>

#include "base/text.hpp"
#include "cli/caller.hpp"
#include "cli/commands.hpp"
#include "cli/ending.hpp"
#include "cli/say.hpp"
#include "host/facts.hpp"
#include "host/sources.hpp"
#include "report/status.hpp"
#include "supervise/supervisor.hpp"

namespace mayfly::cli {
namespace {

using supervise::Outcome;
using supervise::Reason;

// The outcome of a request that never got as far as the supervisor.
Outcome never_started(const spec::Spec& spec, Error error) {
  Outcome outcome;
  outcome.reason =
      error.kind == ErrorKind::HostUnsupported ? Reason::HostUnsupported : Reason::SetupFailed;
  outcome.code = supervise::exit_code(outcome.reason, 0);
  outcome.error = std::move(error);
  outcome.name = spec.name;
  outcome.labels = spec.labels;
  supervise::Usage& usage = outcome.usage;
  for (supervise::Measured* none :
       {&usage.wall_ns, &usage.user_ns, &usage.system_ns, &usage.peak_memory_bytes,
        &usage.max_rss_bytes, &usage.peak_pids, &usage.layer_bytes, &usage.layer_inodes,
        &outcome.proof.populated}) {
    none->why_not = "the sandbox was never made";
  }
  return outcome;
}

// What the entries point to on the host, and the content of files that are copied inside: a plan
// opens nothing.
Result<void> look_at_sources(spec::Spec& spec, host::HostFacts& facts) {
  if (spec.root == spec::RootKind::Directory) {
    const host::SourceFact root = TRY(host::inspect_source(spec.root_dir));
    if (root.kind != host::SourceFact::Kind::Directory) {
      return Error{.kind = ErrorKind::Usage,
                   .sys_errno = ENOTDIR,
                   .action = "use " + shown(spec.root_dir) + " as root",
                   .call = {},
                   .hint = "--root takes a directory: unpack an image or archive first"};
    }
  }
  for (spec::FsEntry& entry : spec.fs) {
    if (entry.source.empty()) continue;
    if (entry.kind == spec::FsKind::File) {
      entry.data = TRY(host::read_source(entry.source, spec.layer_bytes));
      entry.source.clear();
    } else {
      const host::SourceFact source = TRY(host::inspect_source(entry.source));
      if (entry.kind == spec::FsKind::Device && source.kind != host::SourceFact::Kind::Device) {
        return usage_error("show " + shown(entry.source) + " as a device: it is none",
                           "--ro and --rw show files and directories");
      }
      facts.sources.push_back(source);
    }
  }
  return {};
}

Result<host::HostFacts> gather_facts(spec::Spec& spec) {
  TRY(spec::validate(spec));
  host::HostFacts facts = TRY(host::gather(
      spec.unsafe.unsafe_host_ids ? host::EtcCheck::ForHostIds : host::EtcCheck::ForCaller));
  TRY(look_at_sources(spec, facts));
  return facts;
}

Outcome attempt(spec::Spec spec, report::Reporter& reporter) {
  Result<host::HostFacts> facts = gather_facts(spec);
  if (facts) return supervise::run(spec, *facts, caller_environment(), reporter);
  Outcome outcome = never_started(spec, std::move(facts).error());
  reporter.ended(outcome);
  return outcome;
}

bool is_program(const std::string& path) {
  struct stat status = {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

HostView host_view(const Request& request) {
  const char* path = std::getenv("PATH");
  return {.search_path = path != nullptr ? path : "",
          .working_dir = request.working_dir,
          .is_program = is_program};
}

}  // namespace

int run(const Request& request) {
  const spec::Spec& spec = request.spec;
  report::Reporter reporter;
  const Result<void> opened =
      reporter.open({.status_fd = spec.status_fd, .result_file = spec.result_file});
  if (!opened) return refuse_run(request, opened.error());
  const Outcome outcome = attempt(spec, reporter);
  std::string text;
  if (!spec.quiet) text = ending_text(spec, outcome, host_view(request));
  // Whoever asked for a result must not take its absence for success.
  if (reporter.failure()) text += complaint(*reporter.failure());
  say(text);
  return reporter.failure() && outcome.code == 0 ? kFailed : outcome.code;
}

int refuse_run(const Request& request, const Error& error) {
  const spec::Spec& spec = request.spec;
  say(complaint(error));
  const report::Reports places[] = {
      {.status_fd = spec.status_fd, .result_file = {}},
      {.status_fd = -1, .result_file = spec.result_file},
  };
  // Each by itself: one that is wrong must not keep the other from getting its result.
  for (const report::Reports& place : places) {
    report::Reporter reporter;
    if (reporter.open(place)) reporter.ended(never_started(spec, error));
  }
  return kFailed;
}

}  // namespace mayfly::cli
