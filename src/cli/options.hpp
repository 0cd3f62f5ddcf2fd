// Options: one table per verb, from which come parsing, --help, the man page and completion.
//
// The tables are constants in read-only memory: a start of `mayfly run` touches few pages. A
// handler sets a field of the Request and decides nothing else.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "spec/setting.hpp"
#include "supervise/supervisor.hpp"

namespace mayfly::cli {

using spec::Isolation;

// What a command line asks for. Relative paths start at the caller's working directory.
struct Request : spec::Draft {
  std::string policy;     // of --policy; empty: the stock one
  std::string spec_file;  // of --spec; empty: none
  bool print_spec = false;
  bool help = false;
  bool json = false;
  bool dry_run = false;
  const supervise::Beginning* beginning = nullptr;  // of this process; for verbs that run a sandbox
};

struct Option {
  const char* name = nullptr;      // long, without the dashes
  char letter = 0;                 // short name, 0: none
  const char* argument = nullptr;  // what help calls it, null: takes none
  const char* group = nullptr;     // heading in help and man; rows of a group are neighbours
  const char* help = nullptr;      // one line, no full stop
  const char* man = nullptr;       // paragraphs split by empty lines; `literal` in backquotes
  Isolation isolation = Isolation::Kept;
  const spec::Setting* setting = nullptr;  // what it sets, or:
  Result<void> (*apply)(Request& request, std::string_view value) = nullptr;
};

// Free: options may stand among them.
enum class Words { None, Command, VerbName, Free };

struct Verb {
  const char* name = nullptr;
  const char* synopsis = nullptr;  // what follows the name
  const char* summary = nullptr;   // one line for the overview, no full stop
  Words words = Words::None;       // what may follow the options; it becomes spec.argv
  std::span<const Option> options;
  std::span<const char* const> first = {};  // the first word is one of these
};

// The row that every verb's table begins or ends with.
inline constexpr Option kHelpOption = {
    .name = "help",
    .letter = 'h',
    .group = "Help",
    .help = "show this help and exit",
    .man = "Print a summary of the options on standard output and exit.",
    .apply = [](Request& request, std::string_view) -> Result<void> {
      request.help = true;
      return {};
    },
};

[[nodiscard]] const Option* find_option(std::span<const Option> options, std::string_view name);

// Choices: the settings of the sandbox are passed over.
enum class Take { All, Choices };

// Reads the arguments after the verb (args[0] is the verb) into `request`. Options end at the first
// word that is not one, or at "--". Long names are never abbreviated. A value that cannot be read
// does not stop the reading, so that the request still says where a result is to be written; the
// first error is returned. Not thread-safe: getopt_long keeps its state in globals.
[[nodiscard]] Result<void> parse(const Verb& verb, std::span<char* const> args, Request& request,
                                 Take take = Take::All);

}  // namespace mayfly::cli
