#include "isolate/cgroup_ground.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "host/cgroup_places.hpp"
#include "isolate/cgroup.hpp"
#include "isolate/scope.hpp"
#include "plan/limits.hpp"
#include "sys/entries.hpp"
#include "sys/files.hpp"
#include "sys/mounts.hpp"

namespace mayfly::isolate::cgroup {
namespace {

using host::Controllers;

// What we have enabled, of what was not.
constexpr const char* kMark = "user.mayfly.enabled";

Result<Controllers> read_controllers(const Fd& directory, const char* file) {
  std::string buffer;
  return host::parse_controllers(TRY(sys::read_whole_file(directory.get(), file, buffer, 4096)));
}

Controllers read_mark(const Fd& directory) {
  char text[128];
  const ssize_t size = ::fgetxattr(directory.get(), kMark, text, sizeof text);
  return size <= 0 ? Controllers{}
                   : host::parse_controllers({text, static_cast<std::size_t>(size)});
}

// "+memory +pids", in one write: all or nothing.
std::string change(char sign, Controllers controllers) {
  return sign + names_of(controllers, std::string(" ") + sign);
}

Result<void> move_here(const Fd& directory, const char* file, const std::string& path) {
  return sys::write_file_at(directory.get(), file, std::to_string(::getpid()), path);
}

// Nobody else has the ground's lock: then what the mark says is to be undone.
void undo_if_alone(const Fd& directory, const std::string& path) {
  const Controllers mark = read_mark(directory);
  if (mark.none() || ::flock(directory.get(), LOCK_EX | LOCK_NB) != 0) return;
  if (sys::write_file_at(directory.get(), "cgroup.subtree_control", change('-', mark), path)) {
    ::fremovexattr(directory.get(), kMark);
  }
}

std::string leaf_name(const std::string& id) {
  return "mayfly-" + id + "-supervisor";
}

// A user's manager has not all of them to give: io is seldom among them.
Result<void> drop_undelegated(const Fd& scope, plan::Plan& plan) {
  const Controllers missing =
      plan.cgroup.needed - TRY(read_controllers(scope, "cgroup.controllers"));
  if (missing.none()) return {};
  const std::string why = "systemd does not delegate it to the caller";
  if (plan.cgroup.best_effort) {
    plan::drop_controllers(plan, missing, why);
    return {};
  }
  return Error{.kind = ErrorKind::HostUnsupported,
               .sys_errno = 0,
               .action = "hold the sandbox to its limits: the " + names_of(missing) +
                         " controller is out of reach: " + why,
               .call = {},
               .hint =
                   "`systemctl edit user@.service` can add it to Delegate=; or start without "
                   "the limit: --limits=best-effort"};
}

}  // namespace

Result<Ground> Ground::take(plan::Plan& plan, const host::CgroupFacts& facts,
                            const std::string& id) {
  Ground ground;
  if (plan.cgroup.from_systemd) {
    TRY(enter_scope(id));
    plan.cgroup_parent = TRY(host::own_cgroup(facts));
    plan.cgroup.move_self = true;
    ground.is_scope_ = true;
  }
  ground.path_ = plan.cgroup_parent;
  ground.directory_ = TRY(sys::open_directory_at(AT_FDCWD, ground.path_.c_str()));
  if (ground.is_scope_) TRY(drop_undelegated(ground.directory_, plan));
  TRY(ground.lock());
  if (plan.cgroup.move_self) TRY(ground.leave(id));
  TRY(ground.enable(plan.cgroup.needed));
  return ground;
}

// Only for the moment in which another run undoes is it held exclusively.
Result<void> Ground::lock() {
  constexpr int kTries = 1000;
  constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 5'000'000};
  for (int i = 0; ::flock(directory_.get(), LOCK_SH | LOCK_NB) != 0; ++i) {
    if (errno != EINTR && (errno != EWOULDBLOCK || i == kTries)) {
      return sys::errno_error("share the cgroup " + shown(path_), "flock(" + shown(path_) + ")");
    }
    ::nanosleep(&kPause, nullptr);
  }
  return {};
}

Result<void> Ground::leave(const std::string& id) {
  const std::string name = leaf_name(id);
  TRY(make_directory(path_ + "/" + name));
  leaf_ = name;
  return move_here(directory_, (name + "/cgroup.procs").c_str(), path_);
}

Result<void> Ground::enable(Controllers needed) {
  const Controllers enabled = TRY(read_controllers(directory_, "cgroup.subtree_control"));
  const Controllers missing = needed - enabled;
  if (missing.none()) return {};
  // Before it is true: a mark too many is harmless, one too few leaves things enabled.
  const std::string mark = names_of(read_mark(directory_) | missing, " ");
  static_cast<void>(::fsetxattr(directory_.get(), kMark, mark.data(), mark.size(), 0));
  Result<void> set =
      sys::write_file_at(directory_.get(), "cgroup.subtree_control", change('+', missing), path_);
  if (set) return {};
  Error error = std::move(set).error();
  error.action = "enable the controllers " + names_of(missing) + " in " + shown(path_);
  if (error.sys_errno == EBUSY) error.hint = "other processes live in it: name a cgroup without";
  if (error.sys_errno == ENOENT) error.hint = "they are not delegated to it";
  return error;
}

void Ground::release() {
  if (!directory_) return;
  if (is_scope_) return directory_.reset();
  undo_if_alone(directory_, path_);
  if (!leaf_.empty() && move_here(directory_, "cgroup.procs", path_)) {
    static_cast<void>(sys::unlinkat(directory_, leaf_.c_str(), sys::Entry::Directory));
  }
  directory_.reset();
}

Ground& Ground::operator=(Ground&& other) noexcept {
  if (this == &other) return *this;
  release();
  path_ = std::move(other.path_);
  directory_ = std::move(other.directory_);
  leaf_ = std::move(other.leaf_);
  is_scope_ = other.is_scope_;
  return *this;
}

void give_back(const std::string& path, const std::string& id) {
  const Result<Fd> directory = sys::open_directory_at(AT_FDCWD, path.c_str());
  if (!directory) return;
  undo_if_alone(*directory, path);
  static_cast<void>(sys::unlinkat(*directory, leaf_name(id).c_str(), sys::Entry::Directory));
}

}  // namespace mayfly::isolate::cgroup
