// What a policy comes to: each value that holds, and where it is from.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "policy/store.hpp"
#include "spec/setting.hpp"

namespace mayfly::policy {

struct Value {
  const spec::Setting* setting = nullptr;
  std::string name;  // of a pair: "job" in labels = { job = "42" }; otherwise empty
  std::string text;
  std::string origin;  // "FILE:LINE:COLUMN"; empty: no policy says it, it is so by itself

  // What it is about and says; not where it is from.
  [[nodiscard]] bool says_the_same(const Value& other) const;
};

// In the order of the settings; what belongs to a list is in the list's own order. Paths are
// absolute. `draft`: its read_file is used, and it gets the policy applied.
[[nodiscard]] Result<std::vector<Value>> effective(spec::Draft& draft, const Policy& policy);

// The array of TOML that a value is an item of ("mounts", "syscalls.deny"); empty: it is in none.
[[nodiscard]] std::string array_of(const Value& value);
// As TOML: `ttl = "1h"`, or what stands in the array: `{ ro = "/srv" }`.
[[nodiscard]] std::string toml_of(const Value& value);
// All of them as a policy by itself, with comments that say where each is from. Loaded in place of
// the policy, it comes to the same.
[[nodiscard]] std::string write_toml(const Policy& policy, const std::vector<Value>& values);

}  // namespace mayfly::policy
