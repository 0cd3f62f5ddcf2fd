// Thin wrappers for reading files and directories. Each error names the call and its arguments.
//
// `dir` is a directory descriptor or AT_FDCWD, as in the kernel's *at calls. Every descriptor that
// is opened here has O_CLOEXEC.
#pragma once

#include <fcntl.h>
#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace mayfly::sys {

enum class FileType { Regular, Directory, Symlink, Other };

struct FileInfo {
  FileType type = FileType::Other;
  unsigned mode = 0;  // permission bits only
  uid_t uid = 0;
  gid_t gid = 0;
  std::uint64_t links = 0;  // of a directory, where the file system counts: 2 and its directories
};

// Reads a directory's entries one by one, "." and ".." left out, in the kernel's order. The C
// library's readdir would allocate 32 KiB for each directory.
class DirectoryReader {
 public:
  struct Entry {
    const char* name = nullptr;  // valid until the next call; null at the end of the directory
    unsigned char type = 0;  // DT_DIR, DT_LNK, …; DT_UNKNOWN where the file system does not say
  };

  // Borrows the descriptor. `name` is for errors only and must outlive the reader.
  DirectoryReader(const Fd& directory, std::string_view name) : fd_(directory.get()), name_(name) {}

  [[nodiscard]] Result<Entry> next();

 private:
  int fd_;
  std::string_view name_;
  std::size_t at_ = 0, end_ = 0;
  alignas(8) std::array<char, 2048> buffer_;
};

// The names in a directory, of at most `most` entries. `path` is for errors only.
[[nodiscard]] Result<std::vector<std::string>> names_in(const Fd& directory, std::string_view path,
                                                        std::size_t most);

[[nodiscard]] Result<Fd> openat(int dir, const char* path, int flags);

// Where a file ends: files of /proc with more than one record come in pieces of a page, so only a
// read that gives nothing tells. A regular file, and one of /proc that is a single record, gives
// all that it is asked for: a short read is its last.
enum class FileEnd { EmptyRead, ShortRead };

// Reads to the end of the file into `buffer`, which grows as needed and can be used again for the
// next file: what is returned points into it. More than `most` bytes is an error (EFBIG).
[[nodiscard]] Result<std::string_view> read_whole_file(int dir, const char* path,
                                                       std::string& buffer, std::size_t most,
                                                       FileEnd end = FileEnd::EmptyRead);

[[nodiscard]] Result<std::string> readlinkat(int dir, const char* path);

// What is there, no link followed, no automount triggered; nullopt if there is nothing (ENOENT,
// ENOTDIR), which is an answer and not a failure.
[[nodiscard]] Result<std::optional<FileInfo>> lookup(int dir, const char* path);

// True if access(2) by the effective ids would be granted; mode is R_OK, W_OK, X_OK or F_OK.
[[nodiscard]] bool may_access(int dir, const char* path, int mode);

// The working directory's physical path. ENOENT if it was deleted or lies outside our root.
[[nodiscard]] Result<std::string> getcwd();

}  // namespace mayfly::sys
