// Thin wrappers of the calls that prepare a sandbox's mounts, ids and cgroup from outside. Each
// names its call and arguments in the Error that it returns; `action` is left to the caller's words
// where the plan knows better.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace mayfly::sys {

// An Error of the calling thread's errno. action: a phrase after "cannot".
[[nodiscard]] Error errno_error(std::string action, std::string call);
// The hint for an errno that any call may meet and whose remedy is always the same; or "".
[[nodiscard]] const char* common_remedy(int number);
// The same for an errno of writing a file that the caller has named.
[[nodiscard]] const char* write_remedy(int number);

[[nodiscard]] Result<Fd> open(const std::string& path, int flags, unsigned mode = 0);
[[nodiscard]] Result<void> mkdir(const std::string& path, unsigned mode);
[[nodiscard]] Result<void> rmdir(const std::string& path);

// Writes all of `text` to an existing file, in one write (as /proc and cgroup files want it).
[[nodiscard]] Result<void> write_file(const std::string& path, std::string_view text);
// The same for a file of a directory; `directory_path` is for the message.
[[nodiscard]] Result<void> write_file_at(int directory, const char* name, std::string_view text,
                                         const std::string& directory_path);

// True: the byte is now locked by this open file description. False: somebody else holds it.
[[nodiscard]] Result<bool> try_lock_byte(int fd, std::uint64_t byte, const std::string& path);

// flags: kOpenTreeClone and others of sys/kernel.hpp. Close-on-exec.
[[nodiscard]] Result<Fd> open_tree(const std::string& path, unsigned flags);

// Gives a detached mount, and all mounts in it, the id mapping of a user namespace (5.12).
[[nodiscard]] Result<void> id_map_mount(int tree, int user_ns, const std::string& path);

// A sealed memfd (F_SEAL_WRITE|SHRINK|GROW|SEAL) with this content, close-on-exec.
enum class Executable { No, Yes };
[[nodiscard]] Result<Fd> sealed_memfd(const char* name, std::string_view content,
                                      Executable executable);

}  // namespace mayfly::sys
