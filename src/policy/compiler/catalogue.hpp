// Catalogue: policies/syscalls.toml, read for one architecture.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "policy/groups.hpp"
#include "policy/stock.hpp"
#include "spec/document.hpp"

namespace mayfly::policy {

struct InitCall {
  std::string name;
  spec::Position at;
  SystemCall call;
};

struct Catalogue {
  std::uint32_t audit_arch = 0;
  std::map<std::uint32_t, std::string> call_names;  // all that have one, by number
  std::vector<Group> groups;                        // in the order of the file
  std::vector<InitCall> init;
};

[[nodiscard]] Result<Catalogue> read_catalogue(const spec::Document& file, std::string_view arch);

}  // namespace mayfly::policy
