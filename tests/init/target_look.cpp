// The task of the tests: looks around, or behaves badly, as its first argument says.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <initializer_list>

namespace {

// One line for each fact: "name value".
int look() {
  printf("descriptors");
  for (int fd = 0; fd < 4096; ++fd)
    if (fcntl(fd, F_GETFD) >= 0) printf(" %d", fd);
  printf("\n");
  sigset_t blocked;
  sigprocmask(SIG_SETMASK, nullptr, &blocked);
  printf("unclean_signals");
  for (int number = 1; number <= 64; ++number) {
    // The kernel's structure, handler first: libc would hide the signals that it keeps to itself.
    unsigned long action[4] = {};
    syscall(SYS_rt_sigaction, number, nullptr, action, 8);
    if (action[0] != 0 || sigismember(&blocked, number) == 1) printf(" %d", number);
  }
  printf("\n");
  char directory[4096];
  printf("cwd %s\n", getcwd(directory, sizeof directory));
  const mode_t mask = umask(0);
  printf("umask %o\n", mask);
  printf("leads_session %d\n", getsid(0) == getpid() && getpgid(0) == getpid());
  printf("holds_terminal %d\n", open("/dev/tty", O_RDWR | O_CLOEXEC) >= 0);
  struct rlimit files {};
  getrlimit(RLIMIT_NOFILE, &files);
  printf("files %llu %llu\n", static_cast<unsigned long long>(files.rlim_cur),
         static_cast<unsigned long long>(files.rlim_max));
  printf("ids %u %u %u %u\n", getuid(), geteuid(), getgid(), getegid());
  printf("groups %d\n", getgroups(0, nullptr));
  return 0;
}

int show_status() {
  FILE* status = fopen("/proc/self/status", "r");
  if (status == nullptr) return 1;
  char line[4096];
  while (fgets(line, sizeof line, status) != nullptr)
    fputs(line, stdout);
  return 0;
}

// Tries what a task of init's own user id could do to it.
int attack() {
  const pid_t init = getppid();
  printf("ppid %d\n", init);
  printf("trace %s\n",
         ptrace(PTRACE_ATTACH, init, nullptr, nullptr) < 0 ? strerror(errno) : "works");
  char byte;
  iovec here{&byte, 1}, there{reinterpret_cast<void*>(0x400000), 1};
  printf("read %s\n",
         process_vm_readv(init, &here, 1, &there, 1, 0) < 0 ? strerror(errno) : "works");
  const long pidfd = syscall(SYS_pidfd_open, init, 0);
  printf("steal %s\n", syscall(SYS_pidfd_getfd, pidfd, 3, 0) < 0 ? strerror(errno) : "works");
  for (int number = 1; number <= 64; ++number)
    kill(init, number);
  return 0;
}

// `count` processes whose parent is gone, all ended; then waits for its stdin to end.
int make_orphans(int count) {
  int ends[2];
  if (pipe(ends) < 0) return 1;
  for (int i = 0; i < count; ++i) {
    const pid_t child = fork();
    if (child < 0) return 2;
    if (child == 0) {
      const pid_t parent = getpid();
      if (fork() == 0)
        while (getppid() == parent)
          usleep(100);
      _exit(0);
    }
    waitpid(child, nullptr, 0);
  }
  close(ends[1]);
  char byte;
  const bool all_ended = read(ends[0], &byte, 1) == 0;
  printf("orphans %d\n", all_ended ? count : -1);
  fflush(stdout);
  while (read(0, &byte, 1) > 0) {
  }
  return 0;
}

// Processes that hold stdout, ignore polite signals, leave the session, stop themselves.
int be_stubborn() {
  for (const int number : {SIGTERM, SIGHUP, SIGINT, SIGPIPE})
    signal(number, SIG_IGN);
  for (int i = 0; i < 4; ++i) {
    if (fork() != 0) continue;
    setsid();
    if (fork() != 0) _exit(0);
    if (i == 0) raise(SIGSTOP);
    for (;;)
      pause();
  }
  printf("stubborn\n");
  fflush(stdout);
  for (;;)
    pause();
}

// Four processes that make orphans, each dead at once, for ever.
int churn() {
  printf("churn\n");
  fflush(stdout);
  for (int i = 0; i < 2; ++i)
    (void)!fork();
  for (;;) {
    const pid_t child = fork();
    if (child == 0) {
      (void)!fork();
      _exit(0);
    }
    waitpid(child, nullptr, 0);
  }
}

// A child in the background, that ends some time after the main process did.
int leave_behind(unsigned milliseconds) {
  if (fork() != 0) return 0;
  usleep(milliseconds * 1000);
  printf("late\n");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const char* verb = argc > 1 ? argv[1] : "";
  const int number = argc > 2 ? atoi(argv[2]) : 0;
  if (strcmp(verb, "look") == 0) return look();
  if (strcmp(verb, "status") == 0) return show_status();
  if (strcmp(verb, "attack") == 0) return attack();
  if (strcmp(verb, "orphans") == 0) return make_orphans(number);
  if (strcmp(verb, "stubborn") == 0) return be_stubborn();
  if (strcmp(verb, "churn") == 0) return churn();
  if (strcmp(verb, "leave") == 0) return leave_behind(static_cast<unsigned>(number));
  if (strcmp(verb, "exit") == 0) return number;
  if (strcmp(verb, "die") == 0) return raise(number);
  if (strcmp(verb, "count") == 0) {
    size_t bytes = 0;
    for (int i = 0; i < argc; ++i)
      bytes += strlen(argv[i]) + 1;
    printf("%d %zu\n", argc, bytes);
    return 0;
  }
  fprintf(stderr, "unknown verb\n");
  return 99;
}
