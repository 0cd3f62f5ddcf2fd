#include "isolate/disk_layer.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "isolate/layer.hpp"
#include "isolate/loan.hpp"
#include "isolate/own_directory.hpp"
#include "sys/entries.hpp"
#include "sys/event.hpp"
#include "sys/files.hpp"
#include "sys/mounts.hpp"

namespace mayfly::isolate::disk_layer {
namespace {

constexpr const char* kElsewhere =
    "XDG_CACHE_HOME can name a directory of your own on ext4, xfs or btrfs";
constexpr const char* kElsewhereForRoot = "mount a file system such as ext4 at /var/cache/mayfly";

const char* elsewhere(const std::string& parent) {
  return is_within(parent, "/var/cache/mayfly") ? kElsewhereForRoot : kElsewhere;
}

Error unfit(const std::string& parent, std::string why) {
  return Error{.kind = ErrorKind::Setup,
               .sys_errno = 0,
               .action = "make the layer on disk in " + shown(parent) + ": " + std::move(why),
               .call = {},
               .hint = elsewhere(parent)};
}

// <cache directory>/mayfly/layers, or for root /var/cache/mayfly/layers: the last two are ours.
// Root's sandboxes have ids of nobody's: they must be able to walk through, and see nothing.
Result<Fd> open_parent(const std::string& parent, own_directory::Missing missing) {
  const mode_t mode = ::geteuid() == 0 ? 0711 : 0700;
  Result<Fd> opened = own_directory::open(
      parent, {.names = 2, .missing = missing, .mode = mode, .purpose = " for layers on disk"});
  if (opened || opened.error().sys_errno == ENOENT) return opened;
  Error error = std::move(opened).error();
  if (error.sys_errno == EMFILE || error.sys_errno == ENFILE) {
    error.hint = sys::common_remedy(error.sys_errno);
    return error;
  }
  if (!error.hint.empty()) error.hint += ", or ";
  error.hint += elsewhere(parent);
  return error;
}

struct Place {
  std::string parent, name;
};

Place place_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return {.parent = path.substr(0, slash), .name = path.substr(slash + 1)};
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

  // Nobody is there any more who could mind the mode.
  static Result<Fd> open_writable(const Fd& directory, const char* name) {
    const Fd place = TRY(sys::open_directory_beneath(directory, name, O_PATH));
    if (TRY(sys::fstat(place, name)).owner == ::geteuid()) {
      TRY(Loan::take(place, S_IRWXU)).keep();
    }
    return sys::open_directory_at(place.get(), ".");
  }

  Fd top_;
  std::int64_t deadline_ns_;
  std::uint64_t lifted_ = 0;
};

// Makes a fresh directory known as a layer. Empty: a janitor was faster.
Result<Fd> lock_new(const Fd& parent, const std::string& name) {
  Result<Fd> directory = sys::open_directory_at(parent.get(), name.c_str());
  if (!directory && directory.error().sys_errno == ENOENT) return Fd();
  if (!directory) return std::move(directory).error();
  if (!TRY(sys::try_lock(*directory, name))) return Fd();
  if (!sys::is_at(parent, name.c_str(), TRY(sys::fstat(*directory, name)))) return Fd();
  // Where there are no user xattrs, the child half finds out and says so.
  static_cast<void>(::fsetxattr(directory->get(), layer::kMark, "1", 1, 0));
  return std::move(*directory);
}

// What a run of the same name left that was killed.
Result<void> remove_stale(const std::string& path, const std::string& parent,
                          const std::string& name) {
  constexpr std::int64_t kPatience = 10'000'000'000;
  const Found found = TRY(find(path, 0));
  if (found.state == Found::State::Nothing) return {};
  if (found.state == Found::State::Stale)
    return remove(found.layer, sys::boottime_ns() + kPatience);
  Error error = unfit(parent, "there is a layer of that name: " + shown(name));
  if (found.state == Found::State::Foreign) {
    error = unfit(parent, "what is at " + shown(name) + " is no layer of mayfly's");
  }
  error.hint = "choose another --name";
  return error;
}

enum class Kind { Layer, Unfinished, Foreign };

// A layer is marked as soon as it is locked; one without a mark that is empty was to become one.
Result<Kind> kind_of(const Fd& directory, const sys::Identity& identity) {
  constexpr std::int64_t kTimeToLock = 10'000'000'000;
  if (::fgetxattr(directory.get(), layer::kMark, nullptr, 0) >= 0) return Kind::Layer;
  if (!TRY(sys::names_in(directory, "a layer on disk", 1)).empty()) return Kind::Foreign;
  const std::int64_t age = sys::realtime_ns() - identity.changed_ns;
  return age >= 0 && age < kTimeToLock ? Kind::Unfinished : Kind::Layer;
}

}  // namespace

Result<Fd> open_parent(const std::string& parent) {
  return open_parent(parent, own_directory::Missing::Fail);
}

Result<Made> make(const std::string& parent, const std::string& id, Owner owner) {
  if (parent.empty()) return unfit("the cache directory", "the caller has no home directory");
  Made made;
  made.parent = TRY(open_parent(parent, own_directory::Missing::Make));
  TRY(check_file_system(made.parent, parent));
  made.path = parent + "/" + id;
  constexpr int kRounds = 50;
  for (int round = 0; round < kRounds && !made.directory; ++round) {
    Result<bool> is_new = sys::mkdirat(made.parent, id.c_str(), 0700);
    if (!is_new) {
      Error error = std::move(is_new).error();
      error.action = "make the layer on disk, " + shown(made.path);
      error.hint = elsewhere(parent);
      return error;
    }
    if (*is_new) {
      made.directory = TRY(lock_new(made.parent, id));
    } else {
      TRY(remove_stale(made.path, parent, id));
    }
  }
  if (!made.directory) return unfit(parent, "others remove it: " + shown(id));
  const bool other = owner.uid != ::geteuid() || owner.gid != ::getegid();
  if (other && ::fchown(made.directory.get(), owner.uid, owner.gid) != 0) {
    const Error error =
        sys::errno_error("give the layer to the sandbox", "fchown(" + shown(made.path) + ")");
    static_cast<void>(remove(made, 0));
    return error;
  }
  return made;
}

Result<Found> find(const std::string& path, std::uint64_t inode) {
  using State = Found::State;
  const Place place = place_of(path);
  Found found;
  found.layer.path = path;
  Result<Fd> parent = open_parent(place.parent);
  if (!parent && parent.error().sys_errno == ENOENT) return found;
  found.layer.parent = TRY(std::move(parent));
  const auto is = [&](State state) {
    found.state = state;
    return std::move(found);
  };
  Result<Fd> directory = sys::open_directory_beneath(found.layer.parent, place.name.c_str());
  if (!directory) {
    const int error = directory.error().sys_errno;
    if (error == ENOENT) return is(State::Nothing);
    if (error == ENOTDIR || error == ELOOP || error == EXDEV) return is(State::Foreign);
    return std::move(directory).error();
  }
  const sys::Identity identity = TRY(sys::fstat(*directory, path));
  const Kind kind = inode == 0                ? TRY(kind_of(*directory, identity))
                    : inode == identity.inode ? Kind::Layer
                                              : Kind::Foreign;
  if (kind == Kind::Foreign) return is(State::Foreign);
  if (kind == Kind::Unfinished || !TRY(sys::try_lock(*directory, path))) return is(State::InUse);
  // Whoever held it until now may have removed it.
  if (!sys::is_at(found.layer.parent, place.name.c_str(), identity)) return is(State::Nothing);
  found.layer.directory = std::move(*directory);
  return is(State::Stale);
}

Result<void> remove(const Made& made, std::int64_t deadline_ns) {
  if (!made.directory) return {};
  const Place place = place_of(made.path);
  Fd top = TRY(sys::open_directory_at(made.directory.get(), "."));
  TRY(Removal(std::move(top), deadline_ns).run());
  if (sys::is_at(made.parent, place.name.c_str(), TRY(sys::fstat(made.directory, made.path)))) {
    TRY(sys::unlinkat(made.parent, place.name.c_str(), sys::Entry::Directory));
    return {};
  }
  struct stat info = {};
  if (::fstat(made.directory.get(), &info) == 0 && info.st_nlink == 0) return {};
  return Error{.kind = ErrorKind::Setup,
               .sys_errno = 0,
               .action = "remove the layer " + shown(made.path) +
                         ": it was moved, and is empty now; what has its name is left alone",
               .call = {},
               .hint = {}};
}

Result<Fd> open_to_list(const Fd& directory, const char* name) {
  Result<Fd> opened = sys::open_directory_beneath(directory, name);
  if (opened || opened.error().sys_errno != EACCES) return opened;
  // Opened by itself and not by its name, which may be another directory's by now.
  const Fd place = TRY(sys::open_directory_beneath(directory, name, O_PATH));
  const Loan loan = TRY(Loan::take(place, S_IRUSR | S_IXUSR));
  return sys::open_directory_at(place.get(), ".");
}

}  // namespace mayfly::isolate::disk_layer
