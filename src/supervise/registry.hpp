// Registry: one folder per sandbox in the caller's runtime directory, with a held lock (DESIGN 11).
//
// A lock that somebody holds, and nothing else, proves that a sandbox lives: process numbers are
// given anew, and a folder outlives a killed supervisor. The directory is the user's own, yet what
// it holds is judged as hostile: nothing is followed, owners and types are checked, sizes capped.
//
//   <runtime dir>/<id>/        locked by flock while the sandbox lives
//   <runtime dir>/<id>/state   a Record, as JSON; replaced by rename
//   <runtime dir>/.id-ranges   locks of throwaway id ranges (src/isolate/user_ns.hpp)
//   <runtime dir>/.sweep       its mtime: when a run swept last (src/supervise/janitor.hpp)
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace mayfly::supervise {

// The runtime directory, opened and judged.
class RuntimeDir {
 public:
  // Makes it (0700) if it is missing. Refused: a link, anything that is not a directory, another
  // owner, a mode that lets others in.
  [[nodiscard]] static Result<RuntimeDir> open(const std::string& path);

  [[nodiscard]] const Fd& fd() const { return fd_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string id_ranges_file() const { return path_ + "/.id-ranges"; }

 private:
  RuntimeDir(Fd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  Fd fd_;
  std::string path_;
};

// What is written down about a sandbox.
struct Record {
  std::string id, name;
  pid_t pid = 0;                   // the supervisor's, for people; never used to signal
  std::string boot_id;             // of the boot in which started_ns counts
  std::int64_t started_ns = 0;     // CLOCK_BOOTTIME
  std::string cgroup;              // absolute path, or empty
  std::uint64_t cgroup_inode = 0;  // 0: not known yet
  std::string layer;               // absolute path of a layer on disk, or empty
  std::uint64_t layer_inode = 0;   // 0: not known yet
  std::vector<std::pair<std::string, std::string>> labels;
  bool operator==(const Record&) const = default;
};
[[nodiscard]] std::string to_json(const Record& record);
// Every member is checked; an unknown one is passed over.
[[nodiscard]] Result<Record> parse_record(std::string_view json);
// The state file of a folder, judged as hostile.
[[nodiscard]] Result<Record> read_record(const Fd& folder);

// 12 characters of lower-case base32, from the kernel's random numbers.
[[nodiscard]] Result<std::string> random_id();
[[nodiscard]] bool is_random_id(std::string_view id);
// What may be a folder's and a cgroup's name: 1-64 of [A-Za-z0-9._-], the first no '.' or '-'.
[[nodiscard]] bool is_valid_id(std::string_view id);

[[nodiscard]] std::string boot_id();

// The folder of a sandbox that is ours, locked. Destroyed without remove(), it stays for gc, as it
// would after a crash.
class Entry {
 public:
  // Makes and locks <id>. Of any number of processes that claim one id at a time, one gets it; a
  // folder that nobody holds is cleaned up and made anew. Error: a sandbox with that id lives.
  // cgroup_mount: where a stale entry's cgroup may be removed, see janitor.hpp.
  [[nodiscard]] static Result<Entry> claim(const RuntimeDir& directory, const Record& record,
                                           const std::string& cgroup_mount);

  // Replaces what is written down.
  [[nodiscard]] Result<void> publish(const Record& record);
  // Removes the folder. What cannot be removed is left to gc.
  void remove(const RuntimeDir& directory);

  explicit operator bool() const { return static_cast<bool>(folder_); }
  Entry() = default;

 private:
  Entry(Fd folder, std::string id) : folder_(std::move(folder)), id_(std::move(id)) {}
  Fd folder_;
  std::string id_;
};

inline constexpr const char* kStateFile = "state";
inline constexpr const char* kNewStateFile = "state.new";
inline constexpr const char* kSweepFile = ".sweep";
inline constexpr std::size_t kMostStateBytes = 64 << 10;

}  // namespace mayfly::supervise
