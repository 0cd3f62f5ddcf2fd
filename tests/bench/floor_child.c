// The floor's child half: from the new namespaces to the exec of init, one function for each phase.
//
// It shares the supervisor's memory, so it makes raw calls only, until it fails.
#define _GNU_SOURCE
#include <linux/capability.h>
#include <linux/close_range.h>
#include <linux/keyctl.h>
#include <linux/landlock.h>
#include <linux/mount.h>
#include <net/if.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "floor_parts.h"
#include "trace.h"

enum { kLocked = MS_NOSUID | MS_NODEV | MS_NOEXEC, kDetach = 2 /* MNT_DETACH */ };

static void mount(const char* from, const char* to, const char* type, long flags,
                  const char* options) {
  NEED(to, mount, from, to, type, flags, options);
}
static void overlay(const char* to, const char* options) {
  mount("overlay", to, "overlay", MS_NOSUID | MS_NODEV, options);
}

static void wait_for_ids(void) {
  char go;
  NEED("pair", close, the.pair[0]);  // or our own copy would hide the supervisor's death
  if (NEED("go", read, the.pair[1], &go, 1) != 1) fail("read", "go", -EPIPE);
  if (the.uid == 0) {
    NEED("groups", setgroups, 0, NULL);
    NEED("0", setresgid, 0, 0, 0);
    NEED("0", setresuid, 0, 0, 0);
    NEED("session", keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
  }
  // After every id change, which clears it; the pidfd tells of a death before it took hold.
  NEED("parent death", prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  struct pollfd poll = {.fd = the.supervisor, .events = POLLIN};
  const long now[2] = {0, 0};
  if (NEED("supervisor", ppoll, &poll, 1, now, NULL, 8) != 0) fail("ppoll", "it died", -EPIPE);
}

// The layer: a tmpfs over /sys (no lower directory is below that), which goes with the old root.
static void mount_layer(void) {
  mount("floor", "/sys", "tmpfs", MS_NOSUID | MS_NODEV, "size=512m,nr_inodes=100000,mode=0755");
  NEED("/sys", chdir, "/sys");
}

// s: lower of the root, e: lower of /etc, n: the new root, m: masks, uN wN: uppers and work.
static void make_skeleton(void) {
  static const char* const dirs[] = {"s",     "s/usr",  "s/etc",  "s/proc", "s/dev", "s/dev/pts",
                                     "s/run", "s/home", "s/root", "s/var",  "e",     "n",
                                     "m",     "m/d",    "lu",     "lc",     "u0",    "w0",
                                     "u1",    "w1",     "u2",     "w2",     "u3",    "w3"};
  static const char* const links[][2] = {
      {"usr/bin", "s/bin"},     {"usr/sbin", "s/sbin"},     {"usr/lib", "s/lib"},
      {"usr/lib64", "s/lib64"}, {"pts/ptmx", "s/dev/ptmx"}, {"/proc/self/fd", "s/dev/fd"},
      {"fd/0", "s/dev/stdin"},  {"fd/1", "s/dev/stdout"},   {"fd/2", "s/dev/stderr"}};
  static const char* const files[][2] = {{"s/dev/null", ""},
                                         {"s/dev/zero", ""},
                                         {"s/dev/full", ""},
                                         {"s/dev/random", ""},
                                         {"s/dev/urandom", ""},
                                         {"s/dev/tty", ""},
                                         {"e/group", "root:x:0:\n"},
                                         {"e/passwd", "root:x:0:0:root:/root:/bin/sh\n"},
                                         {"e/hosts", "127.0.0.1 localhost\n::1 localhost\n"},
                                         {"e/resolv.conf", "# no network\n"}};
  for (size_t i = 0; i < COUNT(dirs); ++i)
    NEED(dirs[i], mkdirat, AT_FDCWD, dirs[i], 0755);
  NEED("s/tmp", mkdirat, AT_FDCWD, "s/tmp", 01777);
  NEED("s/dev/shm", mkdirat, AT_FDCWD, "s/dev/shm", 01777);
  for (char* end = the.path + 2;; ++end) {  // "s" and the working directory
    const char cut = *end;
    if (cut != '/' && cut != '\0') continue;
    *end = '\0';
    const long made = RAW(mkdirat, AT_FDCWD, the.path, 0755);
    if (made != -EEXIST) need("mkdirat", the.path, made);
    *end = cut;
    if (cut == '\0') break;
  }
  for (size_t i = 0; i < COUNT(links); ++i)
    NEED(links[i][1], symlinkat, links[i][0], AT_FDCWD, links[i][1]);
  for (size_t i = 0; i < COUNT(files); ++i)
    put(files[i][0], O_CREAT, 0644, files[i][1]);
  NEED("shadow", mknodat, AT_FDCWD, "e/shadow", S_IFCHR, 0);  // whiteouts
  NEED("gshadow", mknodat, AT_FDCWD, "e/gshadow", S_IFCHR, 0);
  put("m/f", O_CREAT, 0, "");
}

static void mount_overlays(void) {
  const char* usr = "lowerdir=/usr,upperdir=u1,workdir=w1,userxattr";
  if (the.uid == 0) {  // lowers whose ids are shifted into the sandbox's range
    NEED("/usr", move_mount, the.usr_tree, "", AT_FDCWD, "lu", MOVE_MOUNT_F_EMPTY_PATH);
    NEED(the.cwd, move_mount, the.cwd_tree, "", AT_FDCWD, "lc", MOVE_MOUNT_F_EMPTY_PATH);
    usr = "lowerdir=lu,upperdir=u1,workdir=w1,userxattr";
  }
  overlay("n", "lowerdir=s,upperdir=u0,workdir=w0,userxattr");
  overlay("n/usr", usr);
  overlay("n/etc", "lowerdir=e:/etc,upperdir=u2,workdir=w2,userxattr");
  the.path[0] = 'n';
  overlay(the.path, the.project);
}

static void mount_proc(void) {
  static const char* const masked[][2] = {
      {"m/d", "n/proc/acpi"},       {"m/d", "n/proc/fs"},      {"m/d", "n/proc/irq"},
      {"m/f", "n/proc/interrupts"}, {"m/f", "n/proc/keys"},    {"m/f", "n/proc/key-users"},
      {"m/f", "n/proc/timer_list"}, {"m/f", "n/proc/kallsyms"}};
  mount("proc", "n/proc", "proc", kLocked, NULL);
  mount("m", "m", NULL, MS_BIND, NULL);  // the binds of a read-only mount are read-only
  mount(NULL, "m", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | kLocked, NULL);
  for (size_t i = 0; i < COUNT(masked); ++i) {
    const long done = RAW(mount, masked[i][0], masked[i][1], NULL, MS_BIND, NULL);
    if (done != -ENOENT) need("mount", masked[i][1], done);  // not every kernel has each of them
  }
}

static void mount_dev(void) {
  static const char* const nodes[][2] = {
      {"/dev/null", "n/dev/null"},       {"/dev/zero", "n/dev/zero"},
      {"/dev/full", "n/dev/full"},       {"/dev/random", "n/dev/random"},
      {"/dev/urandom", "n/dev/urandom"}, {"/dev/tty", "n/dev/tty"}};
  const char* options = "newinstance,ptmxmode=0666,mode=0620";
  for (size_t i = 0; i < COUNT(nodes); ++i)
    mount(nodes[i][0], nodes[i][1], NULL, MS_BIND, NULL);
  mount("devpts", "n/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, options);
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
  NEED(the.cwd, chdir, the.cwd);
}

static void raise_loopback(void) {
  struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
  const long fd = NEED("inet", socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  NEED("lo", ioctl, fd, SIOCSIFFLAGS, &lo);
  NEED("inet", close, fd);
  NEED("name", sethostname, "floor", 5);
}

static void limit(void) {
  const struct rlimit core = {1, 1}, processes = {512, 512};
  NEED("core", prlimit64, 0, RLIMIT_CORE, &core, NULL);
  NEED("nproc", prlimit64, 0, RLIMIT_NPROC, &processes, NULL);
  put("/proc/sys/user/max_user_namespaces", 0, 0, "0");
}

static void drop_capabilities(void) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct none[2] = {{0, 0, 0}, {0, 0, 0}};
  for (long cap = 0, done = 0; done == 0; ++cap) {
    done = RAW(prctl, PR_CAPBSET_DROP, cap, 0, 0, 0);
    if (done != -EINVAL) need("prctl", "bounding set", done);
  }
  NEED("ambient", prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  NEED("none", capset, &header, none);
  NEED("no new privileges", prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

static void restrict_files(void) {
  const long abi = NEED("abi", landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
  const int rights = abi >= 5 ? 16 : abi >= 3 ? 15 : abi == 2 ? 14 : 13;
  const unsigned long long all = (1ull << rights) - 1;
  const long rules = NEED("ruleset", landlock_create_ruleset, &all, sizeof all, 0);
  const long root = NEED("/", openat, AT_FDCWD, "/", O_PATH | O_CLOEXEC, 0);
  struct landlock_path_beneath_attr beneath = {.allowed_access = all, .parent_fd = (int)root};
  NEED("/", landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0);
  NEED("self", landlock_restrict_self, rules, 0);
}

static void pass_descriptors(void) {
  NEED("signals", rt_sigprocmask, SIG_SETMASK, &the.caller_mask, NULL, 8);
  // Either may have the number of the other: first out of the way.
  const long socket = NEED("socket", fcntl, the.pair[1], F_DUPFD_CLOEXEC, 10);
  const long caller = NEED("supervisor", fcntl, the.supervisor, F_DUPFD_CLOEXEC, 10);
  NEED("socket", dup3, socket, kSocket, 0);
  NEED("supervisor", dup3, caller, kSupervisor, 0);
  NEED("descriptors", close_range, 5, ~0u, CLOSE_RANGE_CLOEXEC);
}

void child(void* unused) {
  static const struct {
    const char* name;
    void (*run)(void);
  } phases[] = {{"wait for ids", wait_for_ids},     {"layer", mount_layer},
                {"skeleton", make_skeleton},        {"overlays", mount_overlays},
                {"proc, masks", mount_proc},        {"dev", mount_dev},
                {"pivot_root, umount", enter_root}, {"loopback, hostname", raise_loopback},
                {"rlimits, userns ban", limit},     {"capabilities", drop_capabilities},
                {"landlock", restrict_files},       {"descriptors", pass_descriptors}};
  static char* const env[] = {"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/root", NULL};
  (void)unused;
  TRACE("child runs");
  for (size_t i = 0; i < COUNT(phases); ++i) {
    phases[i].run();
    TRACE(phases[i].name);
  }
  need("execveat", "init", RAW(execveat, the.init_image, "", the.task_argv, env, AT_EMPTY_PATH));
}
