// Reads the file of a policy, once it is known that nobody else decides what is in it.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>

#include "base/result.hpp"

namespace mayfly::policy {

struct PolicyFile {
  std::string text;
  std::pair<dev_t, ino_t> identity;
};

// uid: the caller's effective one. Errors: there is no regular file, it is longer than a document
// may be, or it is not to be trusted by the rules of sys::open_trusted().
[[nodiscard]] Result<PolicyFile> read_policy_file(const std::string& path, uid_t uid);

// What is there need not be readable.
[[nodiscard]] bool is_there(const std::string& path);

}  // namespace mayfly::policy
