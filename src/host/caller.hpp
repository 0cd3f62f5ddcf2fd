// Who calls and from where: ids and what they own, the working directory, its git work tree, home.
#pragma once

#include <string>
#include <string_view>

#include "host/facts.hpp"

namespace mayfly::host {

// True if one line of a uid_map or gid_map maps every id from `first` to `last`.
[[nodiscard]] bool map_covers(std::string_view map, std::uint32_t first, std::uint32_t last);

// What a uid_map or gid_map makes of an id; the id itself if the map has no line for it.
[[nodiscard]] std::uint64_t id_outside(std::string_view map, std::uint32_t id);

// uid, gid, groups, owns_all_ids, is_host_root and stack_bytes. `buffer` is for the files read on
// the way.
[[nodiscard]] Result<void> read_ids(HostFacts& facts, std::string& buffer);

// home, env_home, work_tree, git_dir and has_git_dir; needs working_dir, uid and passwd.
void read_places(HostFacts& facts);

// The environment's XDG_RUNTIME_DIR. Null: it is unset, or names what does not exist, as where a
// session's environment is used outside of the session (cron, su).
[[nodiscard]] const char* xdg_runtime_dir();

// Where the registry lives (DESIGN 11), from the caller's ids and XDG_RUNTIME_DIR as
// xdg_runtime_dir() says.
[[nodiscard]] std::string runtime_dir(const HostFacts& facts, const char* xdg_runtime_dir);

// Where layers on disk are made, from XDG_CACHE_HOME (null: unset) and what is known of the caller:
// uid, home and env_home. Empty where there is none of these. Root's is in /var/cache, if that is
// root's.
[[nodiscard]] std::string cache_dir(const HostFacts& facts, const char* xdg_cache_home);

}  // namespace mayfly::host
