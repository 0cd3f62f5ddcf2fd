// The floor: the isolation of `mayfly run -- CMD`, by hand, with no options, words or reports.
// It answers "how fast could this be?": mayfly's goal is a ratio to it. Usage: floor /PROGRAM ARG…
// in a directory outside /usr and /etc. Exit code: the task's own, 128 + n after signal n, else
// 125. x86_64; Linux 5.14, or 6.6 for an ordinary user (user xattrs on tmpfs). Simpler than mayfly:
// init has the task's id, there is no TTL, no relay, and the layer is not kept.
#define _GNU_SOURCE
#include "floor.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "floor_init.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { kNoDev = MS_NOSUID | MS_NODEV, kNoExec = MS_NOSUID | MS_NOEXEC, kPathSize = 4096 };

// Made before the clone; the child reads them in our memory.
static char cwd[kPathSize], cgroup[kPathSize + 64], **task_argv;
static char stack[64 << 10] __attribute__((aligned(4096)));  // of the child, above a guard page
static int pair[2];
static long uid, gid, init_image, usr_tree, cwd_tree, caller_mask;

static void put(long directory, const char* file, int flags, const char* text) {
  const long fd = NEED(openat, directory, file, O_WRONLY | O_CLOEXEC | flags, 0644);
  NEED(write, fd, text, strlen(text));
  NEED(close, fd);
}

// --- The child half. It shares the supervisor's memory: raw calls only.
static const char* const kNodes[] = {"/dev/null",   "/dev/zero",    "/dev/full",
                                     "/dev/random", "/dev/urandom", "/dev/tty"};

// The layer: a tmpfs over /sys (no lower directory is below that), which goes with the old root.
// s e lu lc: lowers of the root, /etc, /usr, the project; uN wN: uppers; n: new root; m: masks.
static void make_layer(void) {
  static const char* const made[] = {"usr",    "etc",   "proc",  "dev",   "dev/pts", "run",
                                     "home",   "root",  "var",   "../e",  "../n",    "../m",
                                     "../m/d", "../u0", "../w0", "../u1", "../w1",   "../u2",
                                     "../w2",  "../u3", "../w3"};
  static const char* const links[][2] = {
      {"usr/bin", "bin"},     {"usr/sbin", "sbin"},     {"usr/lib", "lib"},
      {"usr/lib64", "lib64"}, {"pts/ptmx", "dev/ptmx"}, {"/proc/self/fd", "dev/fd"},
      {"fd/0", "dev/stdin"},  {"fd/1", "dev/stdout"},   {"fd/2", "dev/stderr"}};
  NEED(mount, "floor", "/sys", "tmpfs", kNoDev, "size=512m,nr_inodes=100000,mode=0755");
  RAW(umask, 0);
  NEED(mkdirat, AT_FDCWD, "/sys/s", 0755);
  NEED(chdir, "/sys/s");
  for (size_t i = 0; i < COUNT(made); ++i)
    NEED(mkdirat, AT_FDCWD, made[i], 0755);
  NEED(mkdirat, AT_FDCWD, "tmp", 01777);
  NEED(mkdirat, AT_FDCWD, "dev/shm", 01777);
  for (char* end = cwd + 1; end != NULL;) {  // the project's, part by part
    if ((end = strchr(end + 1, '/')) != NULL) *end = '\0';
    const long error = RAW(mkdirat, AT_FDCWD, cwd + 1, 0755);
    MUST(error == -EEXIST ? 0 : error, "mkdir");
    if (end != NULL) *end = '/';
  }
  for (size_t i = 0; i < COUNT(links); ++i)
    NEED(symlinkat, links[i][0], AT_FDCWD, links[i][1]);
  for (size_t i = 0; i < COUNT(kNodes); ++i)
    NEED(mknodat, AT_FDCWD, kNodes[i] + 1, S_IFREG | 0644, 0);
  NEED(mknodat, AT_FDCWD, "../m/f", S_IFREG, 0);
  put(AT_FDCWD, "../e/group", O_CREAT, "root:x:0:\n");
  put(AT_FDCWD, "../e/passwd", O_CREAT, "root:x:0:0:root:/root:/bin/sh\n");
  put(AT_FDCWD, "../e/hosts", O_CREAT, "127.0.0.1 localhost\n::1 localhost\n");
  put(AT_FDCWD, "../e/resolv.conf", O_CREAT, "# no network\n");
  NEED(mknodat, AT_FDCWD, "../e/shadow", S_IFCHR, 0);  // whiteouts
  NEED(mknodat, AT_FDCWD, "../e/gshadow", S_IFCHR, 0);
}

static void overlay(const char* to, const char* options) {
  NEED(mount, "overlay", to, "overlay", kNoDev, options);
}
static void enter_root(void) {
  static const char* const masked[] = {"proc/acpi",       "proc/fs",      "proc/irq",
                                       "proc/interrupts", "proc/keys",    "proc/key-users",
                                       "proc/timer_list", "proc/kallsyms"};
  if (uid == 0) {  // ids are shifted into the sandbox's range
    NEED(mkdirat, AT_FDCWD, "../lu", 0755);
    NEED(mkdirat, AT_FDCWD, "../lc", 0755);
    NEED(move_mount, usr_tree, "", AT_FDCWD, "../lu", MOVE_MOUNT_F_EMPTY_PATH);
    NEED(move_mount, cwd_tree, "", AT_FDCWD, "../lc", MOVE_MOUNT_F_EMPTY_PATH);
  } else {
    NEED(symlinkat, "/usr", AT_FDCWD, "../lu");
    NEED(symlinkat, cwd, AT_FDCWD, "../lc");
  }
  overlay("../n", "lowerdir=../s,upperdir=../u0,workdir=../w0,userxattr");
  NEED(chdir, "../n");
  overlay("usr", "lowerdir=../lu,upperdir=../u1,workdir=../w1,userxattr");
  overlay("etc", "lowerdir=../e:/etc,upperdir=../u2,workdir=../w2,userxattr");
  overlay(cwd + 1, "lowerdir=../lc,upperdir=../u3,workdir=../w3,userxattr");
  NEED(mount, "proc", "proc", "proc", kNoDev | kNoExec, NULL);
  NEED(mount, "../m", "../m", NULL, MS_BIND, NULL);  // binds of a read-only mount are read-only
  NEED(mount, NULL, "../m", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | kNoDev | kNoExec, NULL);
  for (size_t i = 0; i < COUNT(masked); ++i) {  // not every kernel has each of them
    const long done = RAW(mount, i < 3 ? "../m/d" : "../m/f", masked[i], NULL, MS_BIND, NULL);
    MUST(done == -ENOENT ? 0 : done, "mask");
  }
  for (size_t i = 0; i < COUNT(kNodes); ++i)
    NEED(mount, kNodes[i], kNodes[i] + 1, NULL, MS_BIND, NULL);
  NEED(mount, "devpts", "dev/pts", "devpts", kNoExec, "newinstance,ptmxmode=0666,mode=0620");
  NEED(pivot_root, ".", ".");
  NEED(umount2, ".", MNT_DETACH);
  NEED(chdir, "/");
  MUST(RAW(faccessat, AT_FDCWD, "/sys") == -ENOENT ? 0 : -1, "the old root has a /sys");
  NEED(chdir, cwd);
  RAW(umask, 022);
}

static void drop_rights(void) {
  const struct rlimit core = {1, 1}, processes = {512, 512};
  struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  const struct __user_cap_data_struct none[2] = {{0, 0, 0}, {0, 0, 0}};
  const long inet = NEED(socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  NEED(ioctl, inet, SIOCSIFFLAGS, &lo);
  NEED(sethostname, "floor", 5);
  NEED(prlimit64, 0, RLIMIT_CORE, &core, NULL);
  NEED(prlimit64, 0, RLIMIT_NPROC, &processes, NULL);
  put(AT_FDCWD, "/proc/sys/user/max_user_namespaces", 0, "0");
  for (long cap = 0; cap <= CAP_LAST_CAP; ++cap)
    NEED(prctl, PR_CAPBSET_DROP, cap);
  NEED(prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  NEED(capset, &header, none);
  NEED(prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  const long abi = NEED(landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
  const unsigned long all = (1ul << (abi >= 5 ? 16 : abi >= 3 ? 15 : 12 + abi)) - 1;
  const long rules = NEED(landlock_create_ruleset, &all, sizeof all, 0);
  struct landlock_path_beneath_attr beneath = {all, (int)NEED(openat, AT_FDCWD, "/", O_PATH)};
  NEED(landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0);
  NEED(landlock_restrict_self, rules, 0);
}

__attribute__((used)) static void child(void) {
  static char* const environment[] = {"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/root", NULL};
  char go;
  NEED(close, pair[0]);  // or our own copy would hide the supervisor's death
  MUST(RAW(read, pair[1], &go, 1) == 1 ? 0 : -1, "no ids");
  if (uid == 0) {
    NEED(setgroups, 0, NULL);
    NEED(setresgid, 0, 0, 0);
    NEED(setresuid, 0, 0, 0);
    NEED(keyctl, 1 /* KEYCTL_JOIN_SESSION_KEYRING */, NULL);
  }
  // After every id change, which clears it; the socket tells of a death before it took hold.
  NEED(prctl, PR_SET_PDEATHSIG, SIGKILL);
  MUST(RAW(recvfrom, pair[1], &go, 1, MSG_DONTWAIT) == -EAGAIN ? 0 : -1, "supervisor died");
  make_layer();
  enter_root();
  drop_rights();
  NEED(rt_sigprocmask, SIG_SETMASK, &caller_mask, NULL, 8);
  NEED(dup3, pair[1], kSocket, 0);  // the pair was made first, so no other of ours has this number
  NEED(close_range, kSocket + 1, ~0u, CLOSE_RANGE_CLOEXEC);
  NEED(execveat, init_image, "", task_argv, environment, AT_EMPTY_PATH);
}

// --- The supervisor. This is the descriptor of a fresh cgroup below our own, or -1.
static long make_cgroup(void) {
  char own[kPathSize];
  const char* tree = access("/sys/fs/cgroup/cgroup.procs", F_OK) == 0 ? "" : "/unified";
  const long fd = NEED(openat, AT_FDCWD, "/proc/self/cgroup", O_RDONLY | O_CLOEXEC, 0);
  own[NEED(read, fd, own, sizeof own - 1)] = '\0';
  const char* path = strstr(own, "0::/");
  if (path == NULL) return -1;
  const int length = (int)strcspn(path += 3, "\n");
  snprintf(cgroup, sizeof cgroup, "/sys/fs/cgroup%s%.*s/floor-%d", tree, length, path, getpid());
  if (RAW(mkdirat, AT_FDCWD, cgroup, 0755) < 0) return -1;
  return NEED(openat, AT_FDCWD, cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
}

// A throwaway range above 0x80000, held by a lock on one byte as long as we live.
static long lock_id_range(void) {
  const long fd = NEED(openat, AT_FDCWD, "/run/floor.ids", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  struct flock lock = {.l_type = F_WRLCK, .l_start = getpid() % 28000, .l_len = 1};
  while (RAW(fcntl, fd, F_OFD_SETLK, &lock) == -EAGAIN)
    lock.l_start = (lock.l_start + 1) % 28000;
  return (8 + lock.l_start) << 16;
}

static void map_ids(long pid) {
  char name[64], map[64];
  snprintf(name, sizeof name, "/proc/%ld", pid);
  const long proc = NEED(openat, AT_FDCWD, name, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
  snprintf(map, sizeof map, "%ld %ld %d", uid, uid ? uid : lock_id_range(), uid ? 1 : 65536);
  put(proc, "uid_map", 0, map);
  if (uid != 0) put(proc, "setgroups", 0, "deny");
  if (uid != 0) snprintf(map, sizeof map, "%ld %ld 1", gid, gid);
  put(proc, "gid_map", 0, map);
  if (uid != 0) return;
  const long ns = NEED(openat, proc, "ns/user", O_RDONLY | O_CLOEXEC, 0);
  struct mount_attr shift = {.attr_set = MOUNT_ATTR_IDMAP, .userns_fd = (unsigned long)ns};
  NEED(mount_setattr, usr_tree, "", AT_EMPTY_PATH, &shift, sizeof shift);
  NEED(mount_setattr, cwd_tree, "", AT_EMPTY_PATH, &shift, sizeof shift);
}

int main(int argc, char** argv) {
  MUST(argc > 1 ? 0 : -1, "usage: floor /PROGRAM ARG…");
  task_argv = argv + 1, uid = getuid(), gid = getgid();
  MUST(getcwd(cwd, sizeof cwd) != NULL && cwd[1] != '\0' ? 0 : -1, "needs a project");
  NEED(socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair);
  init_image = NEED(memfd_create, "init", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  NEED(write, init_image, floor_init, sizeof floor_init);
  NEED(fcntl, init_image, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
  if (uid == 0) {
    usr_tree = NEED(open_tree, AT_FDCWD, "/usr", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    cwd_tree = NEED(open_tree, AT_FDCWD, cwd, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
  }
  const long cgroup_fd = make_cgroup(), every = -1;
  NEED(mprotect, stack, 4096, PROT_NONE);
  NEED(rt_sigprocmask, SIG_SETMASK, &every, &caller_mask, 8);
  int pidfd = -1, status = 0;
  struct clone_args args = {.pidfd = (unsigned long)&pidfd, .exit_signal = SIGCHLD};
  args.flags = CLONE_VM | CLONE_PIDFD | CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET |
               CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
  args.stack = (unsigned long)stack, args.stack_size = sizeof stack;
  if (cgroup_fd >= 0) args.flags |= CLONE_INTO_CGROUP, args.cgroup = (unsigned long)cgroup_fd;
  long pid = __NR_clone3;  // in the child it calls child() on the new stack
  __asm__ volatile("syscall; test %%rax, %%rax; jnz 1f; call child; 1:"
                   : "+a"(pid)
                   : "D"(&args), "S"(sizeof args)
                   : "rcx", "r11", "memory");
  MUST(pid, "clone3");
  NEED(close, pair[1]);
  map_ids(pid);
  RAW(sendto, pair[0], "g", 1, MSG_NOSIGNAL);  // a child that failed already is reaped below
  if (NEED(read, pair[0], &status, sizeof status) != sizeof status) status = 125 << 8;
  NEED(waitid, P_PIDFD, pidfd, NULL, WEXITED, NULL);
  if (cgroup_fd >= 0) NEED(unlinkat, AT_FDCWD, cgroup, AT_REMOVEDIR);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
