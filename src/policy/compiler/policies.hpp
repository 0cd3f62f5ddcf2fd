// The stock policies as read: their settings, and the filters of all their variants.
#pragma once

#include <linux/filter.h>

#include <array>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "policy/compiler/catalogue.hpp"
#include "policy/stock.hpp"
#include "spec/reader.hpp"
#include "spec/spec.hpp"

namespace mayfly::policy {

// A file, whole.
[[nodiscard]] Result<std::string> read_text(const std::string& path);

struct StockFile {
  std::string name;     // of the file, without .toml
  std::string text;     // its content
  std::string extends;  // empty: nothing
  std::vector<spec::Assignment> values;
  std::vector<spec::SyscallRule> rules;  // of the base: all groups; else what is added to it
  std::array<std::vector<sock_filter>, kVariants> filters;
};

// In the order of `paths`; the first is the base.
[[nodiscard]] Result<std::vector<StockFile>> read_policies(const std::vector<std::string>& paths,
                                                           const spec::Document& syscalls,
                                                           const Catalogue& catalogue);

}  // namespace mayfly::policy
