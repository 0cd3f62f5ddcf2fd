// The floor: the isolation of `mayfly run -- CMD`, by hand, with no options, words or reports.
//
// It answers "how fast could this be?": mayfly's goal is a ratio to it. Usage: floor /PROGRAM ARG…
// in a directory outside /usr and /etc. Exit code: the task's own, 128 + n after signal n, 125 with
// the step that failed. Linux 5.14, or 6.6 for an ordinary user (user xattrs on tmpfs).
// The child half shares our memory (CLONE_VM), so from the clone on both sides make raw calls only.
//
// Simpler than mayfly: init has the task's id, there is no TTL, no relay, and the layer is not kept.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <linux/keyctl.h>
#include <linux/landlock.h>
#include <linux/mount.h>
#include <linux/sched.h>
#include <limits.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "floor.h"
#include "floor_init.h"
#include "raw.h"
#include "trace.h"

enum { kStackSize = 64 << 10, kRangeSize = 65536, kDetach = 2 /* MNT_DETACH */ };

static char cwd[PATH_MAX], path[PATH_MAX + 64], cgroup[PATH_MAX + 64];
static char** task_argv;
static int pair[2], supervisor, init_image, usr_tree = -1, cwd_tree = -1;
static unsigned uid, gid;
static sigset_t caller_mask;

static _Noreturn void fail(const char* call, const char* what, long error) {
  char line[PATH_MAX + 256];
  const int n = snprintf(line, sizeof line, "floor: %s(%s): %s\n", call, what, strerror((int)-error));
  RAW(write, 2, line, n);
  for (;;) RAW(exit_group, 125);
}
static long need(const char* call, const char* what, long result) {
  if (result < 0) fail(call, what, result);
  return result;
}
#define NEED(what, call, ...) need(#call, what, RAW(call, ##__VA_ARGS__))

static void put(const char* file, int flags, unsigned mode, const char* text) {
  const long fd = NEED(file, openat, AT_FDCWD, file, O_WRONLY | O_CLOEXEC | flags, mode);
  const size_t size = strlen(text);
  if (size && NEED(file, write, fd, text, size) != (long)size) fail("write", file, -EIO);
  NEED(file, close, fd);
}
static void make_dir(const char* name, unsigned mode) {
  NEED(name, mkdirat, AT_FDCWD, name, mode);
}
static void mount(const char* from, const char* to, const char* type, long flags, const char* data) {
  NEED(to, mount, from, to, type, flags, data);
}
static void overlay(const char* to, const char* options) {
  mount("overlay", to, "overlay", MS_NOSUID | MS_NODEV, options);
}

// --- the child half -----------------------------------------------------------------------------

static void become_root_of_namespace(void) {
  char go;
  if (NEED("go", read, pair[1], &go, 1) != 1) fail("read", "go", -EPIPE);
  if (uid == 0) {
    NEED("groups", setgroups, 0, NULL);
    NEED("0", setresgid, 0, 0, 0);
    NEED("0", setresuid, 0, 0, 0);
    NEED("session", keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
  }
  // After every id change, which clears it; the pidfd tells of a death before it took hold.
  NEED("parent death", prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  struct pollfd poll = {.fd = supervisor, .events = POLLIN};
  struct timespec now = {0, 0};
  if (NEED("supervisor", ppoll, &poll, 1, &now, NULL, 8) != 0) fail("ppoll", "it died", -EPIPE);
}

// The layer: a tmpfs over /sys (no lower directory is below that), which goes with the old root.
// s: lower of the root, e: lower of /etc, n: the new root, m: masks, uN wN: uppers and work.
static void make_layer(void) {
  static const char* const dirs[] = {
      "s",       "s/usr", "s/etc", "s/proc", "s/dev", "s/dev/pts", "s/run", "s/home", "s/root", "s/var",
      "e",       "n",     "m",     "m/d",    "u0",    "w0",        "u1",    "w1",     "u2",     "w2",
      "u3",      "w3",    "lu",    "lc"};
  static const char* const nodes[] = {"s/dev/null",   "s/dev/zero",    "s/dev/full",
                                      "s/dev/random", "s/dev/urandom", "s/dev/tty"};
  static const char* const links[][2] = {
      {"usr/bin", "s/bin"},   {"usr/sbin", "s/sbin"}, {"usr/lib", "s/lib"},
      {"usr/lib64", "s/lib64"},   {"pts/ptmx", "s/dev/ptmx"}, {"/proc/self/fd", "s/dev/fd"},
      {"/proc/self/fd/0", "s/dev/stdin"}, {"/proc/self/fd/1", "s/dev/stdout"},
      {"/proc/self/fd/2", "s/dev/stderr"}};
  mount("floor", "/sys", "tmpfs", MS_NOSUID | MS_NODEV, "size=512m,nr_inodes=100000,mode=0755");
  NEED("/sys", chdir, "/sys");
  TRACE("tmpfs");
  for (size_t i = 0; i < sizeof dirs / sizeof dirs[0]; ++i) make_dir(dirs[i], 0755);
  make_dir("s/tmp", 01777);
  make_dir("s/dev/shm", 01777);
  for (char* slash = strchr(path + 3, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
    *slash = '\0';  // path: "s" and the working directory
    const long made = RAW(mkdirat, AT_FDCWD, path, 0755);
    if (made != -EEXIST) need("mkdirat", path, made);
    *slash = '/';
  }
  make_dir(path, 0755);
  for (size_t i = 0; i < sizeof links / sizeof links[0]; ++i)
    NEED(links[i][1], symlinkat, links[i][0], AT_FDCWD, links[i][1]);
  for (size_t i = 0; i < sizeof nodes / sizeof nodes[0]; ++i) put(nodes[i], O_CREAT, 0666, "");
  put("e/passwd", O_CREAT, 0644, "root:x:0:0:root:/root:/bin/sh\n");
  put("e/group", O_CREAT, 0644, "root:x:0:\n");
  put("e/hosts", O_CREAT, 0644, "127.0.0.1 localhost\n::1 localhost\n");
  put("e/resolv.conf", O_CREAT, 0644, "# no network\n");
  NEED("shadow", mknodat, AT_FDCWD, "e/shadow", S_IFCHR, 0);  // whiteouts
  NEED("gshadow", mknodat, AT_FDCWD, "e/gshadow", S_IFCHR, 0);
  put("m/f", O_CREAT, 0, "");
  TRACE("skeleton");
}

static void mount_overlays(void) {
  const char* usr = "lowerdir=/usr,upperdir=u1,workdir=w1,userxattr";
  static char project[PATH_MAX + 64];
  if (uid == 0) {  // a lower whose ids are shifted into the sandbox's range
    NEED("/usr", move_mount, usr_tree, "", AT_FDCWD, "lu", MOVE_MOUNT_F_EMPTY_PATH);
    NEED(cwd, move_mount, cwd_tree, "", AT_FDCWD, "lc", MOVE_MOUNT_F_EMPTY_PATH);
    usr = "lowerdir=lu,upperdir=u1,workdir=w1,userxattr";
    TRACE("2 move_mount");
  }
  overlay("n", "lowerdir=s,upperdir=u0,workdir=w0,userxattr");
  TRACE("overlay root");
  overlay("n/usr", usr);
  TRACE("overlay /usr");
  overlay("n/etc", "lowerdir=e:/etc,upperdir=u2,workdir=w2,userxattr");
  TRACE("overlay /etc");
  snprintf(project, sizeof project, "lowerdir=%s,upperdir=u3,workdir=w3,userxattr",
           uid == 0 ? "lc" : cwd);
  path[0] = 'n';  // "s/…" → "n/…"
  overlay(path, project);
  TRACE("overlay project");
}

static void mount_proc_and_dev(void) {
  static const char* const mask_dirs[] = {"n/proc/acpi", "n/proc/fs", "n/proc/irq"};
  static const char* const mask_files[] = {"n/proc/interrupts", "n/proc/keys", "n/proc/key-users",
                                           "n/proc/timer_list", "n/proc/kallsyms"};
  static const char* const nodes[][2] = {
      {"/dev/null", "n/dev/null"},     {"/dev/zero", "n/dev/zero"},
      {"/dev/full", "n/dev/full"},     {"/dev/random", "n/dev/random"},
      {"/dev/urandom", "n/dev/urandom"}, {"/dev/tty", "n/dev/tty"}};
  const long locked = MS_NOSUID | MS_NODEV | MS_NOEXEC;
  mount("proc", "n/proc", "proc", locked, NULL);
  TRACE("proc");
  mount("m", "m", NULL, MS_BIND, NULL);
  mount(NULL, "m", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | locked, NULL);  // its binds inherit it
  TRACE("mask source");
  for (size_t i = 0; i < sizeof mask_dirs / sizeof mask_dirs[0]; ++i) {
    const long done = RAW(mount, "m/d", mask_dirs[i], NULL, MS_BIND, NULL);
    if (done != -ENOENT) need("mount", mask_dirs[i], done);
  }
  for (size_t i = 0; i < sizeof mask_files / sizeof mask_files[0]; ++i) {
    const long done = RAW(mount, "m/f", mask_files[i], NULL, MS_BIND, NULL);
    if (done != -ENOENT) need("mount", mask_files[i], done);
  }
  TRACE("8 masks");
  for (size_t i = 0; i < sizeof nodes / sizeof nodes[0]; ++i)
    mount(nodes[i][0], nodes[i][1], NULL, MS_BIND, NULL);
  TRACE("6 device binds");
  mount("devpts", "n/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620");
  TRACE("devpts");
}

static void enter_root(void) {
  struct stat new_root, now;
  NEED("n", chdir, "n");
  NEED("n", newfstatat, AT_FDCWD, ".", &new_root, 0);
  NEED("n", pivot_root, ".", ".");
  NEED("old root", umount2, ".", kDetach);
  NEED("/", chdir, "/");
  NEED("/", newfstatat, AT_FDCWD, "/", &now, 0);
  if (new_root.st_dev != now.st_dev || new_root.st_ino != now.st_ino) fail("stat", "/", -EXDEV);
  NEED(cwd, chdir, cwd);
  TRACE("pivot_root, umount");
}

static void raise_loopback(void) {
  struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
  const long fd = NEED("inet", socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  NEED("lo", ioctl, fd, SIOCSIFFLAGS, &lo);
  NEED("inet", close, fd);
  NEED("name", sethostname, "floor", 5);
  TRACE("loopback, hostname");
}

static void drop_rights(void) {
  const struct rlimit core = {1, 1}, processes = {512, 512};
  NEED("core", prlimit64, 0, RLIMIT_CORE, &core, NULL);
  NEED("nproc", prlimit64, 0, RLIMIT_NPROC, &processes, NULL);
  TRACE("rlimits");
  put("/proc/sys/user/max_user_namespaces", 0, 0, "0");
  TRACE("user namespace ban");
  for (long cap = 0, done = 0; done == 0; ++cap) {
    done = RAW(prctl, PR_CAPBSET_DROP, cap, 0, 0, 0);
    if (done != -EINVAL) need("prctl", "bounding set", done);
  }
  TRACE("bounding set");
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct none[2] = {{0, 0, 0}, {0, 0, 0}};
  NEED("ambient", prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  NEED("none", capset, &header, none);
  NEED("no new privileges", prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  TRACE("capset, no_new_privs");
  const long abi = NEED("abi", landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
  const int known = abi >= 5 ? 16 : abi >= 3 ? 15 : abi == 2 ? 14 : 13;  // access rights of the ABI
  unsigned long long all = (1ull << known) - 1;
  const long rules = NEED("ruleset", landlock_create_ruleset, &all, sizeof all, 0);
  const long root = NEED("/", openat, AT_FDCWD, "/", O_PATH | O_CLOEXEC, 0);
  struct landlock_path_beneath_attr beneath = {.allowed_access = all, .parent_fd = (int)root};
  NEED("/", landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0);
  NEED("self", landlock_restrict_self, rules, 0);
  TRACE("landlock");
}

static void child(void* unused) {
  (void)unused;
  static char* const env[] = {"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/root", NULL};
  TRACE("child runs");
  become_root_of_namespace();
  TRACE("go, ids, death signal");
  make_layer();
  mount_overlays();
  mount_proc_and_dev();
  enter_root();
  raise_loopback();
  drop_rights();
  NEED("signals", rt_sigprocmask, SIG_SETMASK, &caller_mask, NULL, 8);
  // pair and supervisor may be 3 and 4 already, or in each other's place: first out of the way.
  const long socket = NEED("socket", fcntl, pair[1], F_DUPFD_CLOEXEC, 10);
  const long caller = NEED("supervisor", fcntl, supervisor, F_DUPFD_CLOEXEC, 10);
  NEED("supervisor", dup3, caller, kSupervisor, 0);
  NEED("socket", dup3, socket, kSocket, 0);
  NEED("descriptors", close_range, 5, ~0u, CLOSE_RANGE_CLOEXEC);
  TRACE("descriptors");
  need("execveat", "init", RAW(execveat, init_image, "", task_argv, env, AT_EMPTY_PATH));
}

// --- the supervisor -----------------------------------------------------------------------------

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
  const long fd = NEED("own cgroup", openat, AT_FDCWD, "/proc/self/cgroup", O_RDONLY | O_CLOEXEC, 0);
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
  uid = getuid(), gid = getgid();
  if (getcwd(cwd, sizeof cwd) == NULL || cwd[1] == '\0') fail("getcwd", "a project", -ENOENT);
  snprintf(path, sizeof path, "s%s", cwd);
  supervisor = (int)NEED("self", pidfd_open, getpid(), 0);
  NEED("pair", socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair);
  init_image = (int)NEED("init", memfd_create, "init", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (NEED("init", write, init_image, floor_init, sizeof floor_init) != sizeof floor_init)
    fail("write", "init", -EIO);
  NEED("init", fcntl, init_image, F_ADD_SEALS,
       F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
  if (uid == 0) usr_tree = (int)clone_tree("/usr"), cwd_tree = (int)clone_tree(cwd);
}

static void map_ids(long pid) {
  char file[64], map[64];
  unsigned inside = uid, count = 1, outside = uid, outside_group = gid, inside_group = gid;
  if (uid == 0) inside = inside_group = 0, count = kRangeSize, outside = outside_group = lock_id_range();
  snprintf(file, sizeof file, "/proc/%ld/uid_map", pid);
  snprintf(map, sizeof map, "%u %u %u", inside, outside, count);
  put(file, 0, 0, map);
  snprintf(file, sizeof file, "/proc/%ld/setgroups", pid);
  if (uid != 0) put(file, 0, 0, "deny");
  snprintf(file, sizeof file, "/proc/%ld/gid_map", pid);
  snprintf(map, sizeof map, "%u %u %u", inside_group, outside_group, count);
  put(file, 0, 0, map);
  TRACE_PARENT("id maps");
  if (uid != 0) return;
  snprintf(file, sizeof file, "/proc/%ld/ns/user", pid);
  const long ns = NEED(file, openat, AT_FDCWD, file, O_RDONLY | O_CLOEXEC, 0);
  struct mount_attr shift = {.attr_set = MOUNT_ATTR_IDMAP, .userns_fd = (unsigned long)ns};
  NEED("/usr", mount_setattr, usr_tree, "", AT_EMPTY_PATH, &shift, sizeof shift);
  NEED(cwd, mount_setattr, cwd_tree, "", AT_EMPTY_PATH, &shift, sizeof shift);
  TRACE_PARENT("id-mapped mounts");
}

int main(int argc, char** argv) {
  TRACE_PARENT("exec of the floor to main");
  if (argc < 2) fail("main", "usage: floor /PROGRAM ARG…", -EINVAL);
  task_argv = argv + 1;
  prepare();
  TRACE_PARENT("prepare");
  const long cgroup_fd = make_cgroup();
  TRACE_PARENT("cgroup");
  char* stack = mmap(NULL, kStackSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (stack == MAP_FAILED) fail("mmap", "stack", -ENOMEM);
  NEED("guard page", mprotect, stack, 4096, PROT_NONE);
  sigset_t every;
  sigfillset(&every);
  NEED("signals", rt_sigprocmask, SIG_SETMASK, &every, &caller_mask, 8);
  int pidfd = -1;
  struct clone_args args = {
      .flags = CLONE_VM | CLONE_PIDFD | CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET |
               CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP,
      .pidfd = (unsigned long)&pidfd,
      .exit_signal = SIGCHLD,
      .stack = (unsigned long)stack,
      .stack_size = kStackSize};
  if (cgroup_fd >= 0) args.flags |= CLONE_INTO_CGROUP, args.cgroup = (unsigned long)cgroup_fd;
  const long pid = need("clone3", "child", raw_clone(__NR_clone3, (long)&args, sizeof args, child, NULL));
  TRACE_PARENT("> clone3");
  NEED("pair", close, pair[1]);
  map_ids(pid);
  if (NEED("go", write, pair[0], "g", 1) != 1) fail("write", "go", -EPIPE);
  TRACE_PARENT("go");
  struct FloorReport report;
  const long size = NEED("report", read, pair[0], &report, sizeof report);
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
