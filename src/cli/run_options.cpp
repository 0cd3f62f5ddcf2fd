// The options of `mayfly run`: the table of settings (spec/setting_table.hpp), and what is no
// setting of a sandbox.
#include <array>

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

constexpr auto kOptions = [] {
  std::array<Option, spec::kSettings.size() + 1> all{};
  auto* end = all.begin();
  for (const spec::Setting& setting : spec::kSettings)
    *end++ = option_of(setting);
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
