#include "policy/compiler/call_names.hpp"

#include <linux/audit.h>
#include <seccomp.h>

#include <charconv>
#include <cstdlib>

#include "base/text.hpp"

namespace mayfly::policy {
namespace {

using spec::Document;
using spec::Node;

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

std::optional<std::uint64_t> number_in(const Node& node, std::uint64_t most) {
  std::uint64_t number = 0;
  const char* end = node.text.data() + node.text.size();
  const auto read = std::from_chars(node.text.data(), end, number);
  const bool is_number = node.kind == Node::Kind::Integer && read.ec == std::errc() &&
                         read.ptr == end && number <= most;
  return is_number ? std::optional(number) : std::nullopt;
}

Result<CallNames> CallNames::make(std::string_view arch, const Document& file) {
  const Architecture* known = find_architecture(arch);
  if (known == nullptr)
    return usage_error("unknown architecture " + shown(arch), "known: x86_64, aarch64");
  CallNames names;
  names.audit_arch_ = known->audit;
  const Node& numbers = *TRY(file.get(file.root, "numbers", Node::Kind::Table));
  for (const spec::Member& member : numbers.members)
    TRY(names.add(arch, file, member));
  return names;
}

Result<void> CallNames::add(std::string_view arch, const Document& file,
                            const spec::Member& member) {
  const Node* here = &member.value;
  if (here->kind == Node::Kind::Table) {
    TRY(file.only(*here, {"x86_64", "aarch64"}));
    here = here->find(arch);
  }
  std::optional<std::uint32_t> number;
  if (here != nullptr) {
    const std::optional<std::uint64_t> given = number_in(*here, 0xFFFF);
    if (!given) return file.error(here->at, "the number of a system call must be here, 0 to 65535");
    number = static_cast<std::uint32_t>(*given);
    const int known = seccomp_syscall_resolve_name_arch(audit_arch_, member.key.c_str());
    if (known >= 0 && static_cast<std::uint32_t>(known) != *number)
      return file.error(here->at, shown(member.key) + " is call " + std::to_string(known) + " on " +
                                      std::string(arch));
  }
  added_.emplace(member.key, number);
  return {};
}

Result<std::optional<std::uint32_t>> CallNames::number(const Document& file,
                                                       const Node& name) const {
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
