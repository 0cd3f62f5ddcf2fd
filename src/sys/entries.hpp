// Thin wrappers for making, judging, locking and removing the entries of a directory, by its
// descriptor. Nothing here follows a symbolic link at the entry itself. Each error names the call
// and its arguments; `what` shows the entry in it.
#pragma once

#include <fcntl.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace mayfly::sys {

// What an open descriptor is, by fstat.
struct Identity {
  dev_t device = 0;
  ino_t inode = 0;
  mode_t mode = 0;  // type and permission bits
  uid_t owner = 0;
  std::int64_t size = 0;
  std::int64_t changed_ns = 0;   // ctime
  std::int64_t modified_ns = 0;  // mtime; both CLOCK_REALTIME
};
[[nodiscard]] Result<Identity> fstat(const Fd& fd, std::string_view what);

// Whether the name is still that of the file that an open descriptor is.
[[nodiscard]] bool is_at(const Fd& directory, const char* name, const Identity& identity);

// False: there is something of that name already.
[[nodiscard]] Result<bool> mkdirat(const Fd& directory, const char* name, mode_t mode);

// A directory itself, read-only, close-on-exec. ELOOP or ENOTDIR: it is something else.
[[nodiscard]] Result<Fd> open_directory_at(int directory, const char* name);

// A directory at a relative path of several parts, none of which may lead out of `directory`, be a
// symbolic link or cross a mount (openat2, 5.6). `access`: O_RDONLY or O_PATH.
[[nodiscard]] Result<Fd> open_directory_beneath(const Fd& directory, const char* path,
                                                int access = O_RDONLY);

// Opens (O_PATH) what the path names, unless a symbolic link is in it.
[[nodiscard]] Result<Fd> open_without_links(const char* path);

// Writes on after a short write, which hides its reason; false, with errno, where it ends too soon.
[[nodiscard]] bool write_whole(int file, std::string_view content);

// Makes a file (0600) with this content; it must not exist.
[[nodiscard]] Result<void> create_file_at(const Fd& directory, const char* name,
                                          std::string_view content);
// One read(2): a regular file gives all that fits.
[[nodiscard]] Result<std::size_t> read(const Fd& file, std::span<char> into, std::string_view what);

// Renames within one directory, over what is there.
[[nodiscard]] Result<void> rename_at(const Fd& directory, const char* from, const char* to);

// flock(2), exclusive: held as long as this open file description lives. False: somebody has it.
[[nodiscard]] Result<bool> try_lock(const Fd& fd, std::string_view what);

enum class Entry { File, Directory };
// False: there was nothing of that name.
[[nodiscard]] Result<bool> unlinkat(const Fd& directory, const char* name, Entry kind);

// Makes the file if it is missing and sets its times to now.
[[nodiscard]] Result<void> touch_at(const Fd& directory, const char* name);

// Closes and says whether that worked: for descriptors whose end is part of a proof.
[[nodiscard]] Result<void> close(Fd fd, std::string_view what);

}  // namespace mayfly::sys
