// Prints the floor's seccomp filter as a C array: every call of the kernel's table that is not
// refused below, as a binary tree over runs of numbers.
//
// Not mayfly's policy: the floor must stand without it. Refused and unknown calls answer ENOSYS;
// new user namespaces, terminal injection and odd socket families EPERM; foreign architectures and
// x32 numbers kill.
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

enum { kArch = AUDIT_ARCH_X86_64, kMostCalls = 512 };

static const int kRefused[] = {
    __NR_acct,
    __NR_add_key,
    __NR_bpf,
    __NR_chroot,
    __NR_clock_adjtime,
    __NR_clock_settime,
    __NR_clone3,
    __NR_delete_module,
    __NR_fanotify_init,
    __NR_finit_module,
    __NR_fsconfig,
    __NR_fsmount,
    __NR_fsopen,
    __NR_fspick,
    __NR_init_module,
    __NR_io_uring_enter,
    __NR_io_uring_setup,
    __NR_io_uring_register,
    __NR_kcmp,
    __NR_kexec_load,
    __NR_keyctl,
    __NR_mount,
    __NR_mount_setattr,
    __NR_move_mount,
    __NR_nfsservctl,
    __NR_open_by_handle_at,
    __NR_name_to_handle_at,
    __NR_open_tree,
    __NR_pivot_root,
    __NR_perf_event_open,
    __NR_process_vm_readv,
    __NR_process_vm_writev,
    __NR_ptrace,
    __NR_quotactl,
    __NR_reboot,
    __NR_request_key,
    __NR_setns,
    __NR_settimeofday,
    __NR_swapoff,
    __NR_swapon,
    __NR_syslog,
    __NR_umount2,
    __NR_unshare,
    __NR_userfaultfd,
    __NR_vhangup,
    __NR_kexec_file_load,
    __NR_quotactl_fd,
    __NR_adjtimex,
    __NR_ioperm,
    __NR_iopl,
    __NR_uselib,
    __NR_create_module,
    __NR_modify_ldt,
    __NR_sysfs,
    __NR__sysctl,
    __NR_query_module,
};

enum Verdict { kAllow, kNoSuchCall, kCheckClone, kCheckIoctl, kCheckSocket };

static enum Verdict verdict(int number) {
  if (number == __NR_clone) return kCheckClone;
  if (number == __NR_ioctl) return kCheckIoctl;
  if (number == __NR_socket) return kCheckSocket;
  for (size_t i = 0; i < sizeof kRefused / sizeof kRefused[0]; ++i)
    if (kRefused[i] == number) return kNoSuchCall;
  return number < kMostCalls ? kAllow : kNoSuchCall;
}

static struct sock_filter program[1024];
static size_t length;

static void emit(unsigned code, unsigned k, unsigned yes, unsigned no) {
  if (length == sizeof program / sizeof program[0] || yes > 255 || no > 255) {
    fputs("filter_gen: the filter is too long\n", stderr);
    exit(1);
  }
  program[length++] =
      (struct sock_filter){(unsigned short)code, (unsigned char)yes, (unsigned char)no, k};
}

static void give(unsigned action) {
  emit(BPF_RET | BPF_K, action, 0, 0);
}
static void load(size_t offset) {
  emit(BPF_LD | BPF_W | BPF_ABS, (unsigned)offset, 0, 0);
}
// The low word: the kernel itself cuts these arguments to 32 bits. Little-endian machines.
static void load_argument(int which) {
  load(offsetof(struct seccomp_data, args) + 8u * which);
}

static void leaf(enum Verdict what) {
  switch (what) {
    case kAllow:
      break;
    case kNoSuchCall:
      give(SECCOMP_RET_ERRNO | ENOSYS);
      return;
    case kCheckClone:
      load_argument(0);
      emit(BPF_JMP | BPF_JSET | BPF_K, CLONE_NEWUSER, 0, 1);
      give(SECCOMP_RET_ERRNO | EPERM);
      break;
    case kCheckIoctl:
      load_argument(1);
      emit(BPF_JMP | BPF_JEQ | BPF_K, TIOCSTI, 1, 0);
      emit(BPF_JMP | BPF_JEQ | BPF_K, TIOCLINUX, 0, 1);
      give(SECCOMP_RET_ERRNO | EPERM);
      break;
    case kCheckSocket:
      load_argument(0);
      emit(BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 4, 0);
      emit(BPF_JMP | BPF_JEQ | BPF_K, AF_INET, 3, 0);
      emit(BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 2, 0);
      emit(BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 1, 0);
      give(SECCOMP_RET_ERRNO | EPERM);
      break;
  }
  give(SECCOMP_RET_ALLOW);
}

static int run_start[kMostCalls];  // where each run of equal verdicts begins
static enum Verdict run_verdict[kMostCalls];

// Runs [from, to): the lower half stands right after the comparison, the upper half behind it.
static void tree(int from, int to) {
  if (to - from == 1) {
    leaf(run_verdict[from]);
    return;
  }
  const int middle = from + (to - from) / 2;
  const size_t comparison = length;
  emit(BPF_JMP | BPF_JGE | BPF_K, (unsigned)run_start[middle], 0, 0);
  tree(from, middle);
  const size_t below = length - comparison - 1;
  if (below > 255) emit(0, 0, 256, 0);
  program[comparison].jt = (unsigned char)below;
  tree(middle, to);
}

int main(void) {
  int runs = 0;
  for (int number = 0; number <= kMostCalls; ++number) {
    if (number > 0 && verdict(number) == run_verdict[runs - 1]) continue;
    run_start[runs] = number;
    run_verdict[runs++] = verdict(number);
  }
  load(offsetof(struct seccomp_data, arch));
  emit(BPF_JMP | BPF_JEQ | BPF_K, kArch, 1, 0);
  give(SECCOMP_RET_KILL_PROCESS);
  load(offsetof(struct seccomp_data, nr));
  emit(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1);
  give(SECCOMP_RET_KILL_PROCESS);
  tree(0, runs);
  puts("// Generated by filter_gen.\n#include <linux/filter.h>\n#include <linux/seccomp.h>\n");
  puts("static const struct sock_filter floor_program[] = {");
  for (size_t i = 0; i < length; ++i)
    printf("    {0x%x, %u, %u, 0x%x},\n", program[i].code, program[i].jt, program[i].jf,
           program[i].k);
  printf("};\nstatic const struct sock_fprog floor_filter = {\n    %zu, %s};\n", length,
         "(struct sock_filter*)floor_program");
  return 0;
}
