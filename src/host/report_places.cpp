#include "host/report_places.hpp"

#include <fcntl.h>
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

}  // namespace

std::optional<std::string> place_of_result(const std::string& path,
                                           const std::string& working_dir) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return std::nullopt;
  const std::string directory = path.substr(0, slash + 1);
  const Fd opened(::open(seen_from(working_dir, normal_path(directory)).c_str(),
                         O_PATH | O_DIRECTORY | O_CLOEXEC));
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
