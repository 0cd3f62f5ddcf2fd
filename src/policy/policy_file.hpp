// Reads the file of a policy, once it is known that nobody else decides what is in it.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>

#include "base/result.hpp"

namespace mayfly::policy {

// AsNamed: the caller gave the path, and so trusts its owner. Found: a search came upon it, in a
// directory that the environment may name.
enum class Trust { AsNamed, Found };

struct PolicyFile {
  std::string text;
  std::pair<dev_t, ino_t> identity;
};

// uid: the caller's effective one. Errors: there is no regular file, it is longer than a document
// may be, or others can write it or replace it in its directory.
[[nodiscard]] Result<PolicyFile> read_policy_file(const std::string& path, uid_t uid, Trust trust);

// What is there need not be readable.
[[nodiscard]] bool is_there(const std::string& path);

}  // namespace mayfly::policy
