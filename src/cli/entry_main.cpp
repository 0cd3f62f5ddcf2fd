// Where the program begins. A page that is first touched costs a fault, a fault costs more than the
// page, and a start touches a hundred: here the kernel is asked for them in three calls, before
// libc's own start, which would otherwise touch the first dozen. A kernel that refuses (they are of
// 5.14) costs nothing but the faults.
#include <elf.h>
#include <linux/mman.h>

#include <cstddef>
#include <cstdint>

#include "sys/raw.hpp"

extern "C" const Elf64_Ehdr __ehdr_start;

namespace {

using namespace mayfly::sys::raw;

constexpr std::uintptr_t kPage = 4096;  // where pages are larger the calls are refused
constexpr std::uintptr_t kStack = 5 * kPage;

void populate(std::uintptr_t first, std::uintptr_t end, int how) noexcept {
  first &= ~(kPage - 1);
  call(__NR_madvise, static_cast<long>(first), static_cast<long>(end - first), how);
}

}  // namespace

extern "C" [[gnu::used]] void mayfly_populate(std::uintptr_t stack) noexcept {
  const auto* base = reinterpret_cast<const char*>(&__ehdr_start);
  const auto* header = reinterpret_cast<const Elf64_Phdr*>(base + __ehdr_start.e_phoff);
  for (unsigned i = 0; i < __ehdr_start.e_phnum; ++i) {
    if (header[i].p_type != PT_LOAD) continue;
    const bool writable = (header[i].p_flags & PF_W) != 0;
    populate(header[i].p_vaddr, header[i].p_vaddr + header[i].p_memsz,
             writable ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
  }
  populate(stack - kStack, stack, MADV_POPULATE_WRITE);
}

#if defined(__x86_64__)
__asm__(
    ".globl mayfly_entry\n"
    "mayfly_entry:\n\t"
    "movq %rsp, %rdi\n\t"
    "pushq %rdx\n\t"
    "subq $8, %rsp\n\t"
    "call mayfly_populate\n\t"
    "addq $8, %rsp\n\t"
    "popq %rdx\n\t"
    "jmp _start\n");
#elif defined(__aarch64__)
__asm__(
    ".globl mayfly_entry\n"
    "mayfly_entry:\n\t"
    "stp x0, x30, [sp, #-16]!\n\t"
    "add x0, sp, #16\n\t"
    "bl mayfly_populate\n\t"
    "ldp x0, x30, [sp], #16\n\t"
    "b _start\n");
#endif
