// Attempts: cgroup v2, in a child of our own cgroup that is removed again.
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "base/fd.hpp"
#include "host/attempts.hpp"
#include "host/cgroup_places.hpp"
#include "host/mounts.hpp"
#include "sys/files.hpp"
#include "sys/mounts.hpp"
#include "sys/raw_calls.hpp"

namespace mayfly::host::attempts {
namespace {

void pause_ms(long ms) {
  const timespec span = {.tv_sec = 0, .tv_nsec = ms * 1'000'000};
  ::nanosleep(&span, nullptr);
}

// A fresh cgroup for one attempt: the kernel may kill at birth what is cloned into a used one.
class TrialCgroup {
 public:
  explicit TrialCgroup(const HostFacts& facts)
      : path_(own_cgroup_dir(facts.cgroup) + "/mayfly-trial-" + std::to_string(::getpid())) {
    if (::mkdir(path_.c_str(), 0755) != 0) {
      error_ = errno;
      return;
    }
    directory_ = Fd(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  TrialCgroup(const TrialCgroup&) = delete;
  TrialCgroup& operator=(const TrialCgroup&) = delete;
  ~TrialCgroup() {
    if (error_ != 0) return;
    // The last process may still be on its way out.
    for (int tries = 0; ::rmdir(path_.c_str()) != 0 && errno == EBUSY && tries < 200; ++tries)
      pause_ms(5);
  }

  [[nodiscard]] Finding made() const {
    if (error_ != 0) return failed(-error_, "mkdir(\"" + path_ + "\")");
    return directory_ ? found() : failed(-ENOENT, "open(\"" + path_ + "\")");
  }
  [[nodiscard]] int directory() const { return directory_.get(); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  Fd directory_;
  int error_ = 0;
};

}  // namespace

Finding cgroup_clone(const HostFacts& facts) {
  const TrialCgroup cgroup(facts);
  if (Finding made = cgroup.made(); !made.works) return made;
  clone_args args = {};
  args.flags = sys::kCloneIntoCgroup;
  args.cgroup = static_cast<std::uint64_t>(cgroup.directory());
  args.exit_signal = SIGCHLD;
  const long pid = sys::raw::call(__NR_clone3, sys::raw::arg(&args), sizeof args);
  if (pid < 0) return failed(pid, "clone3(CLONE_INTO_CGROUP)");
  if (pid == 0) sys::raw::exit_group(7);
  int status = 0;
  ::waitpid(static_cast<pid_t>(pid), &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 7) return found();
  return failed(0, "the child was killed at its birth");
}

Finding cgroup_kill(const HostFacts& facts) {
  const TrialCgroup cgroup(facts);
  if (Finding made = cgroup.made(); !made.works) return made;
  const pid_t victim = ::fork();
  if (victim < 0) return failed(-errno, "fork()");
  if (victim == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;)
      ::pause();
  }
  auto done =
      sys::write_file_at(cgroup.directory(), "cgroup.procs", std::to_string(victim), cgroup.path());
  if (done) done = sys::write_file_at(cgroup.directory(), "cgroup.kill", "1", cgroup.path());
  const bool killed = static_cast<bool>(done);
  if (!killed) ::kill(victim, SIGKILL);
  int status = 0;
  ::waitpid(victim, &status, 0);
  if (!killed) return failed(-done.error().sys_errno, done.error().call);
  return WIFSIGNALED(status) ? found() : failed(0, "the process outlived cgroup.kill");
}

Finding cgroup_memory_peak(const HostFacts& facts) {
  const std::string path = own_cgroup_dir(facts.cgroup) + "/memory.peak";
  std::string buffer;
  const auto peak = sys::read_whole_file(AT_FDCWD, path.c_str(), buffer, 64);
  return peak ? found() : failed(-peak.error().sys_errno, peak.error().call);
}

// By the rules of a run with limits, with all controllers that there are.
Finding cgroup_controllers(const HostFacts& facts) {
  CgroupFacts cgroup = facts.cgroup;
  if (cgroup.mount.empty()) return failed(0, "no cgroup v2 tree is mounted");
  const Controllers all = read_controllers_of(cgroup.mount);
  if (all.none()) return failed(0, "none in " + cgroup.mount);
  look_for_places(cgroup, all, {});
  const CgroupPlace* best = nullptr;
  for (const CgroupPlace& place : cgroup.places) {
    if (place.gives.none()) continue;
    if (best == nullptr || !best->gives.has(place.gives)) best = &place;
  }
  if (best != nullptr) return found(names_of(best->gives) + ", below " + best->path);
  if (cgroup.has_systemd) return found(names_of(all) + " or some of them, in a scope of systemd's");
  return failed(0, cgroup.places.empty() ? "none can be given by " + own_cgroup_dir(cgroup)
                                         : cgroup.places.front().why_not);
}

}  // namespace mayfly::host::attempts
