#include "supervise/supervisor.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

#include "supervise/caller.hpp"
#include "supervise/run.hpp"
#include "supervise/usage.hpp"

namespace mayfly::supervise {

Outcome unstarted(const spec::Spec& spec) {
  const std::string why = "the sandbox was never started";
  Outcome outcome;
  outcome.name = spec.name;
  outcome.labels = spec.labels;
  outcome.usage = unmeasured_usage(why);
  outcome.proof.populated.why_not = why;
  return outcome;
}

void fail(Outcome& outcome, Error error) {
  outcome.reason =
      error.kind == ErrorKind::HostUnsupported ? Reason::HostUnsupported : Reason::SetupFailed;
  outcome.code = exit_code(outcome.reason, 0);
  outcome.error = std::move(error);
}

Beginning begin() {
  const bool has_stdout = ::fcntl(STDOUT_FILENO, F_GETFD) >= 0;
  // In this order: braces are evaluated from the left.
  return {.stdio = fill_missing_stdio(), .caller = watch_caller(), .has_stdout = has_stdout};
}

Outcome never_started(const spec::Spec& spec, Error error) {
  Outcome outcome = unstarted(spec);
  fail(outcome, std::move(error));
  return outcome;
}

Outcome run(const spec::Spec& spec, const host::HostFacts& facts,
            const std::vector<std::string>& caller_env, const Beginning& beginning,
            Observer& observer) {
  return Run(spec, facts, beginning, observer).go(caller_env);
}

}  // namespace mayfly::supervise
