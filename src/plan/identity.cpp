#include "plan/identity.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "base/text.hpp"
#include "host/accounts.hpp"

namespace mayfly::plan {
namespace {

constexpr std::string_view kStranger = "user";  // a task whose uid has no name

// The host's entry for a system account that the sandbox's passwd shows too.
template <class Entry>
const Entry* if_shown(const Entry* entry, std::uint32_t id) {
  return entry != nullptr && id < kFirstPerson ? entry : nullptr;
}

void name_task(Ids& ids, const host::PasswdEntry* entry, spec::RootKind root) {
  const bool named = entry != nullptr && is_account_name(entry->name);
  ids.user = named ? entry->name
                   : std::string(ids.task_uid == 0         ? "root"
                                 : ids.task_uid == kNobody ? "nobody"
                                                           : kStranger);
  ids.home = ids.task_uid == 0 ? "/root" : "/home/" + ids.user;
  // Only the host's root is known to hold the shell that the host's passwd names.
  const bool bash = root == spec::RootKind::Host && entry != nullptr &&
                    (entry->shell == "/bin/bash" || entry->shell == "/usr/bin/bash");
  ids.shell = bash ? "/bin/bash" : "/bin/sh";
}

Error no_such(std::string_view what, std::string_view name) {
  return usage_error("run as " + std::string(what) + " " + shown(name) +
                         ": the sandbox has no such " + std::string(what),
                     "it knows root, nobody and the host's system accounts (ids below 1000); any "
                     "other can be given as a number from 0 to 65535");
}

Result<std::uint32_t> checked_id(std::string_view what, std::uint32_t id) {
  const std::string action = "run as " + std::string(what) + " " + std::to_string(id);
  if (id >= kRangeSize) {
    return usage_error(action + ": a sandbox has the ids 0 to 65535",
                       "name root, nobody or a system account, or choose a smaller number");
  }
  if (id == kInitId) {
    return usage_error(action + ": that id belongs to the sandbox's init",
                       "choose any other from 0 to 65535");
  }
  return id;
}

// A name or number as an id of the mapped range. The accounts of a root directory of the user's own
// are unknown here: only root and nobody are the same everywhere.
Result<std::uint32_t> user_id(std::string_view text, const spec::Spec& spec,
                              const host::HostFacts& facts) {
  if (const auto number = host::parse_id(text)) return checked_id("uid", *number);
  if (text == "root") return 0u;
  if (spec.root == spec::RootKind::Host) {
    const host::PasswdEntry* entry = host::find_user(facts.passwd, text);
    if (entry != nullptr && entry->uid < kFirstPerson) return entry->uid;
  }
  if (text == "nobody") return kNobody;
  return no_such("user", text);
}

Result<std::uint32_t> group_id(std::string_view text, const spec::Spec& spec,
                               const host::HostFacts& facts) {
  if (const auto number = host::parse_id(text)) return checked_id("gid", *number);
  if (text == "root") return 0u;
  if (spec.root == spec::RootKind::Host) {
    const host::GroupEntry* entry = host::find_group(facts.group, text);
    if (entry != nullptr && entry->gid < kFirstPerson) return entry->gid;
  }
  if (text == "nogroup") return kNobody;
  return no_such("group", text);
}

struct UserAndGroup {
  std::string_view user;
  std::optional<std::string_view> group;
};

Result<UserAndGroup> parse_user(std::string_view text) {
  const std::size_t colon = text.find(':');
  UserAndGroup parsed = {.user = text.substr(0, colon), .group = std::nullopt};
  if (colon != std::string_view::npos) parsed.group = text.substr(colon + 1);
  const bool empty_group = parsed.group && parsed.group->empty();
  if (parsed.user.empty() || empty_group) {
    return usage_error("understand the user " + shown(text),
                       "write USER or USER:GROUP, each a name or a number: nobody, 1000:1000");
  }
  return parsed;
}

Result<Ids> throwaway_range(const spec::Spec& spec, const host::HostFacts& facts) {
  const IdRange range = {.inside = 0, .outside = kThrowawayBase, .count = kRangeSize};
  Ids ids;
  ids.range = true;
  ids.uids = {range};
  ids.gids = {range};
  ids.taken = taken_ids(facts);
  ids.deny_setgroups = false;
  ids.init_uid = ids.init_gid = kInitId;
  const host::PasswdEntry* entry = host::find_user(facts.passwd, 0);
  if (!spec.user.empty()) {
    const UserAndGroup wanted = TRY(parse_user(spec.user));
    ids.task_uid = TRY(user_id(wanted.user, spec, facts));
    entry = if_shown(host::find_user(facts.passwd, ids.task_uid), ids.task_uid);
    // Also the host's number for a system account's group is checked: it may be out of range.
    ids.task_gid = wanted.group
                       ? TRY(group_id(*wanted.group, spec, facts))
                       : TRY(checked_id("gid", entry != nullptr ? entry->gid : ids.task_uid));
  }
  name_task(ids, entry, spec.root);
  return ids;
}

// The caller's own name or number, and its own group: nothing else is mapped.
Result<void> check_own_user(std::string_view text, const host::HostFacts& facts) {
  const UserAndGroup wanted = TRY(parse_user(text));
  const host::PasswdEntry* user = host::find_user(facts.passwd, wanted.user);
  const auto uid = host::parse_id(wanted.user);
  const bool own_user = uid ? *uid == facts.uid : user != nullptr && user->uid == facts.uid;
  bool own_group = true;
  if (wanted.group) {
    const host::GroupEntry* group = host::find_group(facts.group, *wanted.group);
    const auto gid = host::parse_id(*wanted.group);
    own_group = gid ? *gid == facts.gid : group != nullptr && group->gid == facts.gid;
  }
  if (own_user && own_group) return {};
  return usage_error(
      "run as user " + shown(text) + ": only the caller's own id, " + std::to_string(facts.uid) +
          ":" + std::to_string(facts.gid) + ", is mapped in this sandbox",
      facts.owns_all_ids ? "leave out --unsafe-ids=host to choose a user"
                         : "leave out --user, or run mayfly as root to choose a user");
}

Result<Ids> single_id(const spec::Spec& spec, const host::HostFacts& facts) {
  if (!spec.user.empty()) TRY(check_own_user(spec.user, facts));
  Ids ids;
  ids.uids = {{.inside = facts.uid, .outside = facts.uid, .count = 1}};
  ids.gids = {{.inside = facts.gid, .outside = facts.gid, .count = 1}};
  // Only who has CAP_SETGID outside may leave setgroups allowed, and so drop the groups inside.
  ids.deny_setgroups = !facts.owns_all_ids;
  ids.task_uid = ids.init_uid = facts.uid;
  ids.task_gid = ids.init_gid = facts.gid;
  name_task(ids, host::find_user(facts.passwd, facts.uid), spec.root);
  return ids;
}

}  // namespace

Result<Ids> choose_ids(const spec::Spec& spec, const host::HostFacts& facts) {
  const bool range = facts.owns_all_ids && !spec.unsafe.unsafe_host_ids;
  return range ? throwaway_range(spec, facts) : single_id(spec, facts);
}

std::vector<IdRange> taken_ids(const host::HostFacts& facts) {
  constexpr std::uint32_t kFirst = kFirstRange * kRangeSize;
  std::vector<IdRange> taken;
  const auto take = [&](std::uint32_t first, std::uint64_t count) {
    const std::uint64_t most = std::uint64_t{UINT32_MAX} - first;
    count = std::min(count, most);
    if (first + count > kFirst) {
      taken.push_back({.inside = 0, .outside = first, .count = static_cast<std::uint32_t>(count)});
    }
  };
  for (const host::SubordinateRange& range : facts.subordinate)
    take(range.first, range.count);
  for (const host::PasswdEntry& entry : facts.passwd) {
    take(entry.uid, 1);
    take(entry.gid, 1);
  }
  for (const host::GroupEntry& entry : facts.group)
    take(entry.gid, 1);
  return taken;
}

bool is_account_name(std::string_view name) {
  if (name.empty() || name.size() > 64 || name == "." || name == ".." || name[0] == '-') {
    return false;
  }
  const auto bad = [](char c) {
    return static_cast<unsigned char>(c) <= ' ' || c == 0x7F || c == ':' || c == '/' || c == ',';
  };
  return std::none_of(name.begin(), name.end(), bad) && is_utf8(name);
}

}  // namespace mayfly::plan
