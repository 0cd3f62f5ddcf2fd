#include "isolate/cgroup.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <string_view>
#include <utility>

#include "base/on_exit.hpp"
#include "base/text.hpp"
#include "sys/entries.hpp"
#include "sys/files.hpp"
#include "sys/mounts.hpp"

namespace mayfly::isolate::cgroup {

Result<void> make_directory(const std::string& path) {
  Result<void> made = sys::mkdir(path, 0755);
  if (made || made.error().sys_errno != EAGAIN) return made;
  Error error = std::move(made).error();
  error.action = "make the cgroup " + shown(path);
  error.hint =
      "the tree is full: a cgroup above it has as many below it as its cgroup.max.descendants "
      "allows, or as deep as its cgroup.max.depth does: raise them, or remove unused cgroups";
  return error;
}

namespace {

// gc leaves young ones alone, so that this takes a start that stood still.
Error lost_to_another(const std::string& path) {
  return Error{.kind = ErrorKind::Setup,
               .sys_errno = 0,
               .action = "keep the cgroup " + shown(path) + ": somebody else has its lock",
               .call = {},
               .hint = "`mayfly gc` may have taken it for a stale one: start again"};
}

// The dead in a cgroup keep it busy for some moments after it says that it is empty.
template <class Remove>
auto while_busy(const Remove& remove) -> decltype(remove()) {
  constexpr int kTries = 50;
  constexpr timespec kPause = {.tv_sec = 0, .tv_nsec = 2'000'000};
  for (int i = 0;; ++i) {
    auto removed = remove();
    if (removed || removed.error().sys_errno != EBUSY || i == kTries) return removed;
    ::nanosleep(&kPause, nullptr);
  }
}

// What a killed run of the same name left whose registry entry is gone, too. Locked by us it is
// nobody's; if somebody is in it, the kernel does not remove it.
Result<void> remove_stale(const std::string& path) {
  const Fd stale = TRY(sys::open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  const bool held = !TRY(sys::try_lock(stale, path));
  Result<void> removed = held ? Result<void>() : remove(path);
  if (removed && !held) return {};
  Error error = usage_error("make the cgroup " + shown(path) + ": there is one that is in use",
                            "choose another --name");
  if (removed || removed.error().sys_errno == EBUSY) return error;
  return removed;
}

}  // namespace

Result<Made> make(const std::string& parent, const std::string& id) {
  Made made;
  made.path = parent + "/mayfly-" + id;
  Result<void> fresh = make_directory(made.path);
  if (!fresh && fresh.error().sys_errno == EEXIST) {
    TRY(remove_stale(made.path));
    fresh = make_directory(made.path);
  }
  TRY(std::move(fresh));
  OnExit undo([&] { static_cast<void>(sys::rmdir(made.path)); });
  made.directory = TRY(sys::open(made.path, O_RDONLY | O_DIRECTORY));
  // Held as long as the directory is open here: gc takes an empty cgroup that nobody holds for one
  // that a killed supervisor left (src/supervise/janitor.hpp).
  if (!TRY(sys::try_lock(made.directory, made.path))) return lost_to_another(made.path);
  undo.cancel();
  return made;
}

namespace {

// True if a line of the file begins with what was asked for: io.max has one for each disk.
bool says(std::string_view content, const std::string& expected) {
  for (const std::string_view line : split(content, '\n')) {
    if (line == expected) return true;
  }
  return false;
}

Error not_held(const plan::CgroupKnob& knob, const Made& made, Error error) {
  error.action = "hold the sandbox to " + std::string(knob.file) + " " + knob.value;
  if (error.sys_errno == ENOENT) {
    error.hint = "the " + std::string(host::controller_name(knob.controller)) +
                 " controller is not enabled for " + made.path;
  } else if (error.sys_errno == ENODEV) {
    error.hint = "the kernel limits whole disks only, and not each kind of them";
  }
  return error;
}

Result<void> turn(const plan::CgroupKnob& knob, const Made& made) {
  const int directory = made.directory.get();
  if (Result<void> set = sys::write_file_at(directory, knob.file, knob.value, made.path); !set) {
    if (knob.optional && set.error().sys_errno == ENOENT) return {};
    return not_held(knob, made, std::move(set).error());
  }
  constexpr std::size_t kMostBytes = 64 << 10;
  std::string buffer;
  const std::string_view content =
      TRY(sys::read_whole_file(directory, knob.file, buffer, kMostBytes));
  if (says(content, knob.expected)) return {};
  return internal_error("hold the sandbox to " + std::string(knob.file) + " " + knob.value +
                        ": the kernel made it " + shown(content.substr(0, content.find('\n'))));
}

// A cgroup below one that somebody made threaded takes no process (EOPNOTSUPP).
Result<void> check_domain(const Made& made) {
  std::string buffer;
  const std::string_view type =
      TRY(sys::read_whole_file(made.directory.get(), "cgroup.type", buffer, 256));
  if (type.starts_with("domain\n")) return {};
  return Error{.kind = ErrorKind::Setup,
               .sys_errno = EOPNOTSUPP,
               .action = "use the cgroup " + shown(made.path) + ": it is " +
                         std::string(type.substr(0, type.find('\n'))),
               .call = {},
               .hint = "processes live in its parent: name another one with --cgroup-parent"};
}

}  // namespace

Result<void> limit(const Made& made, const plan::CgroupLimits& limits) {
  if (limits.knobs.empty()) return {};
  TRY(check_domain(made));
  for (const plan::CgroupKnob& knob : limits.knobs)
    TRY(turn(knob, made));
  return {};
}

std::optional<std::uint64_t> oom_kills(const Fd& directory) {
  if (!directory) return std::nullopt;
  std::string buffer;
  const auto events = sys::read_whole_file(directory.get(), "memory.events", buffer, 4096);
  return events ? number_of(*events, "oom_kill") : std::nullopt;
}

Result<void> forbid_below(const Made& made) {
  return sys::write_file_at(made.directory.get(), "cgroup.max.descendants", "0", made.path);
}

Result<void> add(const Made& made, pid_t pid) {
  return sys::write_file_at(made.directory.get(), "cgroup.procs", std::to_string(pid), made.path);
}

Result<void> remove(const std::string& path) {
  const Result<void> removed = while_busy([&] { return sys::rmdir(path); });
  if (!removed && removed.error().sys_errno == ENOENT) return {};
  return removed;
}

Result<bool> remove_from(const Fd& parent, const std::string& name) {
  return while_busy([&] { return sys::unlinkat(parent, name.c_str(), sys::Entry::Directory); });
}

}  // namespace mayfly::isolate::cgroup
