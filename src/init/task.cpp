#include "init/task.hpp"

#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

#include "init/interpreter.hpp"
#include "init/kernel.hpp"
#include "sys/kernel.hpp"

namespace mayfly::init {
namespace {

using launch::SpawnHeader;
using launch::Step;

// Each step answers 0 or -errno.

// rt_sigaction's structure: all zero is SIG_DFL, on both architectures.
struct KernelSigaction {
  unsigned long words[4] = {};
};

long reset_signals(std::uint64_t ignored) noexcept {
  const KernelSigaction by_default;
  for (int number = 1; number <= kMostSignals; ++number) {
    if ((ignored >> (number - 1) & 1) == 0) continue;
    const long error = call(__NR_rt_sigaction, number, arg(&by_default), 0, kSignalSetSize);
    if (error < 0) return error;
  }
  return set_blocked_signals(0);  // init blocks SIGCHLD
}

bool is_foreground_job(const Job& job) noexcept {
  return (job.request.header().flags & launch::kForegroundJob) != 0;
}

long new_session(Job& job) noexcept {
  // No action is a handler: those ended with the execve of init. Some may be to ignore.
  if (const long error = reset_signals(job.request.header().ignored_signals); error < 0)
    return error;
  call(__NR_umask, job.request.header().umask);
  if (is_foreground_job(job)) return call(__NR_setpgid, 0, 0);
  const long session = call(__NR_setsid);
  return session < 0 ? session : 0;
}

// init keeps 0-2 occupied, so none of the three and nothing else in use has such a number: no dup3
// here closes what a later one needs.
long take_stdio(Job& job) noexcept {
  for (int target = 0; target < 3; ++target)
    if (const long error = call(__NR_dup3, job.stdio[target], target, 0); error < 0) return error;
  // All of init's descriptors are close-on-exec already. Said once more: this is what stands
  // between the task and init's socket. (Closing them here would close the pipe that tells init of
  // the execve.)
  return call(__NR_close_range, 3, ~0U, CLOSE_RANGE_CLOEXEC);
}

// Whoever is not yet in the foreground is stopped by SIGTTOU for asking, unless that is blocked.
long come_to_foreground() noexcept {
  const int group = static_cast<int>(call(__NR_getpid));
  set_blocked_signals(1ULL << (SIGTTOU - 1));
  const long error = call(__NR_ioctl, 0, TIOCSPGRP, arg(&group));
  set_blocked_signals(0);
  return error;
}

long take_terminal(Job& job) noexcept {
  if (is_foreground_job(job)) return come_to_foreground();
  if ((job.request.header().flags & launch::kControllingTty) == 0) return 0;
  return call(__NR_ioctl, 0, TIOCSCTTY, 0);
}

long set_limits(Job& job) noexcept {
  const SpawnHeader& header = job.request.header();
  const auto* limits = job.request.table<launch::SpawnRlimit>(header.rlimit_offset);
  for (std::uint32_t i = 0; i < header.rlimit_count; ++i) {
    job.progress.index = i;
    const std::uint64_t limit[2] = {limits[i].soft, limits[i].hard};  // struct rlimit64
    const long error = call(__NR_prlimit64, 0, static_cast<int>(limits[i].resource), arg(limit), 0);
    if (error < 0) return error;
  }
  return 0;
}

long become_user(Job& job) noexcept {
  const SpawnHeader& header = job.request.header();
  if ((header.flags & launch::kSetIds) == 0) return 0;
  const auto uid = static_cast<long>(header.uid);
  const auto gid = static_cast<long>(header.gid);
  if (const long error = call(__NR_setgroups, 0, 0); error < 0) return error;
  if (const long error = call(__NR_setresgid, gid, gid, gid); error < 0) return error;
  if (const long error = call(__NR_setresuid, uid, uid, uid); error < 0) return error;
  // A change of id sets "dumpable" to fs.suid_dumpable, for init too: one memory. That opens init
  // to its tasks where it is 1, and any value but 0 lets a core dump of this child take init along
  // (before 5.16 a dump kills all that share the memory).
  return call(__NR_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0);
}

// Leaves exactly the capabilities that were asked for, and across the execve: ambient. Lowering the
// inheritable set lowers the ambient one with it.
long limit_capabilities(Job& job) noexcept {
  const std::uint64_t keep = job.request.header().keep_capabilities;
  const auto low = static_cast<std::uint32_t>(keep);
  const auto high = static_cast<std::uint32_t>(keep >> 32);
  const __user_cap_header_struct version{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  const __user_cap_data_struct sets[2] = {
      {.effective = low, .permitted = low, .inheritable = low},
      {.effective = high, .permitted = high, .inheritable = high},
  };
  if (const long error = call(__NR_capset, arg(&version), arg(sets)); error < 0) return error;
  for (int capability = 0; capability < 64; ++capability) {
    if ((keep >> capability & 1) == 0) continue;
    const long error = call(__NR_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, 0, 0);
    if (error == -EINVAL) break;  // beyond the last capability that this kernel knows
    if (error < 0) return error;
  }
  return 0;
}

// As the task's user: init's may not be allowed into its home.
long enter_directory(Job& job) noexcept {
  return call(__NR_chdir, arg(job.request.string(job.request.header().chdir_offset)));
}

long load_program(const Request& request, std::uint32_t offset, std::uint32_t count,
                  unsigned long flags) noexcept {
  const sock_fprog program{
      .len = static_cast<unsigned short>(count),
      .filter = const_cast<sock_filter*>(request.table<sock_filter>(offset)),
  };
  return call(__NR_seccomp, SECCOMP_SET_MODE_FILTER, static_cast<long>(flags), arg(&program));
}

long load_with(const Request& request, unsigned long flags) noexcept {
  return load_program(request, request.header().filter_offset, request.header().filter_count,
                      flags);
}

// Its own, where init has none, then those that init could not have worked under.
long load_filter(Job& job) noexcept {
  if (job.load_filter) {
    if (const long error = load_filter_of(job.request); error < 0) return error;
  }
  const SpawnHeader& header = job.request.header();
  const auto* stacked = job.request.table<launch::SpawnFilter>(header.stacked_offset);
  for (std::uint32_t i = 0; i < header.stacked_count; ++i) {
    const long error = load_program(job.request, stacked[i].offset, stacked[i].count, 0);
    if (error < 0) return error;
  }
  return 0;
}

// Like execvp: what is not there is passed over, what is there but may not be executed is
// remembered, anything else ends the search.
long execute(Job& job) noexcept {
  const SpawnHeader& header = job.request.header();
  const auto* paths = job.request.table<std::uint32_t>(header.path_offset);
  Progress& progress = job.progress;
  bool denied = false;
  for (std::uint32_t i = 0; i < header.pathc; ++i) {
    const char* path = job.request.string(paths[i]);
    const long error = call(__NR_execve, arg(path), arg(job.argv), arg(job.envp));
    const bool absent = error == -ENOENT || error == -ENOTDIR;
    if (absent && denied) continue;
    progress.index = i;
    // Before looking closer: a filter may kill this child for that.
    progress.error = static_cast<int>(-error);
    if (error == -EACCES)
      denied = true;
    else if (!absent || find_missing_interpreter(path, progress.interpreter))
      break;
  }
  return -progress.error;
}

struct TaskStep {
  Step step;
  long (*run)(Job&) noexcept;
};

// The order: limits before the ids change (a root of its own may still raise them), everything that
// a filter could refuse before the filter, the directory as the task's user.
constexpr TaskStep kSteps[] = {
    {Step::TaskSession, new_session},   {Step::TaskStdio, take_stdio},
    {Step::TaskSession, take_terminal}, {Step::TaskRlimit, set_limits},
    {Step::TaskUser, become_user},      {Step::TaskUser, limit_capabilities},
    {Step::TaskChdir, enter_directory}, {Step::TaskFilter, load_filter},
    {Step::TaskExec, execute},
};

}  // namespace

long load_filter_of(const Request& request) noexcept {
  return load_with(request, 0);
}

// Since 5.19 a call that was told of can be interrupted by a fatal signal only: without that, a
// program that gets many signals would ask for ever.
long load_asking_filter_of(const Request& request) noexcept {
  const long listener =
      load_with(request, SECCOMP_FILTER_FLAG_NEW_LISTENER | sys::kSeccompWaitKillable);
  return listener != -EINVAL ? listener : load_with(request, SECCOMP_FILTER_FLAG_NEW_LISTENER);
}

void run_task(void* argument) noexcept {
  Job& job = *static_cast<Job*>(argument);
  for (const TaskStep& step : kSteps) {
    job.progress.step = step.step;
    job.progress.index = 0;
    if (const long error = step.run(job); error < 0) {
      job.progress.error = static_cast<int>(-error);
      break;
    }
  }
  exit_group(launch::kInitBroken);
}

}  // namespace mayfly::init
