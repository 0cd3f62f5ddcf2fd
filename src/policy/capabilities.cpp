#include "policy/capabilities.hpp"

#include <cstddef>
#include <iterator>

namespace mayfly::policy {
namespace {

constexpr std::string_view kPrefix = "CAP_";

// By number, as <linux/capability.h> has them up to 6.18.
constexpr std::string_view kNames[] = {
    "CHOWN",
    "DAC_OVERRIDE",
    "DAC_READ_SEARCH",
    "FOWNER",
    "FSETID",
    "KILL",
    "SETGID",
    "SETUID",
    "SETPCAP",
    "LINUX_IMMUTABLE",
    "NET_BIND_SERVICE",
    "NET_BROADCAST",
    "NET_ADMIN",
    "NET_RAW",
    "IPC_LOCK",
    "IPC_OWNER",
    "SYS_MODULE",
    "SYS_RAWIO",
    "SYS_CHROOT",
    "SYS_PTRACE",
    "SYS_PACCT",
    "SYS_ADMIN",
    "SYS_BOOT",
    "SYS_NICE",
    "SYS_RESOURCE",
    "SYS_TIME",
    "SYS_TTY_CONFIG",
    "MKNOD",
    "LEASE",
    "AUDIT_WRITE",
    "AUDIT_CONTROL",
    "SETFCAP",
    "MAC_OVERRIDE",
    "MAC_ADMIN",
    "SYSLOG",
    "WAKE_ALARM",
    "BLOCK_SUSPEND",
    "AUDIT_READ",
    "PERFMON",
    "BPF",
    "CHECKPOINT_RESTORE",
};

}  // namespace

std::string capability_name(unsigned number) {
  return std::string(kPrefix) +
         (number < std::size(kNames) ? std::string(kNames[number]) : std::to_string(number));
}

bool has_capability(std::uint64_t mask, std::string_view name) {
  if (name.substr(0, kPrefix.size()) != kPrefix) return false;
  for (std::size_t number = 0; number < std::size(kNames); ++number) {
    if (name.substr(kPrefix.size()) == kNames[number]) return (mask >> number & 1) != 0;
  }
  return false;
}

}  // namespace mayfly::policy
