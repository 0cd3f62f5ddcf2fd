// Setting: one thing that can be chosen about a sandbox, as a row of the one table of settings.
//
// From that table (setting_table.hpp) come the options of `mayfly run` with their help, manual and
// completion, and the keys of policies and spec documents. A value is written alike in all of them
// and read by the same function. The rows are constants in read-only memory.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "spec/spec.hpp"

namespace mayfly::spec {

// A policy that settings came from.
struct PolicySource {
  std::string name;  // "strict"
  std::string file;  // absolute; empty: a stock policy
  bool operator==(const PolicySource&) const = default;
};

struct Setting;

// Where a setting was said that has been applied.
struct Origin {
  const Setting* setting = nullptr;
  std::string place;      // FILE:LINE:COLUMN; empty: on the command line
  std::string name = {};  // of a pair
};

// A spec that is being put together, with what its next values need to be understood.
struct Draft {
  std::string working_dir;  // where relative paths start; empty: unknown
  Spec spec;
  // What it is made from, for reports: the policy that was asked for, then what that extends, and
  // so on; empty: the stock policy `default`.
  std::vector<PolicySource> policies;
  // Of each value that was applied, in order, since the first that a document said: before that,
  // and where no document is read, nothing is kept.
  std::vector<Origin> origins;
  // Reads a file that a value names, whole. The spec itself opens nothing.
  Result<std::string> (*read_file)(const std::string& path) = nullptr;
};

enum class Isolation { Kept, Weakened };

// Where a setting may stand. What belongs to one run (its descriptors, its name) is in no policy.
enum class Where { Anywhere, NotInPolicy, SpecOnly };

// How a value stands in a document.
enum class Form {
  Text,     // "022"
  Number,   // 64, or text where there is a unit: "1h"
  Switch,   // true, false
  Item,     // in a list whose order counts, a table of one: mounts = [ { ro = "/srv" } ]
  Strings,  // ["make", "test"], a value each
  Pairs,    // { job = "42" }, where the value is job=42
};

struct Setting {
  const char* name = nullptr;      // the long option without its dashes, and the key of documents
  char letter = 0;                 // short option, 0: none
  const char* argument = nullptr;  // what help calls the value; null: there is none, it is a switch
  const char* group = nullptr;     // heading in help and man; rows of a group are neighbours
  const char* help = nullptr;      // one line, no full stop
  const char* man = nullptr;       // paragraphs split by empty lines; `literal` in backquotes
  Isolation isolation = Isolation::Kept;
  Where where = Where::Anywhere;
  Form form = Form::Text;
  const char* key = nullptr;   // in documents, where it is not the name
  const char* item = nullptr;  // Item, Strings: the key below `key`, where it is not the name
  // What a schema says of it; the reading does not look at these. Text: what matches; Pairs: which
  // names do, how many there may be, and how many characters a value may have. 0: not said.
  const char* pattern = nullptr;
  unsigned most = 0, most_characters = 0;
  // Sets a field of the draft's spec and decides nothing else. A switch is set by "" as by "true".
  Result<void> (*apply)(Draft& draft, std::string_view value) = nullptr;
  // The value that apply() would set it to; nullopt: it is not set, and need not be. Null where
  // lists.hpp has what writes the list that it belongs to.
  std::optional<std::string> (*text)(const Spec& spec) = nullptr;

  [[nodiscard]] constexpr const char* document_key() const { return key != nullptr ? key : name; }
  [[nodiscard]] constexpr const char* item_key() const { return item != nullptr ? item : name; }
};

// "job" of job=42 where the setting's values are pairs; otherwise empty.
[[nodiscard]] std::string_view pair_name(const Setting& setting, std::string_view value);

// Where the value that counts of such a setting was said, or, where they are a list of which each
// makes one item, the item's, or the pair's of that name. Empty: on the command line, or nowhere.
[[nodiscard]] std::string origin_of(const std::vector<Origin>& origins, std::string_view key);
[[nodiscard]] std::string origin_of(const std::vector<Origin>& origins, std::string_view key,
                                    std::size_t item);
[[nodiscard]] std::string origin_of(const std::vector<Origin>& origins, std::string_view key,
                                    std::string_view name);

// Names the place of the setting that the error is about, if a document said it; of an entry that
// the command line has, the option and its argument.
[[nodiscard]] Error with_place(const Draft& draft, Error error);

}  // namespace mayfly::spec
