#include "host/sources.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/fd.hpp"
#include "base/text.hpp"
#include "host/input.hpp"
#include "sys/files.hpp"
#include "sys/mounts.hpp"

namespace mayfly::host {
namespace {

SourceFact::Kind kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return SourceFact::Kind::Directory;
  if (S_ISREG(mode)) return SourceFact::Kind::File;
  if (S_ISCHR(mode) || S_ISBLK(mode)) return SourceFact::Kind::Device;
  if (S_ISSOCK(mode)) return SourceFact::Kind::Socket;
  return SourceFact::Kind::Other;
}

}  // namespace

std::string real_place(const std::string& path, const std::string& working_dir) {
  std::size_t end = path.rfind('/');
  while (end != std::string::npos && end > 0) {
    const std::string above = seen_from(working_dir, path.substr(0, end));
    const Fd directory(::open(above.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (directory) {
      const std::string link = "/proc/self/fd/" + std::to_string(directory.get());
      const Result<std::string> real = sys::readlinkat(AT_FDCWD, link.c_str());
      return real ? entry_path(*real, path.substr(end + 1)) : path;
    }
    end = path.rfind('/', end - 1);
  }
  return path;
}

bool may_enter(int parent, const char* name) {
  if (sys::may_access(parent, name, X_OK)) return true;
  struct stat info {};
  return ::fstatat(parent, name, &info, AT_NO_AUTOMOUNT) == 0 && info.st_uid == ::geteuid();
}

const char* path_remedy(int error) {
  switch (error) {
    case ENOENT:
      return "there is nothing of this name on the host, where it is looked up: check the "
             "spelling, or make it first";
    case EACCES:
    case EPERM:
      return "the caller's own rights on the host do not suffice for it";
    case ENOTDIR:
      return "a part of this path is a file, not a directory";
    case EISDIR:
      return "name a file, not a directory";
    case ELOOP:
      return "its symbolic links go in circles";
    case ENAMETOOLONG:
      return "the kernel takes no longer one: choose a shorter path";
    case ENXIO:
    case ENODEV:
      return "what is there cannot be opened: name a file or a directory";
    case EFBIG:
      return "name a smaller file";
    default:
      return sys::common_remedy(error);
  }
}

Result<SourceFact> inspect_source(const std::string& path, const std::string& working_dir) {
  const Fd source(::open(seen_from(working_dir, path).c_str(), O_PATH | O_CLOEXEC));
  struct stat status = {};
  if (!source || ::fstat(source.get(), &status) != 0) {
    Error error =
        sys::errno_error("use " + shown(path) + " of the host", "open(" + shown(path) + ")");
    error.kind = ErrorKind::Usage;
    const bool is_shells = path.find("/~") != path.npos || path.find('$') != path.npos;
    error.hint = error.sys_errno == ENOENT && is_shells
                     ? "~ and $NAME are the shell's, at the start of a word: write the path out"
                     : path_remedy(error.sys_errno);
    return error;
  }
  SourceFact fact{.path = path,
                  .kind = kind_of(status.st_mode),
                  .inode = Inode{.device = status.st_dev, .number = status.st_ino}};
  fact.real =
      TRY(sys::readlinkat(AT_FDCWD, ("/proc/self/fd/" + std::to_string(source.get())).c_str()));
  if (fact.kind == SourceFact::Kind::Socket) fact.channels.socket = path;
  if (S_ISFIFO(status.st_mode)) fact.channels.fifo = path;
  return fact;
}

const std::string& real_path(const std::vector<SourceFact>& sources, const std::string& path) {
  for (const SourceFact& source : sources) {
    if (source.path == path && !source.real.empty()) return source.real;
  }
  return path;
}

std::optional<Inode> inode_among(const std::vector<SourceFact>& sources, const std::string& path) {
  for (const SourceFact& source : sources) {
    if (source.path == path) return source.inode;
  }
  return std::nullopt;
}

std::optional<Inode> inode_of(const char* path) {
  struct stat status = {};
  if (::stat(path, &status) != 0) return std::nullopt;
  return Inode{.device = status.st_dev, .number = status.st_ino};
}

Result<std::string> read_source(const std::string& path, const std::string& working_dir,
                                std::size_t most) {
  const auto told = [&](Error error) {
    if (error.sys_errno == EFBIG) {
      return usage_error("copy " + shown(path) + " inside: it is larger than the layer",
                         "raise --layer-size, or show it with --ro");
    }
    error.kind = ErrorKind::Usage;
    if (error.sys_errno != 0) {
      error.action = "copy " + shown(path) + " inside";
      error.hint = path_remedy(error.sys_errno);
    }
    return error;
  };
  const Result<Fd> file = open_input(path, working_dir);
  if (!file) return told(file.error());
  Result<std::string> content = read_input(file->get(), shown(path), most);
  return content ? std::move(content) : told(content.error());
}

}  // namespace mayfly::host
