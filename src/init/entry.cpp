// The first and the lowest parts of init: its entry point, the start of a process on a new stack,
// and the two memory functions that a compiler may call on its own.
#include "init/kernel.hpp"

extern "C" {

// The kernel enters here, with no return address and the stack pointer on argc. init looks neither
// at arguments nor environment. It is given none.
#if defined(__x86_64__)
__asm__(R"(
  .globl _start
  .type _start, @function
_start:
  xor %ebp, %ebp
  and $-16, %rsp
  call init_main
  ud2
  .size _start, . - _start
)");
#elif defined(__aarch64__)
__asm__(R"(
  .globl _start
  .type _start, %function
_start:
  mov x29, xzr
  mov x30, xzr
  bl init_main
  brk #1
  .size _start, . - _start
)");
#endif

// The child starts with the parent's registers but for the stack pointer and the result, so `run`
// and its argument wait for it in registers that clone(2) neither reads nor changes.
#if defined(__x86_64__)
__asm__(R"(
  .globl mayfly_clone
  .type mayfly_clone, @function
mayfly_clone:
  mov %rcx, %r9
  xor %r10d, %r10d
  mov $56, %eax
  syscall
  test %rax, %rax
  jz 1f
  ret
1:
  xor %ebp, %ebp
  mov %r8, %rdi
  call *%r9
  ud2
  .size mayfly_clone, . - mayfly_clone
)");
static_assert(__NR_clone == 56);
#elif defined(__aarch64__)
__asm__(R"(
  .globl mayfly_clone
  .type mayfly_clone, %function
mayfly_clone:
  mov x5, x3
  mov x6, x4
  mov x3, xzr
  mov x4, xzr
  mov x8, #220
  svc #0
  cbz x0, 1f
  ret
1:
  mov x29, xzr
  mov x30, xzr
  mov x0, x6
  blr x5
  brk #1
  .size mayfly_clone, . - mayfly_clone
)");
static_assert(__NR_clone == 220);
#endif

// init.cmake keeps the compiler from turning these loops into calls of themselves.
void* memcpy(void* to, const void* from, std::size_t size) noexcept {
  auto* out = static_cast<unsigned char*>(to);
  const auto* in = static_cast<const unsigned char*>(from);
  for (std::size_t i = 0; i < size; ++i)
    out[i] = in[i];
  return to;
}

void* memset(void* to, int value, std::size_t size) noexcept {
  auto* out = static_cast<unsigned char*>(to);
  for (std::size_t i = 0; i < size; ++i)
    out[i] = static_cast<unsigned char>(value);
  return to;
}
}
