#include "plan/etc_files.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "host/accounts.hpp"
#include "plan/identity.hpp"

namespace mayfly::plan {
namespace {

constexpr std::string_view kNoShell = "/usr/sbin/nologin";

// True if the bytes cannot end a field or a line early.
bool is_field(std::string_view text) {
  return text.find_first_of(std::string_view(":\n\r\0", 4)) == std::string_view::npos;
}

// Lines of passwd or group; each name and each "own" id once, the first one wins.
class Lines {
 public:
  void add_user(std::string_view name, std::uint32_t uid, std::uint32_t gid, std::string_view home,
                std::string_view shell) {
    if (!claim(name)) return;
    ((text_ += name) += ":x:") += std::to_string(uid);
    ((text_ += ':') += std::to_string(gid)) += "::";
    (((text_ += home) += ':') += shell) += '\n';
  }

  void add_group(std::string_view name, std::uint32_t gid) {
    if (claim(name)) (((text_ += name) += ":x:") += std::to_string(gid)) += ":\n";
  }

  std::string take() { return std::move(text_); }

 private:
  bool claim(std::string_view name) {
    if (std::find(names_.begin(), names_.end(), name) != names_.end()) return false;
    names_.push_back(name);
    return true;
  }

  std::string text_;
  std::vector<std::string_view> names_;  // of the facts and the plan, which outlive this
};

bool is_host_name(std::string_view name) {
  const auto good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.';
  };
  return !name.empty() && name.size() <= 64 && name[0] != '-' && name[0] != '.' &&
         std::all_of(name.begin(), name.end(), good);
}

Node file(const char* name, std::string content) {
  return {.kind = Node::Kind::File, .path = name, .mode = 0644, .data = std::move(content)};
}

}  // namespace

Result<std::string> passwd_file(const host::HostFacts& facts, const Ids& ids) {
  if (!is_account_name(ids.user) || !is_field(ids.home) || !is_field(ids.shell)) {
    return usage_error("write /etc/passwd for the user " + shown(ids.user) + " with home " +
                           shown(ids.home) + " and shell " + shown(ids.shell),
                       "none of them may hold a ':' or a line end");
  }
  Lines lines;
  // Whoever asks for an id or a name gets the first match: so the task's own line comes before any
  // other with its id, and root's line comes first, as everybody expects it.
  if (ids.task_uid != 0) lines.add_user("root", 0, 0, "/root", "/bin/sh");
  lines.add_user(ids.user, ids.task_uid, ids.task_gid, ids.home, ids.shell);
  for (const host::PasswdEntry& entry : facts.passwd) {
    const bool shown_inside = entry.uid != 0 && entry.uid < kFirstPerson;
    if (!shown_inside || entry.uid == ids.task_uid) continue;
    if (!is_account_name(entry.name) || !is_field(entry.home) || !is_field(entry.shell)) continue;
    lines.add_user(entry.name, entry.uid, entry.gid, entry.home, entry.shell);
  }
  if (ids.task_uid != kNobody) {
    lines.add_user("nobody", kNobody, kNobody, "/nonexistent", kNoShell);
  }
  return lines.take();
}

Result<std::string> group_file(const host::HostFacts& facts, const Ids& ids) {
  if (!is_account_name(ids.user)) {
    return usage_error("write /etc/group for the user " + shown(ids.user),
                       "the name may not hold a ':' or a line end");
  }
  Lines lines;
  lines.add_group("root", 0);
  if (ids.task_gid != 0) {
    // The caller's group keeps its name; one that has none is called as its user.
    const host::GroupEntry* own = host::find_group(facts.group, ids.task_gid);
    const bool named =
        own != nullptr && is_account_name(own->name) && (!ids.range || own->gid < kFirstPerson);
    lines.add_group(named ? std::string_view(own->name) : std::string_view(ids.user), ids.task_gid);
  }
  for (const host::GroupEntry& entry : facts.group) {
    const bool shown_inside = entry.gid != 0 && entry.gid < kFirstPerson;
    if (!shown_inside || entry.gid == ids.task_gid || !is_account_name(entry.name)) continue;
    lines.add_group(entry.name, entry.gid);
  }
  if (ids.task_gid != kNobody) lines.add_group("nogroup", kNobody);
  return lines.take();
}

Result<std::string> hosts_file(std::string_view hostname) {
  if (!is_host_name(hostname)) {
    return usage_error("use " + shown(hostname) + " as a host name",
                       "a host name has letters, digits, '-' and '.', at most 64 of them");
  }
  const std::string own = hostname == "localhost" ? "" : " " + std::string(hostname);
  return "127.0.0.1 localhost" + own + "\n::1 localhost ip6-localhost ip6-loopback" + own + "\n";
}

std::string resolv_conf() {
  return "# This sandbox has no network. Nothing listens on this address, so a query fails at "
         "once.\n"
         "nameserver 127.0.0.1\n"
         "options attempts:1 timeout:1\n";
}

std::string nsswitch_conf() {
  return "passwd: files\ngroup: files\nshadow: files\nhosts: files\nnetworks: files\n"
         "protocols: files\nservices: files\nethers: files\nrpc: files\n";
}

Result<std::vector<Node>> etc_files(const host::HostFacts& facts, const Ids& ids,
                                    const std::string& hostname) {
  std::vector<Node> files;
  files.push_back(file("passwd", TRY(passwd_file(facts, ids))));
  files.push_back(file("group", TRY(group_file(facts, ids))));
  files.push_back(file("hosts", TRY(hosts_file(hostname))));
  files.push_back(file("hostname", hostname + "\n"));
  files.push_back(file("resolv.conf", resolv_conf()));
  files.push_back(file("nsswitch.conf", nsswitch_conf()));
  return files;
}

}  // namespace mayfly::plan
