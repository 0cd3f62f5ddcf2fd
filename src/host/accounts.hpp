// passwd, group and subordinate id files, parsed by us: the hot path is a static program, where
// getpwnam would load the shared C library and ask the network. Users that only NSS knows (LDAP,
// systemd-homed) are therefore known by number only.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "host/facts.hpp"

namespace mayfly::host {

// A user or group id in decimal. Refused: signs, blanks, 2^32-1 (the kernel's "no id").
[[nodiscard]] std::optional<std::uint32_t> parse_id(std::string_view text);

// Well-formed lines in their order. Skipped: comments, lines with a wrong number of fields, an
// empty name, a NUL or an id that is none (so NIS's "+::::::" too).
[[nodiscard]] std::vector<PasswdEntry> parse_passwd(std::string_view text);
[[nodiscard]] std::vector<GroupEntry> parse_group(std::string_view text);

// /etc/subuid or /etc/subgid, lines of "name:first:count".
[[nodiscard]] std::vector<SubordinateRange> parse_subordinate(std::string_view text);

// The first entry with that id or name, or null.
[[nodiscard]] const PasswdEntry* find_user(const std::vector<PasswdEntry>& passwd, uid_t uid);
[[nodiscard]] const PasswdEntry* find_user(const std::vector<PasswdEntry>& passwd,
                                           std::string_view name);
[[nodiscard]] const GroupEntry* find_group(const std::vector<GroupEntry>& group, gid_t gid);
[[nodiscard]] const GroupEntry* find_group(const std::vector<GroupEntry>& group,
                                           std::string_view name);

}  // namespace mayfly::host
