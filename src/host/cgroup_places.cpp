#include "host/cgroup_places.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "host/mounts.hpp"
#include "sys/files.hpp"

namespace mayfly::host {
namespace {

constexpr std::size_t kMostBytes = 1u << 20;
constexpr int kMostCgroups = 256;
constexpr int kMostProcesses = 4096;
constexpr std::string_view kSandboxPrefix = "mayfly-";

std::string read_text(const std::string& path) {
  std::string buffer;
  const auto text = sys::read_whole_file(AT_FDCWD, path.c_str(), buffer, kMostBytes);
  return text ? std::string(*text) : std::string();
}

Controllers read_controllers(const std::string& path) {
  return parse_controllers(read_text(path));
}

// The root of the whole tree, in our view or not, is the only cgroup without a type.
bool is_root_of_tree(const std::string& path) {
  return !sys::may_access(AT_FDCWD, (path + "/cgroup.type").c_str(), F_OK);
}

bool may_change(const std::string& path) {
  const auto writable = [](const std::string& file) {
    return sys::may_access(AT_FDCWD, file.c_str(), W_OK);
  };
  return writable(path) && writable(path + "/cgroup.procs") &&
         writable(path + "/cgroup.subtree_control");
}

// The processes that live directly in a cgroup. 0 is one that our pid namespace does not show.
struct Residents {
  bool self = false;
  bool others = false;
};

Residents residents(const std::string& path) {
  Residents found;
  const std::string self = std::to_string(::getpid());
  const std::string text = read_text(path + "/cgroup.procs");
  for (const std::string_view line : split(text, '\n')) {
    if (line.empty()) continue;
    (line == self ? found.self : found.others) = true;
  }
  return found;
}

class Census {
 public:
  bool only_own(const std::string& path) {
    if (++cgroups_ > kMostCgroups) return false;
    const std::string text = read_text(path + "/cgroup.procs");
    for (const std::string_view line : split(text, '\n')) {
      if (!line.empty() && !is_own(line)) return false;
    }
    const auto directory = sys::openat(AT_FDCWD, path.c_str(), O_RDONLY | O_DIRECTORY);
    if (!directory) return false;
    sys::DirectoryReader reader(*directory, path);
    for (;;) {
      const auto entry = reader.next();
      if (!entry) return false;
      if (entry->name == nullptr) return true;
      const std::string_view name = entry->name;
      if (entry->type != DT_DIR || name.starts_with(kSandboxPrefix)) continue;
      if (!only_own(path + "/" + std::string(name))) return false;
    }
  }

 private:
  // One that has ended meanwhile is nobody's.
  bool is_own(std::string_view pid) {
    if (++processes_ > kMostProcesses || pid == "0") return false;
    struct stat info = {};
    const std::string path = "/proc/" + std::string(pid);
    if (::stat(path.c_str(), &info) != 0) return errno == ENOENT || errno == ESRCH;
    return info.st_uid == ::geteuid();
  }

  int cgroups_ = 0;
  int processes_ = 0;
};

bool has_mark(const std::string& path, const char* name) {
  char value[2] = {};
  return ::getxattr(path.c_str(), name, value, sizeof value) == 1 && value[0] == '1';
}

// systemd is the only writer in what it manages, but for units with Delegate=yes. The user
// managers are delegated, too: to themselves.
bool is_managed_by_systemd(const std::string& mount, std::string path) {
  if (!sys::may_access(AT_FDCWD, "/run/systemd/system", F_OK)) return false;
  while (path.size() > mount.size()) {
    const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
    const bool delegable = name.ends_with(".service") || name.ends_with(".scope");
    if (delegable || name.ends_with(".slice")) {
      const bool manager = name.starts_with("user@") || name == "init.scope";
      return manager || !delegable ||
             !(has_mark(path, "user.delegate") || has_mark(path, "trusted.delegate"));
    }
    path.resize(path.rfind('/'));
  }
  return false;
}

std::string why_not_enable(CgroupPlace::Kind kind, const std::string& path,
                           const Residents& residents) {
  if (residents.others) {
    return "other processes live in " + path + ", where the kernel lets nobody enable a controller";
  }
  if (kind != CgroupPlace::Kind::Named && !only_own_processes(path)) {
    return "processes of other users live in " + path;
  }
  return {};
}

}  // namespace

Controllers parse_controllers(std::string_view list) {
  Controllers found;
  for (const std::string_view line : split(list, '\n')) {
    for (const std::string_view word : split(line, ' ')) {
      for (const Controller controller : kControllers) {
        if (word == controller_name(controller)) found = found | controller;
      }
    }
  }
  return found;
}

std::string names_of(Controllers controllers, std::string_view separator) {
  std::string text;
  for (const Controller controller : kControllers) {
    if (!controllers.has(controller)) continue;
    if (!text.empty()) text += separator;
    text += controller_name(controller);
  }
  return text;
}

Controllers read_controllers_of(const std::string& path) {
  return read_controllers(path + "/cgroup.controllers");
}

Result<std::string> own_cgroup(const CgroupFacts& cgroup) {
  std::string buffer;
  const auto text = TRY(sys::read_whole_file(AT_FDCWD, "/proc/self/cgroup", buffer, kMostBytes));
  for (const std::string_view line : split(text, '\n')) {
    if (line.starts_with("0::/")) return cgroup.mount + std::string(line.substr(3));
  }
  return internal_error("find our own cgroup: /proc/self/cgroup does not say");
}

bool only_own_processes(const std::string& path) {
  return Census().only_own(path);
}

CgroupPlace look_at_place(CgroupPlace::Kind kind, const std::string& path, Controllers wanted) {
  CgroupPlace place{.kind = kind, .path = path};
  if (!may_change(path)) {
    place.why_not = path + " is not writable for the caller";
    return place;
  }
  const std::string type = read_text(path + "/cgroup.type");
  if (!type.empty() && !type.starts_with("domain\n")) {
    place.why_not = path + " is " + type.substr(0, type.find('\n')) + ", not a domain";
    return place;
  }
  place.enabled = read_controllers(path + "/cgroup.subtree_control");
  place.gives = place.enabled;
  const Controllers available = read_controllers_of(path);
  const Controllers missing = wanted - place.enabled;
  if (missing.none()) return place;
  if ((missing & available).none()) {
    place.why_not = path + " has no " + names_of(missing) + " controller";
    return place;
  }
  const Residents living = residents(path);
  place.why_not = why_not_enable(kind, path, living);
  if (!place.why_not.empty()) return place;
  place.gives = place.enabled | available;
  place.move_self = living.self;
  if (!place.gives.has(wanted)) {
    place.why_not = path + " has no " + names_of(wanted - place.gives) + " controller";
  }
  return place;
}

void look_for_places(CgroupFacts& cgroup, Controllers wanted, const std::string& named) {
  cgroup.in_tree = read_controllers_of(cgroup.mount);
  cgroup.has_systemd = sys::may_access(AT_FDCWD, "/run/systemd/system", F_OK);
  if (!named.empty()) {
    cgroup.places.push_back(look_at_place(CgroupPlace::Kind::Named, named, wanted));
    return;
  }
  if (cgroup.mount.empty()) return;
  std::string path = own_cgroup_dir(cgroup);
  CgroupPlace::Kind kind = CgroupPlace::Kind::Own;
  while (path.size() >= cgroup.mount.size() && !is_root_of_tree(path)) {
    CgroupPlace place{.kind = kind, .path = path};
    if (is_managed_by_systemd(cgroup.mount, path)) {
      place.why_not = "systemd manages " + path + " and has not delegated it";
    } else {
      place = look_at_place(kind, path, wanted);
    }
    cgroup.places.push_back(std::move(place));
    if (path.size() == cgroup.mount.size()) break;
    path.resize(path.rfind('/'));
    kind = CgroupPlace::Kind::Ancestor;
  }
}

}  // namespace mayfly::host
