#include "host/caller.hpp"

#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdlib>

#include "base/text.hpp"
#include "host/accounts.hpp"
#include "sys/entries.hpp"
#include "sys/files.hpp"

namespace mayfly::host {
namespace {

constexpr std::size_t kMostProcBytes = 1u << 20;

// Ids that a throwaway range may use (DESIGN 9).
constexpr std::uint32_t kFirstThrowaway = 0x80000, kLastThrowaway = 0x6FFFFFFF;

// Our effective capabilities as a bit mask; 0 if the kernel does not say.
std::uint64_t effective_capabilities() {
  __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> data = {};
  if (::syscall(SYS_capget, &header, data.data()) != 0) return 0;
  return data[0].effective | std::uint64_t{data[1].effective} << 32;
}

struct MapLine {
  std::uint64_t inside, outside, count;
};

std::vector<MapLine> lines_of(std::string_view map) {
  std::vector<MapLine> lines;
  for (std::string_view line : split(map, '\n')) {
    std::array<std::uint64_t, 3> number = {};
    std::size_t count = 0;
    for (std::string_view word : split(line, ' ')) {
      if (word.empty() || count == number.size()) continue;
      std::from_chars(word.data(), word.data() + word.size(), number[count++]);
    }
    if (count == 3) lines.push_back({number[0], number[1], number[2]});
  }
  return lines;
}

// Who we are in the user namespace around ours, if that can be told.
std::uint64_t own_uid_outside(uid_t uid) {
  std::string buffer;
  const auto map = sys::read_whole_file(AT_FDCWD, "/proc/self/uid_map", buffer, kMostProcBytes);
  return map ? id_outside(*map, uid) : uid;
}

// In a user namespace others may have the same id as we, and the name. Only where there is none of
// ours yet is it worth to ask.
std::string directory_in_tmp(uid_t uid) {
  const std::string name = "/tmp/mayfly-";
  struct stat info {};
  std::string usual = name + std::to_string(uid);
  if (::lstat(usual.c_str(), &info) == 0 && info.st_uid == uid) return usual;
  return name + std::to_string(own_uid_outside(uid));
}

Result<bool> owns_all_ids(std::string& buffer) {
  constexpr std::uint64_t kNeeded = 1ull << CAP_SETUID | 1ull << CAP_SETGID | 1ull << CAP_SYS_ADMIN;
  if ((effective_capabilities() & kNeeded) != kNeeded) return false;
  for (const char* map : {"/proc/self/uid_map", "/proc/self/gid_map"}) {
    // A usual map is one line, which the first read gives; what it gives of a longer one ends with
    // a line, too, and only where those do not suffice the rest is asked for.
    const Fd file = TRY(sys::openat(AT_FDCWD, map, O_RDONLY | O_NOCTTY));
    buffer.resize(4096);
    const std::size_t got = TRY(sys::read(file, {buffer.data(), buffer.size()}, map));
    if (map_covers({buffer.data(), got}, kFirstThrowaway, kLastThrowaway)) continue;
    const auto text = TRY(sys::read_whole_file(AT_FDCWD, map, buffer, kMostProcBytes));
    if (!map_covers(text, kFirstThrowaway, kLastThrowaway)) return false;
  }
  return true;
}

Result<std::vector<gid_t>> supplementary_groups(gid_t own) {
  std::vector<gid_t> groups(32);
  for (;;) {
    const int count = ::getgroups(static_cast<int>(groups.size()), groups.data());
    if (count >= 0) {
      groups.resize(static_cast<std::size_t>(count));
      std::erase(groups, own);
      return groups;
    }
    if (errno != EINVAL || groups.size() >= 65536) {  // NGROUPS_MAX
      return Error{.kind = ErrorKind::Setup,
                   .sys_errno = errno,
                   .action = "list the caller's groups",
                   .call = "getgroups(" + std::to_string(groups.size()) + ")",
                   .hint = {}};
    }
    groups.resize(65536);
  }
}

// The path without symbolic links; as given, only tidied, if it cannot be opened. One open and a
// readlink, where realpath() asks for every component.
std::string physical(const std::string& path) {
  const auto directory = sys::openat(AT_FDCWD, path.c_str(), O_PATH | O_DIRECTORY);
  if (!directory) return normal_path(path);
  const std::string link = "/proc/self/fd/" + std::to_string(directory->get());
  auto resolved = sys::readlinkat(AT_FDCWD, link.c_str());
  return resolved ? std::move(*resolved) : normal_path(path);
}

// As with git itself, a `.git` that belongs to somebody else does not count: one planted in a
// shared directory must not widen what the task sees. Root works in the trees of others, too, whose
// top is theirs as their `.git` and the working directory are.
bool is_trusted(const sys::FileInfo& git, const std::string& above, const HostFacts& facts) {
  if (git.uid == facts.uid || git.uid == 0) return true;
  if (facts.uid != 0) return false;
  const auto owner_of = [](const char* path) {
    struct stat info {};
    return ::stat(path, &info) == 0 ? info.st_uid : uid_t{0};
  };
  return owner_of(above.c_str()) == git.uid && owner_of(".") == git.uid;
}

// What the .git file of the work tree `tree` says; one of a linked work tree leads to its own part
// of the repository's git directory (MAIN/.git/worktrees/NAME), which is nothing without the rest.
std::string read_git_file(const std::string& file, const std::string& tree) {
  constexpr std::string_view kBefore = "gitdir: ", kLinked = "/worktrees";
  std::array<char, kBefore.size() + PATH_MAX> buffer;
  const auto opened =
      sys::openat(AT_FDCWD, file.c_str(), O_RDONLY | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK);
  const auto got = opened ? sys::read(*opened, buffer, file) : opened.error();
  const std::string_view text(buffer.data(), got ? *got : 0);
  if (!text.starts_with(kBefore)) return {};
  const std::string path(text.substr(kBefore.size(), text.find('\n') - kBefore.size()));
  std::string dir = normal_path(path.starts_with('/') ? path : tree + "/" + path);
  const std::string_view above = std::string_view(dir).substr(0, dir.rfind('/'));
  if (above.ends_with(kLinked)) dir.resize(above.size() - kLinked.size());
  return dir;
}

bool is_directory(const std::string& path) {
  struct stat info {};
  return !path.empty() && ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

// The nearest directory at or above the working directory that holds a `.git` directory or file (a
// worktree or submodule has a file). The homes and what lies above them are never asked. They are
// looked for from where the caller is: a path can be made to lead elsewhere meanwhile.
void find_work_tree(HostFacts& facts) {
  std::string above = ".";
  for (std::string at = facts.working_dir; at.size() > 1; at.resize(at.rfind('/'))) {
    if (is_within(facts.home, at) || is_within(facts.env_home, at)) return;
    const auto found = sys::lookup(AT_FDCWD, (above + "/.git").c_str());
    if (found && *found) {
      const sys::FileInfo& git = **found;
      const bool is_git =
          git.type == sys::FileType::Directory || git.type == sys::FileType::Regular;
      if (is_git && is_trusted(git, above, facts)) {
        facts.tree_inode = above == "." ? facts.working_inode : inode_of(above.c_str());
        facts.work_tree = at;
        if (git.type == sys::FileType::Regular) facts.git_dir = read_git_file(above + "/.git", at);
        facts.has_git_dir = is_directory(facts.git_dir);
        return;
      }
    }
    above = above == "." ? ".." : above + "/..";
  }
}

// Root, and not only in a user namespace, which sees there what another user has.
bool is_root_of(const HostFacts& facts, const char* directory) {
  struct stat info {};
  return facts.uid == 0 &&
         (facts.owns_all_ids || ::stat(directory, &info) != 0 || info.st_uid == 0);
}

}  // namespace

bool map_covers(std::string_view map, std::uint32_t first, std::uint32_t last) {
  const std::vector<MapLine> all = lines_of(map);
  return std::any_of(all.begin(), all.end(), [&](const MapLine& line) {
    return line.inside <= first && line.inside + line.count > last;
  });
}

std::uint64_t id_outside(std::string_view map, std::uint32_t id) {
  for (const MapLine& line : lines_of(map)) {
    if (line.inside <= id && id - line.inside < line.count) return id - line.inside + line.outside;
  }
  return id;
}

Result<void> read_ids(HostFacts& facts, std::string& buffer) {
  facts.uid = ::geteuid();
  facts.gid = ::getegid();
  facts.groups = TRY(supplementary_groups(facts.gid));
  facts.owns_all_ids = facts.uid == 0 && TRY(owns_all_ids(buffer));
  facts.is_host_root =
      facts.uid == 0 && (facts.owns_all_ids || own_uid_outside(facts.uid) == facts.uid);
  rlimit stack = {};
  if (::getrlimit(RLIMIT_STACK, &stack) == 0) facts.stack_bytes = stack.rlim_cur;
  return {};
}

void read_places(HostFacts& facts) {
  const char* env_home = std::getenv("HOME");
  const PasswdEntry* caller = find_user(facts.passwd, facts.uid);
  const bool has_env_home = env_home != nullptr && env_home[0] == '/';
  if (caller != nullptr && !caller->home.empty() && caller->home[0] == '/') {
    facts.home = physical(caller->home);
    if (has_env_home && caller->home != env_home) facts.env_home = physical(env_home);
  } else if (has_env_home) {
    facts.home = physical(env_home);
  }
  find_work_tree(facts);
}

const char* xdg_runtime_dir() {
  const char* named = std::getenv("XDG_RUNTIME_DIR");
  struct stat info {};
  if (named != nullptr && ::stat(named, &info) != 0 && errno == ENOENT) return nullptr;
  return named;
}

std::string runtime_dir(const HostFacts& facts, const char* xdg_runtime_dir) {
  if (is_root_of(facts, "/run")) return "/run/mayfly";
  if (xdg_runtime_dir != nullptr && xdg_runtime_dir[0] == '/') {
    return normal_path(std::string(xdg_runtime_dir) + "/mayfly");
  }
  return directory_in_tmp(facts.uid);
}

std::string cache_dir(const HostFacts& facts, const char* xdg_cache_home) {
  if (is_root_of(facts, "/var/cache")) return "/var/cache/mayfly";
  const std::string_view asked = xdg_cache_home != nullptr ? xdg_cache_home : "";
  if (asked.substr(0, 1) == "/") return normal_path(asked) + "/mayfly";
  // In passwd such a root has another's home.
  const std::string& home = facts.uid == 0 && !facts.env_home.empty() ? facts.env_home : facts.home;
  return home.empty() ? std::string() : home + "/.cache/mayfly";
}

}  // namespace mayfly::host
