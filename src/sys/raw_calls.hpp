// Named system calls without a libc, for the child half of the launch: one thin function per call,
// which returns the kernel's answer, a value or -errno. See raw.hpp for why.
#pragma once

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <linux/stat.h>
#include <net/if.h>
#include <poll.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>

#include "sys/kernel.hpp"
#include "sys/raw.hpp"

namespace mayfly::sys::raw {

// files
inline long openat(int dir, const char* path, int flags, unsigned mode = 0) noexcept {
  return call(__NR_openat, dir, arg(path), flags, mode);
}
inline long openat2(int dir, const char* path, const OpenHow& how) noexcept {
  return call(__NR_openat2, dir, arg(path), arg(&how), sizeof how);
}
inline long close(int fd) noexcept {
  return call(__NR_close, fd);
}
inline long write(int fd, const void* data, std::size_t size) noexcept {
  return call(__NR_write, fd, arg(data), static_cast<long>(size));
}
inline long mkdirat(int dir, const char* path, unsigned mode) noexcept {
  return call(__NR_mkdirat, dir, arg(path), mode);
}
inline long mknodat(int dir, const char* path, unsigned mode, unsigned device) noexcept {
  return call(__NR_mknodat, dir, arg(path), mode, device);
}
inline long symlinkat(const char* target, int dir, const char* path) noexcept {
  return call(__NR_symlinkat, arg(target), dir, arg(path));
}
inline long fchdir(int fd) noexcept {
  return call(__NR_fchdir, fd);
}
inline long chdir(const char* path) noexcept {
  return call(__NR_chdir, arg(path));
}
inline long fchownat(int dir, const char* path, unsigned uid, unsigned gid, int flags) noexcept {
  return call(__NR_fchownat, dir, arg(path), uid, gid, flags);
}
inline long fchmod(int fd, unsigned mode) noexcept {
  return call(__NR_fchmod, fd, mode);
}
inline long fchmodat(int dir, const char* path, unsigned mode) noexcept {
  return call(__NR_fchmodat, dir, arg(path), mode);
}
// The time of the last change to an open file's content, in nanoseconds; that of access likewise.
inline long set_file_time(int fd, long nanoseconds) noexcept {
  const timespec time = {.tv_sec = nanoseconds / 1'000'000'000,
                         .tv_nsec = nanoseconds % 1'000'000'000};
  const timespec times[2] = {time, time};
  return call(__NR_utimensat, fd, 0, arg(times), 0);
}
// times: of access, of the last change.
inline long utimensat(int dir, const char* path, const timespec (&times)[2]) noexcept {
  return call(__NR_utimensat, dir, arg(path), arg(times), 0);
}
inline long setxattr(const char* path, const char* name, const void* value,
                     std::size_t size) noexcept {
  return call(__NR_setxattr, arg(path), arg(name), arg(value), static_cast<long>(size), 0);
}
inline long statx(int dir, const char* path, int flags, unsigned mask, struct statx* out) noexcept {
  return call(__NR_statx, dir, arg(path), flags, mask, arg(out));
}
inline long umask(unsigned mask) noexcept {
  return call(__NR_umask, mask);
}
inline long dup3(int from, int to, int flags) noexcept {
  return call(__NR_dup3, from, to, flags);
}
inline long fcntl(int fd, int command, long argument) noexcept {
  return call(__NR_fcntl, fd, command, argument);
}
inline long ioctl(int fd, unsigned long request, long argument) noexcept {
  return call(__NR_ioctl, fd, static_cast<long>(request), argument);
}
inline long close_range(unsigned first, unsigned last, unsigned flags) noexcept {
  return call(__NR_close_range, first, last, flags);
}

// mounts
inline long fsopen(const char* type) noexcept {
  return call(__NR_fsopen, arg(type), kFsopenCloexec);
}
inline long fsconfig_string(int fs, const char* key, const char* value) noexcept {
  return call(__NR_fsconfig, fs, kFsconfigSetString, arg(key), arg(value), 0);
}
inline long fsconfig_flag(int fs, const char* key) noexcept {
  return call(__NR_fsconfig, fs, kFsconfigSetFlag, arg(key), 0, 0);
}
inline long fsconfig_create(int fs) noexcept {
  return call(__NR_fsconfig, fs, kFsconfigCmdCreate, 0, 0, 0);
}
inline long fsmount(int fs, unsigned long attributes) noexcept {
  return call(__NR_fsmount, fs, kFsmountCloexec, static_cast<long>(attributes));
}
inline long open_tree(int dir, const char* path, unsigned flags) noexcept {
  return call(__NR_open_tree, dir, arg(path), flags | kOpenTreeCloexec);
}
inline long move_mount(int from, int to_dir, const char* to_path, unsigned flags) noexcept {
  return call(__NR_move_mount, from, arg(""), to_dir, arg(to_path), kMoveMountFEmptyPath | flags);
}
inline long mount_setattr(int fd, unsigned flags, const MountAttr& attributes) noexcept {
  return call(__NR_mount_setattr, fd, arg(""), kAtEmptyPath | flags, arg(&attributes),
              sizeof attributes);
}
inline long mount(const char* source, const char* target, const char* type, unsigned long flags,
                  const void* data) noexcept {
  return call(__NR_mount, arg(source), arg(target), arg(type), static_cast<long>(flags), arg(data));
}
inline long pivot_root(const char* new_root, const char* put_old) noexcept {
  return call(__NR_pivot_root, arg(new_root), arg(put_old));
}
inline long umount2(const char* path, int flags) noexcept {
  return call(__NR_umount2, arg(path), flags);
}

// ids and rights
inline long setgroups(std::size_t count, const unsigned* groups) noexcept {
  return call(__NR_setgroups, static_cast<long>(count), arg(groups));
}
inline long setresuid(unsigned uid) noexcept {
  return call(__NR_setresuid, uid, uid, uid);
}
inline long setresgid(unsigned gid) noexcept {
  return call(__NR_setresgid, gid, gid, gid);
}
inline long setsid() noexcept {
  return call(__NR_setsid);
}
inline long prctl(int option, unsigned long a = 0, unsigned long b = 0, unsigned long c = 0,
                  unsigned long d = 0) noexcept {
  return call(__NR_prctl, option, static_cast<long>(a), static_cast<long>(b), static_cast<long>(c),
              static_cast<long>(d));
}
inline long capset(const __user_cap_header_struct& header,
                   const __user_cap_data_struct* data) noexcept {
  return call(__NR_capset, arg(&header), arg(data));
}
inline long unshare(unsigned long flags) noexcept {
  return call(__NR_unshare, static_cast<long>(flags));
}
inline long prlimit(unsigned resource, std::uint64_t soft, std::uint64_t hard) noexcept {
  const std::uint64_t limits[2] = {soft, hard};
  return call(__NR_prlimit64, 0, resource, arg(limits), 0);
}
inline long get_prlimit(unsigned resource, std::uint64_t (&limits)[2]) noexcept {
  return call(__NR_prlimit64, 0, resource, 0, arg(limits));
}
inline long keyctl(int operation, long a) noexcept {
  return call(__NR_keyctl, operation, a);
}
inline long landlock_create_ruleset(const LandlockRulesetAttr& attr) noexcept {
  return call(__NR_landlock_create_ruleset, arg(&attr), sizeof attr, 0);
}
inline long landlock_add_rule(int ruleset, const LandlockPathBeneath& rule) noexcept {
  return call(__NR_landlock_add_rule, ruleset, kLandlockRulePathBeneath, arg(&rule), 0);
}
inline long landlock_restrict_self(int ruleset) noexcept {
  return call(__NR_landlock_restrict_self, ruleset, 0);
}

// processes, sockets, names
inline long poll(pollfd* fds, unsigned count, const timespec* timeout) noexcept {
  return call(__NR_ppoll, arg(fds), count, arg(timeout), 0, 0);
}
inline long recvmsg(int fd, msghdr* message, int flags) noexcept {
  return call(__NR_recvmsg, fd, arg(message), flags);
}
inline long sendmsg(int fd, const msghdr* message, int flags) noexcept {
  return call(__NR_sendmsg, fd, arg(message), flags);
}
inline long socket(int family, int type, int protocol) noexcept {
  return call(__NR_socket, family, type, protocol);
}
inline long sethostname(const char* name, std::size_t size) noexcept {
  return call(__NR_sethostname, arg(name), static_cast<long>(size));
}
inline long execveat(int fd, const char* const* argv, const char* const* envp) noexcept {
  return call(__NR_execveat, fd, arg(""), arg(argv), arg(envp), kAtEmptyPath);
}

// clone3 onto a stack of its own. The child calls function(argument), never returns from here, and
// ends with the function's value as exit code. Returns the child's pid in the parent, or -errno.
long clone3_onto(const clone_args& args, int (*function)(void*), void* argument) noexcept;

#if defined(__x86_64__)
inline long clone3_onto(const clone_args& args, int (*function)(void*), void* argument) noexcept {
  long result;
  __asm__ volatile(
      "syscall\n\t"
      "testq %%rax, %%rax\n\t"
      "jnz 1f\n\t"
      "xorl %%ebp, %%ebp\n\t"
      "movq %[argument], %%rdi\n\t"
      "call *%[function]\n\t"
      "movl %%eax, %%edi\n\t"
      "movl %[exit_group], %%eax\n\t"
      "syscall\n\t"
      "hlt\n"
      "1:\n\t"
      : "=a"(result)
      : "a"(__NR_clone3), "D"(&args), "S"(sizeof args), [function] "r"(function),
        [argument] "r"(argument), [exit_group] "i"(__NR_exit_group)
      : "rcx", "r11", "memory");
  return result;
}
#elif defined(__aarch64__)
inline long clone3_onto(const clone_args& args, int (*function)(void*), void* argument) noexcept {
  register long x8 __asm__("x8") = __NR_clone3;
  register long x0 __asm__("x0") = arg(&args);
  register long x1 __asm__("x1") = sizeof args;
  __asm__ volatile(
      "svc 0\n\t"
      "cbnz x0, 1f\n\t"
      "mov x29, xzr\n\t"
      "mov x0, %[argument]\n\t"
      "blr %[function]\n\t"
      "mov x8, %[exit_group]\n\t"
      "svc 0\n\t"
      "brk 0\n"
      "1:\n\t"
      : "+r"(x0)
      : "r"(x8), "r"(x1), [function] "r"(function), [argument] "r"(argument),
        [exit_group] "i"(__NR_exit_group)
      : "memory");
  return x0;
}
#endif

}  // namespace mayfly::sys::raw
