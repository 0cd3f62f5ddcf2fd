#include "isolate/cgroup.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

#include "base/on_exit.hpp"
#include "sys/entries.hpp"
#include "sys/mounts.hpp"

namespace mayfly::isolate::cgroup {

Result<Made> make(const std::string& parent, const std::string& id) {
  Made made;
  made.path = parent + "/mayfly-" + id;
  TRY(sys::mkdir(made.path, 0755));
  OnExit undo([&] { static_cast<void>(sys::rmdir(made.path)); });
  made.directory = TRY(sys::open(made.path, O_RDONLY | O_DIRECTORY));
  // Held as long as the directory is open here: gc takes an empty cgroup that nobody holds for one
  // that a killed supervisor left (src/supervise/janitor.hpp).
  TRY(sys::try_lock(made.directory, made.path));
  undo.cancel();
  return made;
}

Result<void> forbid_below(const Made& made) {
  return sys::write_file_at(made.directory.get(), "cgroup.max.descendants", "0", made.path);
}

Result<void> add(const Made& made, pid_t pid) {
  return sys::write_file_at(made.directory.get(), "cgroup.procs", std::to_string(pid), made.path);
}

Result<void> remove(const std::string& path) {
  constexpr int kTries = 50;
  constexpr timespec kPause = {.tv_sec = 0, .tv_nsec = 2'000'000};
  for (int i = 0;; ++i) {
    const Result<void> removed = sys::rmdir(path);
    if (removed || removed.error().sys_errno == ENOENT) return {};
    if (removed.error().sys_errno != EBUSY || i == kTries) return removed;
    ::nanosleep(&kPause, nullptr);
  }
}

}  // namespace mayfly::isolate::cgroup
