// mayfly: finds the verb, reads its options, does it.
#include <linux/mman.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/help.hpp"
#include "cli/named_file.hpp"
#include "cli/read_request.hpp"
#include "cli/say.hpp"
#include "cli/verbs.hpp"
#include "supervise/supervisor.hpp"
#include "sys/files.hpp"

namespace {

using namespace mayfly;
using namespace mayfly::cli;

int refuse(const Request&, const Error& error) {
  say(complaint(error));
  return kFailed;
}

struct Command {
  const Verb* verb;
  int (*body)(const Request& request);
  int (*refused)(const Request& request, const Error& error) = refuse;
};

constexpr Command kCommands[] = {
    {&kRunVerb, run, refuse_run}, {&kExplainVerb, explain},
    {&kDoctorVerb, doctor},       {&kPolicyVerb, mayfly::cli::policy},
    {&kFeaturesVerb, features},   {&kGcVerb, gc},
    {&kVersionVerb, version},     {&kHelpVerb, help},
};

Error unknown_verb(std::string_view word) {
  if (word.substr(0, 1) == "-") {
    return usage_error("read the command line: " + shown(word) + " is not a verb",
                       "options follow the verb, as in mayfly run --ttl 5m make");
  }
  std::vector<std::string_view> names;
  for (const Verb* verb : verbs())
    names.emplace_back(verb->name);
  const std::string_view name = nearest(word, names);
  return usage_error("read the command line: unknown verb " + shown(word),
                     name.empty() ? "mayfly run COMMAND runs a command; mayfly --help lists verbs"
                                  : "did you mean " + std::string(name) + "?");
}

// The heap that a run uses: a page that is made here costs a tenth of one that is met later
// (entry_main.cpp). No harm where it fails.
void populate_heap() {
  constexpr std::uintptr_t kUsed = 60 << 10;
  constexpr std::uintptr_t kPage = 4096;
  void* const first = std::malloc(1);  // what follows will lie behind it
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(first) & ~(kPage - 1);
  ::madvise(reinterpret_cast<void*>(begin), kUsed, MADV_POPULATE_WRITE);
  std::free(first);
}

int execute(const Command& command, std::span<char* const> args,
            const supervise::Beginning& beginning) {
  Request request;
  request.beginning = &beginning;
  request.read_file = read_named_file;
  if (Result<std::string> dir = sys::getcwd()) request.working_dir = *std::move(dir);
  const Result<void> parsed = read_request(*command.verb, args, request);
  if (!parsed) return command.refused(request, parsed.error());
  return request.help ? print(verb_help(*command.verb)) : command.body(request);
}

}  // namespace

int main(int argc, char** argv) {
  // First of all: the caller may die while we read what it wants.
  const supervise::Beginning beginning = supervise::begin();
  populate_heap();
  if (!beginning.has_stdout) miss_standard_output();
  // A mask of the owner's own rights would keep us from what we make: folders, cgroups, results.
  ::umask(::umask(0) & 077);
  const std::span<char* const> args(argv, static_cast<std::size_t>(argc));
  if (args.size() < 2) {
    return refuse({}, usage_error("start: no verb was given", "mayfly --help lists the verbs"));
  }
  std::string_view word = args[1];
  if (word == "--help" || word == "-h") return print(overview());
  if (word == "--version") word = kVersionVerb.name;
  for (const Command& command : kCommands) {
    if (word == command.verb->name) return execute(command, args.subspan(1), beginning);
  }
  return refuse({}, unknown_verb(word));
}
