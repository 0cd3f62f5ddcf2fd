#include "sys/files.hpp"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>

#include "base/text.hpp"
#include "sys/mounts.hpp"

namespace mayfly::sys {
namespace {

Error failed(int number, std::string action, std::string call) {
  return Error{.kind = ErrorKind::Setup,
               .sys_errno = number,
               .action = std::move(action),
               .call = std::move(call),
               .hint = {}};
}

std::string quoted(std::string_view path) {
  std::string text = "\"";
  text += path;
  text += '"';
  return text;
}

// A call on a path: `openat("/etc/passwd", O_RDONLY)`.
std::string call_on(const char* name, std::string_view path, std::string_view rest = {}) {
  std::string text = std::string(name) + "(" + quoted(path);
  if (!rest.empty()) (text += ", ") += rest;
  return text + ")";
}

template <class F>
auto restarted(F call) {
  for (;;) {
    const auto result = call();
    if (result >= 0 || errno != EINTR) return result;
  }
}

FileType type_of(mode_t mode) {
  if (S_ISREG(mode)) return FileType::Regular;
  if (S_ISDIR(mode)) return FileType::Directory;
  if (S_ISLNK(mode)) return FileType::Symlink;
  return FileType::Other;
}

}  // namespace

Result<Fd> openat(int dir, const char* path, int flags) {
  const int fd = restarted([&] { return ::openat(dir, path, flags | O_CLOEXEC); });
  if (fd >= 0) return Fd(fd);
  Error error = failed(errno, "open " + shown(path), call_on("openat", path));
  error.hint = common_remedy(error.sys_errno);
  return error;
}

Result<std::string_view> read_whole_file(int dir, const char* path, std::string& buffer,
                                         std::size_t most, FileEnd end) {
  constexpr std::size_t kFirst = 4096;
  const Fd file = TRY(openat(dir, path, O_RDONLY | O_NOCTTY));
  if (buffer.size() < kFirst) buffer.resize(kFirst);
  std::size_t size = 0;
  for (;;) {
    if (size == buffer.size()) buffer.resize(buffer.size() * 2);
    const ssize_t got =
        restarted([&] { return ::read(file.get(), buffer.data() + size, buffer.size() - size); });
    if (got < 0) return failed(errno, "read " + shown(path), call_on("read", path));
    if (got == 0) return std::string_view(buffer.data(), size);
    size += static_cast<std::size_t>(got);
    if (size > most) {
      return failed(EFBIG, "read " + shown(path) + ", more than " + std::to_string(most) + " bytes",
                    call_on("read", path));
    }
    if (end == FileEnd::ShortRead && size < buffer.size()) return {{buffer.data(), size}};
  }
}

Result<std::string> readlinkat(int dir, const char* path) {
  std::array<char, PATH_MAX> target;
  const ssize_t length = ::readlinkat(dir, path, target.data(), target.size());
  if (length < 0) return failed(errno, "read the link " + shown(path), call_on("readlinkat", path));
  return std::string(target.data(), static_cast<std::size_t>(length));
}

Result<std::optional<FileInfo>> lookup(int dir, const char* path) {
  struct stat found;
  if (::fstatat(dir, path, &found, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return std::optional<FileInfo>();
    return failed(errno, "look at " + shown(path), call_on("fstatat", path, "AT_SYMLINK_NOFOLLOW"));
  }
  return std::optional(FileInfo{.type = type_of(found.st_mode),
                                .mode = found.st_mode & 07777u,
                                .uid = found.st_uid,
                                .gid = found.st_gid,
                                .links = found.st_nlink});
}

bool may_access(int dir, const char* path, int mode) {
  return ::faccessat(dir, path, mode, AT_EACCESS) == 0;
}

Result<DirectoryReader::Entry> DirectoryReader::next() {
  for (;;) {
    if (at_ == end_) {
      const long got = ::syscall(SYS_getdents64, fd_, buffer_.data(), buffer_.size());
      if (got < 0) return failed(errno, "list " + shown(name_), call_on("getdents64", name_));
      if (got == 0) return Entry{};
      at_ = 0;
      end_ = static_cast<std::size_t>(got);
    }
    // struct linux_dirent64: u64 ino, s64 off, u16 reclen, u8 type, name[]
    const char* entry = buffer_.data() + at_;
    unsigned short length = 0;
    std::memcpy(&length, entry + 16, sizeof length);
    at_ += length;
    const std::string_view name = entry + 19;
    if (name == "." || name == "..") continue;
    return Entry{.name = name.data(), .type = static_cast<unsigned char>(entry[18])};
  }
}

Result<std::vector<std::string>> names_in(const Fd& directory, std::string_view path,
                                          std::size_t most) {
  std::vector<std::string> names;
  // A descriptor of its own: reading moves the offset.
  const Fd own = TRY(openat(directory.get(), ".", O_RDONLY | O_DIRECTORY));
  DirectoryReader reader(own, path);
  while (names.size() < most) {
    const DirectoryReader::Entry entry = TRY(reader.next());
    if (entry.name == nullptr) break;
    names.emplace_back(entry.name);
  }
  return names;
}

Result<std::string> getcwd() {
  std::array<char, PATH_MAX> path;
  const long length = ::syscall(SYS_getcwd, path.data(), path.size());
  // "(unreachable)/…": the directory lies outside our root, so no path leads to it.
  if (length <= 1 || path[0] != '/') {
    return failed(length < 0 ? errno : ENOENT, "find the working directory", "getcwd()");
  }
  return std::string(path.data());
}

}  // namespace mayfly::sys
