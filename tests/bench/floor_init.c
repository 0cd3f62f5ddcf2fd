// The floor's pid 1: loads the filter, starts the task without copying memory, reaps, reports.
//
// No libc. argv is the task's own; kSocket and kSupervisor are inherited. Ends with the task.
#include <linux/filter.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>

#include "floor.h"
#include "floor_filter.h"
#include "raw.h"

// One segment, and its state on the stack that the kernel made: each page touched here is a fault.
struct Init {
  char** argv;
  char** envp;
  struct FloorReport report;
};

#ifdef FLOOR_TRACE
#define TRACE(which) trace(&me.report.at[which])
static void trace(long* at) {
  long now[2];
  RAW(clock_gettime, 1, now);
  *at = now[0] * 1000000000 + now[1];
}
#else
#define TRACE(which) ((void)0)
#endif

static void task(void* init) {
  const struct Init* me = init;
  RAW(setsid);
  RAW(close, kSocket);
  RAW(close, kSupervisor);
  const long error = RAW(execve, me->argv[0], me->argv, me->envp);
  RAW(exit_group, error == -2 ? 127 : 126);
}

static void fail(int step) {
  RAW(exit_group, 100 + step);  // the supervisor saw no report, so it takes this as the code
}

__attribute__((used, noreturn)) static void init(long* sp) {
  struct Init me = {.argv = (char**)(sp + 1), .envp = (char**)(sp + 1) + sp[0] + 1};
  char stack[2048] __attribute__((aligned(16)));  // the task's, until it executes
  TRACE(0);
  // Set again after exec; the pidfd tells of a supervisor that died before this took hold.
  struct pollfd supervisor = {.fd = kSupervisor, .events = POLLIN};
  const long now[2] = {0, 0};
  if (RAW(prctl, PR_SET_PDEATHSIG, SIGKILL)) fail(1);
  if (RAW(ppoll, &supervisor, 1, now, 0, 8) != 0) fail(2);
  if (RAW(prctl, PR_SET_DUMPABLE, 0)) fail(3);
  TRACE(1);
  struct sock_fprog filter = {sizeof floor_filter / sizeof floor_filter[0],
                              (struct sock_filter*)floor_filter};
  if (RAW(seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter)) fail(4);
  TRACE(2);
  const long flags = CLONE_VM | CLONE_VFORK | SIGCHLD;
  const long pid = raw_clone(__NR_clone, flags, (long)(stack + sizeof stack), task, &me);
  if (pid < 0) fail(5);
  TRACE(3);
  for (;;) {
    const long reaped = RAW(wait4, -1, &me.report.status, 0, 0);
    if (reaped == pid) break;
    if (reaped < 0) fail(6);
  }
  TRACE(4);
  if (RAW(sendto, kSocket, &me.report, sizeof me.report, 0) != sizeof me.report) fail(7);
  for (;;)
    RAW(exit_group, 0);
}

#if defined(__x86_64__)
__asm__(
    ".globl _start\n_start:\n\txor %ebp, %ebp\n\tmov %rsp, %rdi\n\tand $-16, %rsp\n"
    "\tcall init\n\thlt");
#else
__asm__(".globl _start\n_start:\n\tmov x29, xzr\n\tmov x0, sp\n\tbl init\n\tbrk 1");
#endif
