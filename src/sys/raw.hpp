// System calls without a libc: for pid 1 and for the child half of the launch.
//
// Both run where libc must not: init has none, and the child half shares its parent's memory, so a
// libc wrapper would write the parent's errno and thread data. Every function returns the kernel's
// answer: a value, or -errno.
#pragma once

#include <asm/unistd.h>

namespace mayfly::sys::raw {

#if defined(__x86_64__)

inline long call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                 long f = 0) noexcept {
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

#elif defined(__aarch64__)

inline long call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                 long f = 0) noexcept {
  register long x8 __asm__("x8") = number;
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

#else
#error "mayfly knows the system call convention of x86_64 and aarch64 only"
#endif

// A pointer as a system call argument.
template <class T>
inline long arg(const T* pointer) noexcept {
  return reinterpret_cast<long>(pointer);
}

[[noreturn]] inline void exit_group(int code) noexcept {
  for (;;)
    call(__NR_exit_group, code);
}

}  // namespace mayfly::sys::raw
