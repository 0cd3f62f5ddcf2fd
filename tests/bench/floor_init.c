// The floor's pid 1: loads the filter, starts the task without copying memory, reaps, reports.
// No libc; argv is the task's own. Ends with the task.
#include "floor.h"
#include "floor_filter.h"

// On init's own stack, below what init uses, which sleeps until this executes or ends.
__attribute__((noinline)) static void task(char** argv, char** envp) {
  RAW(setsid);
  RAW(close, kSocket);
  const long error = RAW(execve, argv[0], argv, envp);
  RAW(exit_group, error == -ENOENT ? 127 : 126);
}

__attribute__((used)) static void init(long* sp) {
  char nothing, **argv = (char**)(sp + 1);
  int status = 0;
  // Set again after exec; the socket tells of a supervisor that died before this took hold.
  NEED(prctl, PR_SET_PDEATHSIG, SIGKILL);
  MUST(RAW(recvfrom, kSocket, &nothing, 1, MSG_DONTWAIT) == -EAGAIN ? 0 : -1, "supervisor died");
  NEED(prctl, PR_SET_DUMPABLE, 0);
  NEED(seccomp, SECCOMP_SET_MODE_FILTER, 0, &floor_filter);
  const long pid = NEED(clone, CLONE_VM | CLONE_VFORK | SIGCHLD);
  if (pid == 0) task(argv, argv + sp[0] + 1);
  while (NEED(wait4, -1, &status) != pid) {
  }
  NEED(sendto, kSocket, &status, sizeof status);
  RAW(exit_group, 0);
}
__asm__(".globl _start\n_start: xor %ebp, %ebp; mov %rsp, %rdi; and $-16, %rsp; call init");
