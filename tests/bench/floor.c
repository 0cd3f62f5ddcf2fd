// The floor: the isolation of `mayfly run -- CMD`, by hand, with no options, words or reports.
//
// It answers "how fast could this be?": mayfly's goal is a ratio to it. Usage: floor /PROGRAM ARG…
// in a directory outside /usr and /etc. Exit code: the task's own, 128 + n after signal n, 125 with
// the step that failed. Linux 5.14, or 6.6 for an ordinary user (user xattrs on tmpfs).
//
// This file is the supervisor; floor_child.c builds the sandbox; floor_init.c is its pid 1.
//
// Simpler than mayfly: init has the task's id, there is no TTL, no relay, and the layer is not
// kept.
#define _GNU_SOURCE
#include <linux/mount.h>
#include <linux/sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "floor_init.h"
#include "floor_parts.h"
#include "trace.h"

enum { kStackSize = 64 << 10, kRangeSize = 65536 };

struct Floor the;
static char cgroup[PATH_MAX + 64];
TRACE_STORAGE

// A throwaway range above 0x80000, held by a lock on one byte as long as we live.
static unsigned lock_id_range(void) {
  const long fd = NEED("/run/mayfly-floor.ids", openat, AT_FDCWD, "/run/mayfly-floor.ids",
                       O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  for (int tries = 0, slot = getpid() % 28000; tries < 28000; ++tries, slot = (slot + 1) % 28000) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = slot, .l_len = 1};
    const long locked = RAW(fcntl, fd, F_OFD_SETLK, &lock);
    if (locked == 0) return (8u + (unsigned)slot) << 16;
    if (locked != -EAGAIN) fail("fcntl", "id range", locked);
  }
  fail("fcntl", "every id range is taken", -EAGAIN);
}

// The descriptor of a fresh cgroup below our own, or -1 where that is not writable.
static long make_cgroup(void) {
  static char own[PATH_MAX];
  const char* mounted = access("/sys/fs/cgroup/cgroup.procs", F_OK) == 0 ? "/sys/fs/cgroup"
                                                                         : "/sys/fs/cgroup/unified";
  const long fd =
      NEED("own cgroup", openat, AT_FDCWD, "/proc/self/cgroup", O_RDONLY | O_CLOEXEC, 0);
  const long size = NEED("own cgroup", read, fd, own, sizeof own - 1);
  NEED("own cgroup", close, fd);
  own[size] = '\0';
  char* line = strncmp(own, "0::", 3) == 0 ? own : strstr(own, "\n0::");
  if (line == NULL) return -1;
  line = strchr(line, '/');
  line[strcspn(line, "\n")] = '\0';
  snprintf(cgroup, sizeof cgroup, "%s%s/floor-%d", mounted, line[1] ? line : "", getpid());
  if (mkdir(cgroup, 0755) != 0) return -1;
  return NEED(cgroup, openat, AT_FDCWD, cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
}

static long clone_tree(const char* tree) {
  return NEED(tree, open_tree, AT_FDCWD, tree, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
}

static void prepare(void) {
  the.uid = getuid(), the.gid = getgid();
  if (getcwd(the.cwd, sizeof the.cwd) == NULL || the.cwd[1] == '\0')
    fail("getcwd", "a project", -ENOENT);
  snprintf(the.path, sizeof the.path, "s%s", the.cwd);
  snprintf(the.project, sizeof the.project, "lowerdir=%s,upperdir=u3,workdir=w3,userxattr",
           the.uid == 0 ? "lc" : the.cwd);
  the.supervisor = (int)NEED("self", pidfd_open, getpid(), 0);
  NEED("pair", socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, the.pair);
  the.init_image = (int)NEED("init", memfd_create, "init", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (NEED("init", write, the.init_image, floor_init, sizeof floor_init) != sizeof floor_init)
    fail("write", "init", -EIO);
  NEED("init", fcntl, the.init_image, F_ADD_SEALS,
       F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
  if (the.uid != 0) return;
  the.usr_tree = (int)clone_tree("/usr");
  the.cwd_tree = (int)clone_tree(the.cwd);
}

static void write_map(long pid, const char* which, unsigned own, unsigned range) {
  char file[64], map[64];
  snprintf(file, sizeof file, "/proc/%ld/%s", pid, which);
  if (range != 0)
    snprintf(map, sizeof map, "0 %u %u", range, kRangeSize);
  else
    snprintf(map, sizeof map, "%u %u 1", own, own);
  put(file, 0, 0, map);
}

static void map_ids(long pid) {
  char file[64];
  const unsigned range = the.uid == 0 ? lock_id_range() : 0;
  write_map(pid, "uid_map", the.uid, range);
  snprintf(file, sizeof file, "/proc/%ld/setgroups", pid);
  if (the.uid != 0) put(file, 0, 0, "deny");
  write_map(pid, "gid_map", the.gid, range);
  TRACE_PARENT("id maps");
  if (the.uid != 0) return;
  snprintf(file, sizeof file, "/proc/%ld/ns/user", pid);
  const long ns = NEED(file, openat, AT_FDCWD, file, O_RDONLY | O_CLOEXEC, 0);
  struct mount_attr shift = {.attr_set = MOUNT_ATTR_IDMAP, .userns_fd = (unsigned long)ns};
  NEED("/usr", mount_setattr, the.usr_tree, "", AT_EMPTY_PATH, &shift, sizeof shift);
  NEED(the.cwd, mount_setattr, the.cwd_tree, "", AT_EMPTY_PATH, &shift, sizeof shift);
  TRACE_PARENT("id-mapped mounts");
}

int main(int argc, char** argv) {
  TRACE_PARENT("exec of the floor to main");
  if (argc < 2) fail("main", "usage: floor /PROGRAM ARG…", -EINVAL);
  the.task_argv = argv + 1;
  prepare();
  TRACE_PARENT("prepare");
  const long cgroup_fd = make_cgroup();
  TRACE_PARENT("cgroup");
  char* stack = mmap(NULL, kStackSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (stack == MAP_FAILED) fail("mmap", "stack", -ENOMEM);
  NEED("guard page", mprotect, stack, 4096, PROT_NONE);
  sigset_t every;
  sigfillset(&every);
  NEED("signals", rt_sigprocmask, SIG_SETMASK, &every, &the.caller_mask, 8);
  int pidfd = -1;
  struct clone_args args = {.flags = CLONE_VM | CLONE_PIDFD | CLONE_NEWUSER | CLONE_NEWNS |
                                     CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS |
                                     CLONE_NEWCGROUP,
                            .pidfd = (unsigned long)&pidfd,
                            .exit_signal = SIGCHLD,
                            .stack = (unsigned long)stack,
                            .stack_size = kStackSize};
  if (cgroup_fd >= 0) args.flags |= CLONE_INTO_CGROUP, args.cgroup = (unsigned long)cgroup_fd;
  const long pid =
      need("clone3", "child", raw_clone(__NR_clone3, (long)&args, sizeof args, child, NULL));
  TRACE_PARENT("> clone3");
  NEED("pair", close, the.pair[1]);
  map_ids(pid);
  RAW(sendto, the.pair[0], "g", 1, MSG_NOSIGNAL);  // a child that failed already is reaped below
  TRACE_PARENT("go");
  struct FloorReport report;
  const long size = NEED("report", read, the.pair[0], &report, sizeof report);
  TRACE_PARENT("wait for the report");
  siginfo_t ended;
  NEED("init", waitid, P_PIDFD, pidfd, &ended, WEXITED, NULL);
  TRACE_PARENT("init reaped");
  if (cgroup_fd >= 0) NEED(cgroup, unlinkat, AT_FDCWD, cgroup, AT_REMOVEDIR);
  TRACE_PARENT("rmdir of the cgroup");
  if (size != sizeof report) return ended.si_code == CLD_EXITED ? ended.si_status : 125;
  trace_print(&report);
  return WIFEXITED(report.status) ? WEXITSTATUS(report.status) : 128 + WTERMSIG(report.status);
}
