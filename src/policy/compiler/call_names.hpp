// CallNames: the numbers of system calls on one architecture.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "spec/document.hpp"

namespace mayfly::policy {

// The number that an integer of a document is, if it is at least 0 and at most `most`.
[[nodiscard]] std::optional<std::uint64_t> number_in(const spec::Node& node, std::uint64_t most);

class CallNames {
 public:
  // `arch`: x86_64 or aarch64. `file`: its [numbers] name what libseccomp does not know.
  [[nodiscard]] static Result<CallNames> make(std::string_view arch, const spec::Document& file);

  [[nodiscard]] std::uint32_t audit_arch() const { return audit_arch_; }

  // nullopt where the architecture lacks the call; an error at the name where nobody knows it.
  [[nodiscard]] Result<std::optional<std::uint32_t>> number(const spec::Document& file,
                                                            const spec::Node& name) const;

  // Every call of the architecture that has a name, by its number.
  [[nodiscard]] std::map<std::uint32_t, std::string> all() const;

 private:
  CallNames() = default;
  [[nodiscard]] Result<void> add(std::string_view arch, const spec::Document& file,
                                 const spec::Member& member);

  std::uint32_t audit_arch_ = 0;
  std::map<std::string, std::optional<std::uint32_t>, std::less<>> added_;
};

}  // namespace mayfly::policy
