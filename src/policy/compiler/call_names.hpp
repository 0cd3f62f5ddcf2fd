// CallNames: the numbers of system calls on one architecture.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "policy/compiler/toml_file.hpp"

namespace mayfly::policy {

class CallNames {
 public:
  // `arch`: x86_64 or aarch64. `file`: its [numbers] name what libseccomp does not know.
  [[nodiscard]] static Result<CallNames> make(std::string_view arch, const TomlFile& file);

  [[nodiscard]] std::uint32_t audit_arch() const { return audit_arch_; }

  // nullopt where the architecture lacks the call; an error at the word where nobody knows it.
  [[nodiscard]] Result<std::optional<std::uint32_t>> number(const TomlFile& file,
                                                            const Word& name) const;

  // Every call of the architecture that has a name, by its number.
  [[nodiscard]] std::map<std::uint32_t, std::string> all() const;

 private:
  CallNames() = default;
  [[nodiscard]] Result<void> add(std::string_view arch, const TomlFile& file, const toml::key& name,
                                 const toml::node& value);

  std::uint32_t audit_arch_ = 0;
  std::map<std::string, std::optional<std::uint32_t>, std::less<>> added_;
};

}  // namespace mayfly::policy
