#include "host/report_places.hpp"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include "base/fd.hpp"
#include "base/text.hpp"
#include "sys/files.hpp"

namespace mayfly::host {
namespace {

// By what is open: the path that led to it may be another's by now.
std::optional<std::string> path_of(int fd) {
  Result<std::string> path =
      sys::readlinkat(AT_FDCWD, ("/proc/self/fd/" + std::to_string(fd)).c_str());
  if (!path || !path->starts_with('/')) return std::nullopt;
  return std::move(*path);
}

Fd open_directory_of(const std::string& path, const std::string& working_dir) {
  const std::string directory = normal_path(path.substr(0, path.rfind('/') + 1));
  return Fd(::open(seen_from(working_dir, directory).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

}  // namespace

std::vector<Inode> above_result(const std::string& path, const std::string& working_dir) {
  constexpr std::size_t kMost = PATH_MAX / 2;
  std::vector<Inode> above;
  Fd at = open_directory_of(path, working_dir);
  struct stat info {};
  while (at && above.size() < kMost && ::fstat(at.get(), &info) == 0) {
    const Inode inode{.device = info.st_dev, .number = info.st_ino};
    if (!above.empty() && above.back() == inode) break;  // the root is above itself
    above.push_back(inode);
    at = Fd(::openat(at.get(), "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  return above;
}

std::optional<std::string> place_of_result(const std::string& path,
                                           const std::string& working_dir) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return std::nullopt;
  const Fd opened = open_directory_of(path, working_dir);
  if (!opened) return std::nullopt;
  const std::optional<std::string> real = path_of(opened.get());
  if (!real) return std::nullopt;
  return entry_path(*real, path.substr(slash + 1));
}

std::optional<std::string> place_of_descriptor(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0 || info.st_nlink == 0) return std::nullopt;
  if (!S_ISREG(info.st_mode) && !S_ISFIFO(info.st_mode)) return std::nullopt;
  return path_of(fd);
}

}  // namespace mayfly::host
