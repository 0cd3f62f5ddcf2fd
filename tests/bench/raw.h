// System calls without a libc, for the floor and its init: the kernel's own answer, -errno
// included. They are C and stand apart from src/ on purpose: the floor must not share the code it
// judges.
#ifndef MAYFLY_BENCH_RAW_H
#define MAYFLY_BENCH_RAW_H

#include <asm/unistd.h>

#if defined(__x86_64__)
static inline long raw6(long n, long a, long b, long c, long d, long e, long f) {
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}
// clone or clone3 whose child calls `run(with)` on its new stack; `run` never returns.
static inline long raw_clone(long n, long a, long b, void (*run)(void*), void* with) {
  long result;
  register long r10 __asm__("r10") = 0;
  register long r8 __asm__("r8") = 0;
  __asm__ volatile(
      "syscall\n\t"
      "test %%rax, %%rax\n\t"
      "jnz 1f\n\t"
      "mov %[with], %%rdi\n\t"
      "call *%[run]\n\t"
      "hlt\n"
      "1:"
      : "=a"(result)
      : "a"(n), "D"(a), "S"(b), "d"(0L), "r"(r10), "r"(r8), [run] "r"(run), [with] "r"(with)
      : "rcx", "r11", "memory");
  return result;
}
#elif defined(__aarch64__)
static inline long raw6(long n, long a, long b, long c, long d, long e, long f) {
  register long x8 __asm__("x8") = n;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  register long x5 __asm__("x5") = f;
  __asm__ volatile("svc 0"
                   : "+r"(x0)
                   : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                   : "memory");
  return x0;
}
static inline long raw_clone(long n, long a, long b, void (*run)(void*), void* with) {
  register long x8 __asm__("x8") = n;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = 0;
  register long x3 __asm__("x3") = 0;
  register long x4 __asm__("x4") = 0;
  __asm__ volatile(
      "svc 0\n\t"
      "cbnz x0, 1f\n\t"
      "mov x0, %[with]\n\t"
      "blr %[run]\n\t"
      "brk 1\n"
      "1:"
      : "+r"(x0)
      : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), [run] "r"(run), [with] "r"(with)
      : "x30", "memory");
  return x0;
}
#else
#error "the floor knows the system call convention of x86_64 and aarch64 only"
#endif

#define RAW_PICK(n, a, b, c, d, e, f, ...) \
  raw6(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
#define RAW(name, ...) RAW_PICK(__NR_##name, ##__VA_ARGS__, 0, 0, 0, 0, 0, 0)

#endif
