// gather(): the facts that every start needs. This is the hot path: some fifty system calls, one
// read buffer for all files. Nothing is concluded from a version.
#include "host/facts.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/fd.hpp"
#include "host/accounts.hpp"
#include "host/caller.hpp"
#include "host/etc_scan.hpp"
#include "host/mounts.hpp"
#include "sys/files.hpp"
#include "sys/kernel.hpp"
#include "sys/raw.hpp"

namespace mayfly::host {
namespace {

constexpr std::size_t kMostMountBytes = 16u << 20;  // the kernel allows 100,000 mounts
constexpr std::size_t kMostAccountBytes = 16u << 20;
constexpr std::size_t kMostProcBytes = 1u << 20;

// What the `host` root view may show of the host's root directory.
constexpr std::array kTopNames = {"usr",   "bin",    "sbin", "lib", "lib32",
                                  "lib64", "libx32", "etc",  "opt"};

// The one of them that often holds nothing, and then needs no mount.
constexpr std::string_view kOftenEmpty = "opt";

// What cannot be listed (EACCES) may hold something.
Result<bool> is_empty(const std::string& path) {
  const auto directory = sys::openat(AT_FDCWD, path.c_str(), O_RDONLY | O_DIRECTORY);
  return directory && TRY(sys::DirectoryReader(*directory, path).next()).name == nullptr;
}

Result<std::vector<TopEntry>> top_entries() {
  std::vector<TopEntry> top;
  for (const char* name : kTopNames) {
    const std::string path = std::string("/") + name;
    auto link = sys::readlinkat(AT_FDCWD, path.c_str());
    if (link) {
      top.push_back({.name = name, .kind = TopEntry::Kind::Symlink, .link = std::move(*link)});
      continue;
    }
    if (link.error().sys_errno == ENOENT) continue;
    if (link.error().sys_errno != EINVAL) return std::move(link).error();
    // It is no link. What is neither link nor directory is not shown.
    const auto info = TRY(sys::lookup(AT_FDCWD, path.c_str()));
    if (!info || info->type != sys::FileType::Directory) continue;
    const bool has_directories = info->links > 2;  // to list it costs ten times as much
    const bool empty = name == kOftenEmpty && !has_directories && TRY(is_empty(path));
    top.push_back({.name = name, .kind = TopEntry::Kind::Directory, .link = {}, .empty = empty});
  }
  return top;
}

// A file that may be missing: then it is empty. A regular one, or /proc/self/cgroup, which is a
// single record.
Result<std::string_view> read_optional(const char* path, std::string& buffer, std::size_t most) {
  auto text = sys::read_whole_file(AT_FDCWD, path, buffer, most, sys::FileEnd::ShortRead);
  if (!text && text.error().sys_errno == ENOENT) return std::string_view();
  return text;
}

Result<std::vector<MountPoint>> mount_table(std::string& buffer) {
  auto text = sys::read_whole_file(AT_FDCWD, "/proc/self/mountinfo", buffer, kMostMountBytes);
  if (!text) {
    Error error = std::move(text).error();
    error.kind = ErrorKind::HostUnsupported;
    if (error.hint.empty()) {
      error.hint = "mayfly needs /proc: mount it, or start the container with it";
    }
    return error;
  }
  return parse_mountinfo(*text);
}

Result<void> read_accounts(HostFacts& facts, EtcCheck etc, std::string& buffer) {
  facts.passwd = parse_passwd(TRY(read_optional("/etc/passwd", buffer, kMostAccountBytes)));
  facts.group = parse_group(TRY(read_optional("/etc/group", buffer, kMostAccountBytes)));
  // Only a throwaway range must keep clear of these.
  if (!facts.owns_all_ids || etc == EtcCheck::ForHostIds) return {};
  for (const char* path : {"/etc/subuid", "/etc/subgid"}) {
    const auto ranges = parse_subordinate(TRY(read_optional(path, buffer, kMostAccountBytes)));
    facts.subordinate.insert(facts.subordinate.end(), ranges.begin(), ranges.end());
  }
  return {};
}

Result<CgroupFacts> cgroup_facts(const std::vector<MountPoint>& mounts, std::string& buffer) {
  CgroupFacts facts =
      find_cgroup(mounts, TRY(read_optional("/proc/self/cgroup", buffer, kMostProcBytes)));
  if (facts.mount.empty()) return facts;
  // A child is made in the directory, and a process gets into it only if it may leave ours.
  const std::string own = own_cgroup_dir(facts);
  facts.writable = sys::may_access(AT_FDCWD, own.c_str(), W_OK) &&
                   sys::may_access(AT_FDCWD, (own + "/cgroup.procs").c_str(), W_OK);
  return facts;
}

int landlock_abi() {
  const long abi =
      sys::raw::call(__NR_landlock_create_ruleset, 0, 0, sys::kLandlockCreateRulesetVersion);
  return abi > 0 ? static_cast<int>(abi) : 0;
}

}  // namespace

Result<HostFacts> gather(EtcCheck etc, std::optional<std::string> working_dir) {
  HostFacts facts;
  std::string buffer;
  facts.mounts = TRY(mount_table(buffer));
  facts.cgroup = TRY(cgroup_facts(facts.mounts, buffer));
  TRY(read_ids(facts, buffer));
  TRY(read_accounts(facts, etc, buffer));
  if (!working_dir) {
    if (auto found = sys::getcwd()) working_dir = *std::move(found);
  }
  facts.working_dir = std::move(working_dir).value_or(std::string());
  if (!facts.working_dir.empty()) facts.working_inode = inode_of(".");
  read_places(facts);
  facts.top = TRY(top_entries());
  const EtcScan scan = etc == EtcCheck::ForHostIds ? EtcScan::Whole : needed_scan(facts);
  facts.etc_private = TRY(private_entries("/etc", scan));
  facts.landlock_abi = landlock_abi();
  facts.runtime_dir = runtime_dir(facts, xdg_runtime_dir());
  facts.cache_dir = cache_dir(facts, std::getenv("XDG_CACHE_HOME"));
  return facts;
}

}  // namespace mayfly::host
