#include "cli/verbs.hpp"

namespace mayfly::cli {
namespace {

constexpr Option kJsonOption = {
    .name = "json",
    .group = "Output",
    .help = "print JSON instead of text",
    .man = "Print one JSON object instead of text for people.",
    .apply = [](Request& request, std::string_view) -> Result<void> {
      request.json = true;
      return {};
    },
};

constexpr Option kDryRunOption = {
    .name = "dry-run",
    .letter = 'n',
    .group = "What is done",
    .help = "say what would be removed, and remove nothing",
    .man = "Say what would be removed, and remove nothing.",
    .apply = [](Request& request, std::string_view) -> Result<void> {
      request.dry_run = true;
      return {};
    },
};

constexpr Option kReportOptions[] = {kJsonOption, kHelpOption};
constexpr Option kGcOptions[] = {kDryRunOption, kJsonOption, kHelpOption};
constexpr Option kHelpOptions[] = {kHelpOption};

constexpr const char* kExplained[] = {"run"};
constexpr const char* kPolicyWords[] = {"list", "show", "check", "diff"};

constexpr const Verb* kVerbs[] = {&kRunVerb,      &kExplainVerb, &kPolicyVerb,  &kDoctorVerb,
                                  &kFeaturesVerb, &kGcVerb,      &kVersionVerb, &kHelpVerb};

}  // namespace

constinit const Verb kExplainVerb = {
    .name = "explain",
    .synopsis = "[--json] run [OPTION...] [--] COMMAND [ARGUMENT...]",
    .summary = "show what run would do, and do nothing",
    .words = Words::Command,
    .options = kReportOptions,
    .first = kExplained,
};

constinit const Verb kPolicyVerb = {
    .name = "policy",
    .synopsis = "[--json] list | show NAME | check NAME | diff NAME NAME",
    .summary = "list, show, check and compare policies",
    .words = Words::Free,
    .options = kReportOptions,
    .first = kPolicyWords,
};

constinit const Verb kDoctorVerb = {
    .name = "doctor",
    .synopsis = "[--json]",
    .summary = "try on this host what a sandbox needs, and name remedies",
    .options = kReportOptions,
};

constinit const Verb kFeaturesVerb = {
    .name = "features",
    .synopsis = "[--json]",
    .summary = "list what this host can do",
    .options = kReportOptions,
};

constinit const Verb kGcVerb = {
    .name = "gc",
    .synopsis = "[--dry-run] [--json]",
    .summary = "remove what crashed sandboxes left behind",
    .options = kGcOptions,
};

constinit const Verb kVersionVerb = {
    .name = "version",
    .synopsis = "[--json]",
    .summary = "print the version",
    .options = kReportOptions,
};

constinit const Verb kHelpVerb = {
    .name = "help",
    .synopsis = "[VERB]",
    .summary = "explain the verbs, or the options of one",
    .words = Words::VerbName,
    .options = kHelpOptions,
};

std::span<const Verb* const> verbs() {
  return kVerbs;
}

const Verb* find_verb(std::string_view name) {
  for (const Verb* verb : kVerbs) {
    if (name == verb->name) return verb;
  }
  return nullptr;
}

}  // namespace mayfly::cli
