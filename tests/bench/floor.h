// For the floor and its init: system calls without a libc (the kernel's own answer, -errno
// included). Apart from src/ on purpose: the floor must not share the code it judges.
#include <asm/unistd.h>
#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>

enum { kSocket = 3 };  // what init inherits: its end of the pair

static inline long raw(long n, long a, long b, long c, long d, long e) {
  register long r10 __asm__("r10") = d, r8 __asm__("r8") = e;
  __asm__ volatile("syscall"
                   : "+a"(n)
                   : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
                   : "rcx", "r11", "memory");
  return n;
}
#define RAW5(n, a, b, c, d, e, ...) raw(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e))
#define RAW(name, ...) RAW5(__NR_##name, ##__VA_ARGS__, 0, 0, 0, 0, 0)

// What must succeed; its own text is the message.
__attribute__((noinline)) static long need(long result, const char* text, long size) {
  if (result >= 0) return result;
  RAW(write, 2, text, size);
  return RAW(exit_group, 125);
}
#define MUST(result, text) need(result, "floor: " text "\n", sizeof("floor: " text))
#define NEED(name, ...) MUST(RAW(name, ##__VA_ARGS__), #name "(" #__VA_ARGS__ ")")
