// Setting: one thing that can be chosen about a sandbox, as a row of the one table of settings.
//
// From that table (setting_table.hpp) come the options of `mayfly run` with their help, manual and
// completion, and the keys of policies and spec documents. A value is written alike in all of them
// and read by the same function. The rows are constants in read-only memory.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "spec/spec.hpp"

namespace mayfly::spec {

// A spec that is being put together, with what its next values need to be understood.
struct Draft {
  std::string working_dir;  // where relative paths start; empty: unknown
  Spec spec;
  // Reads a file that a value names, whole. The spec itself opens nothing.
  Result<std::string> (*read_file)(const std::string& path) = nullptr;
};

enum class Isolation { Kept, Weakened };

// Where a setting may stand. What belongs to one run (its descriptors, its name) is in no policy.
enum class Where { Anywhere, NotInPolicy };

struct Setting {
  const char* name = nullptr;      // the long option without its dashes, and the key of documents
  char letter = 0;                 // short option, 0: none
  const char* argument = nullptr;  // what help calls the value; null: there is none, it is a switch
  const char* group = nullptr;     // heading in help and man; rows of a group are neighbours
  const char* help = nullptr;      // one line, no full stop
  const char* man = nullptr;       // paragraphs split by empty lines; `literal` in backquotes
  Isolation isolation = Isolation::Kept;
  Where where = Where::Anywhere;
  // Sets a field of the draft's spec and decides nothing else.
  Result<void> (*apply)(Draft& draft, std::string_view value) = nullptr;
};

}  // namespace mayfly::spec
