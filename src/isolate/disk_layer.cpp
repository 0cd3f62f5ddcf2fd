#include "isolate/disk_layer.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "sys/entries.hpp"
#include "sys/event.hpp"
#include "sys/files.hpp"
#include "sys/mounts.hpp"

namespace mayfly::isolate::disk_layer {
namespace {

constexpr const char* kElsewhere =
    "XDG_CACHE_HOME can name a directory of your own on ext4, xfs or btrfs";
constexpr const char* kElsewhereForRoot = "mount a file system such as ext4 at /var/cache/mayfly";

const char* elsewhere() {
  return ::geteuid() == 0 ? kElsewhereForRoot : kElsewhere;
}

Error unfit(const std::string& path, std::string why) {
  return Error{.kind = ErrorKind::Setup,
               .sys_errno = 0,
               .action = "make the layer on disk in " + shown(path) + ": " + std::move(why),
               .call = {},
               .hint = elsewhere()};
}

// Whoever removes stale ones leaves young ones alone, so that this takes a start that stood still.
Error lost_to_another(const std::string& path) {
  return Error{.kind = ErrorKind::Setup,
               .sys_errno = 0,
               .action = "keep the layer " + shown(path) + ": somebody else has its lock",
               .call = {},
               .hint = "`mayfly gc` may have taken it for a stale one: start again"};
}

// Root's sandboxes have ids of nobody's: they must be able to walk through, and see nothing.
mode_t parent_mode() {
  return ::geteuid() == 0 ? 0711 : 0700;
}

Result<void> make_path(const std::string& path) {
  for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    if (::mkdir(part.c_str(), parent_mode()) != 0 && errno != EEXIST &&
        slash == std::string::npos) {
      Error error = sys::errno_error("make the directory " + shown(path) + " for layers on disk",
                                     "mkdir(" + shown(part) + ")");
      if (error.hint.empty()) error.hint = elsewhere();
      return error;
    }
    if (slash == std::string::npos) return {};
  }
}

Result<void> check_file_system(const Fd& parent, const std::string& path) {
  constexpr long kOverlay = 0x794c7630;
  struct statfs info = {};
  if (::fstatfs(parent.get(), &info) != 0)
    return sys::errno_error("look at " + shown(path), "fstatfs");
  if (info.f_type != kOverlay) return {};
  return unfit(path, "it lies on an overlay itself, as in a container");
}

// Directories that are to go are brought to the top one, so that no depth needs a descriptor each.
class Removal {
 public:
  Removal(Fd top, std::int64_t deadline_ns) : top_(std::move(top)), deadline_ns_(deadline_ns) {}

  Result<void> run() {
    bool found = true;
    const auto end = [&](const char* name, bool is_directory) -> Result<void> {
      found = true;
      return is_directory ? empty(name) : unlink(top_, name);
    };
    while (std::exchange(found, false))
      TRY(each(top_, end));
    return {};
  }

 private:
  template <class Action>
  Result<void> each(const Fd& directory, Action action) {
    const Fd own = TRY(sys::open_directory_at(directory.get(), "."));
    sys::DirectoryReader reader(own, "a layer on disk");
    for (;;) {
      if (deadline_ns_ != 0 && sys::boottime_ns() > deadline_ns_) {
        errno = ETIMEDOUT;
        return sys::errno_error("remove the layer in time", {});
      }
      const sys::DirectoryReader::Entry entry = TRY(reader.next());
      if (entry.name == nullptr) return {};
      const std::string name = entry.name;
      const bool directory_below = TRY(is_directory(own, name, entry.type));
      TRY(action(name.c_str(), directory_below));
    }
  }

  static Result<bool> is_directory(const Fd& directory, const std::string& name,
                                   unsigned char type) {
    if (type != DT_UNKNOWN) return type == DT_DIR;
    const auto info = TRY(sys::lookup(directory.get(), name.c_str()));
    return info && info->type == sys::FileType::Directory;
  }

  static Result<void> unlink(const Fd& directory, const char* name) {
    TRY(sys::unlinkat(directory, name, sys::Entry::File));
    return {};
  }

  // Empties a directory of the top one and removes it. What a listing has missed, as it may while
  // entries go, is found by the next.
  Result<void> empty(const char* name) {
    const Fd directory = TRY(open_writable(top_, name));
    const auto clear = [&](const char* inner, bool is_directory) -> Result<void> {
      return is_directory ? lift(directory, inner) : unlink(directory, inner);
    };
    for (int pass = 0; ::unlinkat(top_.get(), name, AT_REMOVEDIR) != 0; ++pass) {
      constexpr int kMostPasses = 100;
      if ((errno != ENOTEMPTY && errno != EEXIST) || pass == kMostPasses) {
        return sys::errno_error("remove a directory of the layer", "unlinkat(AT_REMOVEDIR)");
      }
      TRY(each(directory, clear));
    }
    return {};
  }

  // To move a directory to another parent takes the right to write to it.
  Result<void> lift(const Fd& directory, const char* name) {
    if (::unlinkat(directory.get(), name, AT_REMOVEDIR) == 0) return {};
    TRY(open_writable(directory, name));
    const std::string place = ".gone-" + std::to_string(lifted_++);
    if (::renameat2(directory.get(), name, top_.get(), place.c_str(), RENAME_NOREPLACE) == 0)
      return {};
    if (errno == EEXIST) return lift(directory, name);
    return sys::errno_error("remove a directory of the layer", "renameat2");
  }

  static Result<Fd> open_writable(const Fd& directory, const char* name) {
    return std::move(TRY(open_hidden(directory, name)).directory);
  }

  Fd top_;
  std::int64_t deadline_ns_;
  std::uint64_t lifted_ = 0;
};

}  // namespace

Result<Fd> open_parent(const std::string& parent) {
  Fd directory = TRY(sys::open_directory_at(AT_FDCWD, parent.c_str()));
  const sys::Identity identity = TRY(sys::fstat(directory, parent));
  if (identity.owner != ::geteuid() || (identity.mode & 022) != 0) {
    return unfit(parent, "it belongs to somebody else, or others may write there");
  }
  return directory;
}

Result<Made> make(const std::string& parent, const std::string& id, Owner owner) {
  if (parent.empty()) return unfit("the cache directory", "the caller has no home directory");
  TRY(make_path(parent));
  const Fd directory = TRY(open_parent(parent));
  TRY(check_file_system(directory, parent));
  Made made;
  const std::string path = parent + "/" + id;
  if (!TRY(sys::mkdirat(directory, id.c_str(), 0700))) {
    Error error = unfit(parent, "there is a layer of that name: " + shown(id));
    error.hint = "`mayfly gc` removes what nobody uses";
    return error;
  }
  made.path = path;
  made.directory = TRY(sys::open_directory_at(directory.get(), id.c_str()));
  if (!TRY(sys::try_lock(made.directory, path))) return lost_to_another(path);
  const bool other = owner.uid != ::geteuid() || owner.gid != ::getegid();
  if (other && ::fchown(made.directory.get(), owner.uid, owner.gid) != 0) {
    const Error error =
        sys::errno_error("give the layer to the sandbox", "fchown(" + shown(path) + ")");
    static_cast<void>(sys::unlinkat(directory, id.c_str(), sys::Entry::Directory));
    return error;
  }
  return made;
}

Result<Opened> open_hidden(const Fd& directory, const char* name) {
  struct stat info = {};
  constexpr mode_t kOwner = 0700;
  const Fd place(::openat(directory.get(), name, O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC));
  const bool closed = place && ::fstat(place.get(), &info) == 0 &&
                      (info.st_mode & kOwner) != kOwner && info.st_uid == ::geteuid();
  if (!closed) return Opened{TRY(sys::open_directory_beneath(directory, name)), std::nullopt};
  const mode_t mode = info.st_mode & 07777;
  const std::string itself = "/proc/self/fd/" + std::to_string(place.get());
  if (::chmod(itself.c_str(), mode | kOwner) != 0) {
    return sys::errno_error("open a closed directory of the layer", "chmod");
  }
  return Opened{TRY(sys::open_directory_beneath(directory, name)), mode};
}

Result<void> remove(const Fd& parent, const std::string& name, std::int64_t deadline_ns) {
  Result<Fd> top = sys::open_directory_beneath(parent, name.c_str());
  if (!top && top.error().sys_errno == ENOENT) return {};
  if (!top) return std::move(top).error();
  TRY(Removal(std::move(*top), deadline_ns).run());
  TRY(sys::unlinkat(parent, name.c_str(), sys::Entry::Directory));
  return {};
}

Result<void> remove(const Made& made, std::int64_t deadline_ns) {
  if (made.path.empty()) return {};
  const std::size_t slash = made.path.rfind('/');
  const Fd parent = TRY(open_parent(made.path.substr(0, slash)));
  return remove(parent, made.path.substr(slash + 1), deadline_ns);
}

}  // namespace mayfly::isolate::disk_layer
