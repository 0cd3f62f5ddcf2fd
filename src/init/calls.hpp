// Every system call that init makes from its first spawn on, and that a task's child makes up to
// and with its execve. A policy's filter that allows all of them, with any arguments, may be loaded
// by init itself (launch::kInitFilter); any other must be each task's own. A test runs init under a
// filter that kills for all other calls.
#pragma once

#include <asm/unistd.h>

namespace mayfly::init {

inline constexpr long kCalls[] = {
    // init
    __NR_ppoll, __NR_recvmsg, __NR_sendmsg, __NR_read, __NR_close, __NR_fcntl, __NR_lseek,
    __NR_mmap, __NR_munmap, __NR_pipe2, __NR_clone, __NR_waitid, __NR_kill, __NR_timerfd_settime,
    __NR_exit_group,
    // the task's child
    __NR_rt_sigprocmask, __NR_umask, __NR_setsid, __NR_dup3, __NR_close_range, __NR_ioctl,
    __NR_prlimit64, __NR_setgroups, __NR_setresgid, __NR_setresuid, __NR_prctl, __NR_capset,
    __NR_chdir, __NR_seccomp, __NR_execve, __NR_openat, __NR_pread64};

}  // namespace mayfly::init
