// The options of `mayfly run`: the table of settings (spec/setting_table.hpp), and what is no
// setting of a sandbox.
#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <string>

#include "cli/verbs.hpp"
#include "spec/setting_table.hpp"

namespace mayfly::cli {
namespace {

constexpr Option option_of(const spec::Setting& setting) {
  return {.name = setting.name,
          .letter = setting.letter,
          .argument = setting.argument,
          .group = setting.group,
          .help = setting.help,
          .man = setting.man,
          .isolation = setting.isolation,
          .setting = &setting};
}

constexpr const char* kDocuments = "Policy and spec";

constexpr Option kOwnOptions[] = {
    {.name = "policy",
     .letter = 'p',
     .argument = "NAME|FILE",
     .group = kDocuments,
     .help = "start from this policy (default)",
     .man = "Start from a policy instead of the stock one: a name that `mayfly policy list` shows, "
            "or a file, which is written with a `/`. The other options win. See mayfly-policy(5).",
     .apply = [](Request& request, std::string_view value) -> Result<void> {
       if (value.empty()) return usage_error("use a policy: its name is empty");
       request.policy = value;
       return {};
     }},
    {.name = "spec",
     .argument = "FILE|-",
     .group = kDocuments,
     .help = "read settings and command from a document",
     .man =
         "Read the settings, and the command if none is given here, from a JSON or TOML file, or "
         "from standard input. Its keys are the names of these options; options given here win. "
         "Relative paths in it start at its own directory. A pipe, as of a process substitution, "
         "and "
         "standard input have to end within 30 seconds; another terminal than standard input, or a "
         "FIFO that has a name, is refused. See mayfly-protocol(7).",
     .apply = [](Request& request, std::string_view value) -> Result<void> {
       if (value.empty()) return usage_error("read a spec: its name is empty");
       request.spec_file = value;
       return {};
     }},
    {.name = "print-spec",
     .group = kDocuments,
     .help = "print the whole request as JSON, run nothing",
     .man = "Print the request as `--spec` reads it, with every setting that has a value, and run "
            "nothing. What is not there, like `pids`, has its default.",
     .apply = [](Request& request, std::string_view) -> Result<void> {
       request.print_spec = true;
       return {};
     }},
};

constexpr bool is_option(const spec::Setting& setting) {
  return setting.where != spec::Where::SpecOnly;
}
constexpr auto kCount = static_cast<std::size_t>(
    std::count_if(spec::kSettings.begin(), spec::kSettings.end(), is_option));

constexpr auto kOptions = [] {
  std::array<Option, kCount + std::size(kOwnOptions) + 1> all{};
  auto* end = std::copy(std::begin(kOwnOptions), std::end(kOwnOptions), all.begin());
  for (const spec::Setting& setting : spec::kSettings) {
    if (is_option(setting)) *end++ = option_of(setting);
  }
  *end = kHelpOption;
  return all;
}();

}  // namespace

constinit const Verb kRunVerb = {
    .name = "run",
    .synopsis = "[OPTION...] [--] COMMAND [ARGUMENT...]",
    .summary = "run one command in a sandbox that is gone when it ends",
    .words = Words::Command,
    .options = kOptions,
};

}  // namespace mayfly::cli
