// Finds policies by name or file, reads them with those that they extend, and applies them.
//
// A policy decides what of the host a command may reach, so whoever can write it decides that for
// the caller. What others can write is refused, above all to root: `sudo` keeps HOME on many
// systems, and a policy in an ordinary user's directory must not rule what root runs.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "policy/policy_file.hpp"
#include "spec/reader.hpp"
#include "spec/setting.hpp"

namespace mayfly::policy {

struct Store {
  std::string working_dir;               // where a relative file name starts; empty: unknown
  std::vector<std::string> directories;  // absolute, searched in this order, before the stock ones
  uid_t uid = 0;                         // whose rights are at stake: the effective id
  // How files are read; a fuzzer has them in memory.
  Result<PolicyFile> (*read_file)(const std::string& path, uid_t uid) = read_policy_file;
  bool (*has_file)(const std::string& path) = is_there;
};

// One policy as it stands in its file.
struct Layer {
  std::string name;       // "strict", or the file's path
  std::string file;       // for messages: a path, or "stock policy strict"
  std::string directory;  // where its relative paths start; empty for stock ones, which have none
  std::string text;
  std::vector<spec::Assignment> values;
};

// The policy that was asked for, last, and before it those that it extends.
struct Policy {
  std::vector<Layer> layers;
};

// Where a document names a policy.
struct Mention {
  std::string file;  // for messages
  spec::Position at;
  const char* key = "extends";
};

// `name` with a slash is a file, otherwise it is looked for as NAME.toml in the store's directories
// and among the stock ones. A policy that extends its own name means the next one of it that the
// search would find. Errors, with file, line and column where there is one: it does not exist, is
// no regular file, too long, others may have written it, it is no policy, its bases go in circles.
// What has no place of its own is told with that of `mention`, if there is one.
[[nodiscard]] Result<Policy> load_policy(const Store& store, std::string_view name,
                                         std::optional<Mention> mention = std::nullopt);

// The policy that was asked for first.
[[nodiscard]] std::vector<spec::PolicySource> sources(const Policy& policy);

// What apply_settings() says, for each layer in turn. The draft then says where its settings are
// from.
[[nodiscard]] Result<void> apply_policy(spec::Draft& draft, const Policy& policy);

// What is wrong with the groups of system calls that a document names.
[[nodiscard]] Result<void> check_groups(const spec::Document& document,
                                        const std::vector<spec::Assignment>& values);

struct Found {
  std::string name;
  std::string file;
  std::string shadows;  // the file or stock policy of the same name that it hides, or empty
};
// All policies that a name leads to, by name.
[[nodiscard]] std::vector<Found> list_policies(const Store& store);

}  // namespace mayfly::policy
