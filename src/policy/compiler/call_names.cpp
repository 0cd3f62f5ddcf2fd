#include "policy/compiler/call_names.hpp"

#include <linux/audit.h>
#include <seccomp.h>

#include <cstdlib>

#include "base/text.hpp"

namespace mayfly::policy {
namespace {

struct Architecture {
  std::string_view name;
  std::uint32_t audit;
};

constexpr Architecture kArchitectures[] = {
    {"x86_64", AUDIT_ARCH_X86_64},
    {"aarch64", AUDIT_ARCH_AARCH64},
};

const Architecture* find_architecture(std::string_view name) {
  for (const Architecture& known : kArchitectures)
    if (known.name == name) return &known;
  return nullptr;
}

}  // namespace

Result<CallNames> CallNames::make(std::string_view arch, const TomlFile& file) {
  const Architecture* known = find_architecture(arch);
  if (known == nullptr)
    return usage_error("unknown architecture " + shown(arch), "known: x86_64, aarch64");
  CallNames names;
  names.audit_arch_ = known->audit;
  const toml::table& numbers = *TRY(file.table(file.root(), "numbers"));
  for (const auto& [name, value] : numbers)
    TRY(names.add(arch, file, name, value));
  return names;
}

Result<void> CallNames::add(std::string_view arch, const TomlFile& file, const toml::key& name,
                            const toml::node& value) {
  const toml::node* here = &value;
  if (const toml::table* each = value.as_table()) {
    TRY(file.only(*each, {"x86_64", "aarch64"}));
    here = each->get(arch);
  }
  std::optional<std::uint32_t> number;
  if (here != nullptr) {
    const std::optional<std::int64_t> given = here->value_exact<std::int64_t>();
    if (!given || *given < 0 || *given > 0xFFFF)
      return file.error(*here, "the number of a system call must be here, 0 to 65535");
    number = static_cast<std::uint32_t>(*given);
    const int known = seccomp_syscall_resolve_name_arch(audit_arch_, name.str().data());
    if (known >= 0 && static_cast<std::uint32_t>(known) != *number)
      return file.error(*here, shown(name.str()) + " is call " + std::to_string(known) + " on " +
                                   std::string(arch));
  }
  added_.emplace(name.str(), number);
  return {};
}

Result<std::optional<std::uint32_t>> CallNames::number(const TomlFile& file,
                                                       const Word& name) const {
  const auto added = added_.find(name.text);
  if (added != added_.end()) return added->second;
  const int known = seccomp_syscall_resolve_name_arch(audit_arch_, name.text.c_str());
  if (known == __NR_SCMP_ERROR)
    return file.error(name.at, "unknown system call " + shown(name.text) +
                                   "; one that libseccomp does not know needs a line in [numbers]");
  // Other negative numbers stand for calls that only other architectures have.
  if (known < 0) return std::optional<std::uint32_t>();
  return std::optional(static_cast<std::uint32_t>(known));
}

std::map<std::uint32_t, std::string> CallNames::all() const {
  constexpr std::uint32_t kMost = 1024;  // numbers are dense and far from that
  std::map<std::uint32_t, std::string> names;
  for (std::uint32_t number = 0; number < kMost; ++number) {
    char* name = seccomp_syscall_resolve_num_arch(audit_arch_, static_cast<int>(number));
    if (name != nullptr) names.emplace(number, name);
    std::free(name);
  }
  for (const auto& [name, number] : added_)
    if (number) names.emplace(*number, name);
  return names;
}

}  // namespace mayfly::policy
