// The stock filters, held against a table written here from the design, not from policies/.
#include "policy/stock.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

#include "policy/machine.hpp"

using namespace mayfly;
using policy::Stock;

#if defined(__x86_64__)

namespace {

constexpr Stock kAllStocks[] = {Stock::Default, Stock::Live, Stock::Nesting, Stock::NestingLive};

using Args = std::array<std::uint64_t, 6>;
using Numbers = std::vector<std::uint32_t>;

constexpr std::uint64_t kRubbish = 0xDEADBEEF'00000000;
constexpr std::uint32_t kAllow = SECCOMP_RET_ALLOW;

// Calls that are newer than the kernel headers this is built with may be.
constexpr std::uint32_t kStatmount = 457, kListmount = 458, kOpenTreeAttr = 467, kListns = 470,
                        kSetxattrat = 463;

std::uint32_t refuse(int number) {
  return SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(number);
}
std::uint32_t low(std::uint64_t argument) {
  return static_cast<std::uint32_t>(argument);
}
bool is_in(const Numbers& numbers, std::uint32_t number) {
  return std::find(numbers.begin(), numbers.end(), number) != numbers.end();
}

// clang-format off
const Numbers kNotPermitted = {
    __NR_setns, __NR_mount, __NR_umount2, __NR_pivot_root, __NR_chroot, __NR_mount_setattr,
    __NR_move_mount, __NR_open_tree, kOpenTreeAttr, __NR_fsopen, __NR_fsconfig, __NR_fsmount,
    __NR_fspick, __NR_sethostname, __NR_setdomainname, __NR_pidfd_getfd, __NR_bpf,
    __NR_userfaultfd, __NR_perf_event_open, __NR_migrate_pages, __NR_move_pages, __NR_kcmp,
    __NR_open_by_handle_at, __NR_fanotify_init, __NR_fanotify_mark, __NR_reboot, __NR_kexec_load,
    __NR_kexec_file_load, __NR_init_module, __NR_finit_module, __NR_delete_module, __NR_swapon,
    __NR_swapoff, __NR_quotactl, __NR_quotactl_fd, __NR_acct, __NR_syslog, __NR_vhangup,
    __NR_settimeofday, __NR_clock_settime, __NR_iopl, __NR_ioperm};

const Numbers kNotThere = {
    __NR_clone3, __NR_io_uring_setup, __NR_io_uring_enter, __NR_io_uring_register, __NR_add_key,
    __NR_request_key, __NR_keyctl, __NR_process_madvise, __NR_process_mrelease, __NR_modify_ldt,
    __NR_vmsplice, kStatmount, kListmount, kListns, kSetxattrat};

const Numbers kObsolete = {
    __NR_uselib, __NR_ustat, __NR_sysfs, __NR__sysctl, __NR_create_module, __NR_get_kernel_syms,
    __NR_query_module, __NR_nfsservctl, __NR_getpmsg, __NR_putpmsg, __NR_afs_syscall,
    __NR_tuxcall, __NR_security, __NR_vserver, __NR_set_thread_area, __NR_get_thread_area,
    __NR_lookup_dcookie, __NR_epoll_ctl_old, __NR_epoll_wait_old};

// What --unsafe-nesting gives back.
const Numbers kNesting = {
    __NR_setns, __NR_mount, __NR_umount2, __NR_pivot_root, __NR_chroot, __NR_mount_setattr,
    __NR_move_mount, __NR_open_tree, kOpenTreeAttr, __NR_fsopen, __NR_fsconfig, __NR_fsmount,
    __NR_fspick, __NR_sethostname, __NR_setdomainname, __NR_pidfd_getfd, __NR_clone3, kStatmount,
    kListmount, kListns};

// Calls whose arguments matter.
const Numbers kWithCases = {
    __NR_ioctl, __NR_socket, __NR_socketpair, __NR_clone, __NR_unshare, __NR_personality,
    __NR_prlimit64, __NR_setrlimit, __NR_setpriority, __NR_ioprio_set, __NR_sched_setaffinity,
    __NR_sched_setattr, __NR_sched_setparam, __NR_sched_setscheduler, __NR_seccomp,
    __NR_setxattr, __NR_lsetxattr, __NR_fsetxattr};
// clang-format on

std::uint32_t expected_socket(const Args& args) {
  const std::uint32_t family = low(args[0]), protocol = low(args[2]);
  if (family != AF_UNIX && family != AF_INET && family != AF_INET6 && family != AF_NETLINK)
    return refuse(EAFNOSUPPORT);
  if (family == AF_NETLINK) return protocol == 0 ? kAllow : refuse(EPROTONOSUPPORT);
  const Numbers protocols = {0, 1, 6, 17, 58};
  return is_in(protocols, protocol) ? kAllow : refuse(EPROTONOSUPPORT);
}

std::uint32_t expected_prlimit(const Args& args) {
  if (low(args[0]) != 0) return refuse(EPERM);
  if (low(args[1]) != RLIMIT_CORE || args[2] == 0) return kAllow;
  return args[3] == 0 ? refuse(0) : refuse(EPERM);
}

bool is_nesting(Stock which) {
  return which == Stock::Nesting || which == Stock::NestingLive;
}

bool is_live(Stock which) {
  return which == Stock::Live || which == Stock::NestingLive;
}

// Whether the call gives a file a setuid or setgid bit.
bool makes_setuid(std::uint32_t number, const Args& args) {
  constexpr std::uint64_t kBits = 06000, kMakes = O_CREAT | (O_TMPFILE & ~O_DIRECTORY);
  switch (number) {
    case __NR_chmod:
    case __NR_fchmod:
    case __NR_creat:
    case __NR_mknod:
      return (args[1] & kBits) != 0;
    case __NR_fchmodat:
    case __NR_mknodat:
    case 452:  // fchmodat2
      return (args[2] & kBits) != 0;
    case __NR_open:
      return (args[1] & kMakes) != 0 && (args[2] & kBits) != 0;
    case __NR_openat:
      return (args[2] & kMakes) != 0 && (args[3] & kBits) != 0;
    default:
      return false;
  }
}

std::uint32_t expected_case(Stock which, std::uint32_t number, const Args& args) {
  const bool nesting = is_nesting(which);
  constexpr std::uint64_t kNamespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS |
                                        CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
  constexpr std::uint64_t kNoNamespaces =
      CLONE_FS | CLONE_FILES | CLONE_SYSVSEM | CLONE_VM | CLONE_SIGHAND | CLONE_THREAD;
  constexpr std::uint64_t kHarmless =
      0x8 /* PER_LINUX32 */ | 0x20000 /* UNAME26 */ | 0x40000 /* ADDR_NO_RANDOMIZE */;
  const bool at_init = low(args[0]) == 1;
  const auto unless = [](bool refused) { return refused ? refuse(EPERM) : kAllow; };
  switch (number) {
    case __NR_ioctl:
      return unless(low(args[1]) == TIOCSTI || low(args[1]) == TIOCLINUX ||
                    low(args[1]) == TIOCSETD);
    case __NR_socket:
      return expected_socket(args);
    case __NR_socketpair:
      return low(args[0]) == AF_UNIX ? kAllow : refuse(EAFNOSUPPORT);
    case __NR_clone:
      return unless(!nesting && (args[0] & kNamespaces) != 0);
    case __NR_unshare:
      return unless(!nesting && (args[0] & ~kNoNamespaces) != 0);
    case __NR_personality:
      return unless(low(args[0]) != 0xFFFFFFFF && (args[0] & ~kHarmless) != 0);
    case __NR_prlimit64:
      return expected_prlimit(args);
    case __NR_setrlimit:
      return low(args[0]) == RLIMIT_CORE ? refuse(0) : kAllow;
    case __NR_setpriority:
      return unless(low(args[0]) != PRIO_PROCESS || low(args[1]) == 1);
    case __NR_ioprio_set:
      return unless(low(args[0]) != 1 || low(args[1]) == 1);
    case __NR_setxattr:
    case __NR_lsetxattr:
    case __NR_fsetxattr:
      return args[3] < 4096 ? kAllow : refuse(ENOSPC);
    case __NR_seccomp:
      return unless(!nesting && low(args[0]) == SECCOMP_SET_MODE_FILTER &&
                    (args[1] & SECCOMP_FILTER_FLAG_NEW_LISTENER) != 0);
    default:
      return unless(at_init);  // the sched_set… calls
  }
}

std::uint32_t expected(Stock which, std::uint32_t arch, std::uint32_t number, const Args& args) {
  if (arch != AUDIT_ARCH_X86_64) return SECCOMP_RET_KILL_PROCESS;
  const bool named = number <= 336 || (number >= 424 && number <= 471);
  if (!named) return refuse(ENOSYS);
  if (is_nesting(which) && is_in(kNesting, number)) return kAllow;
  if (is_in(kNotPermitted, number)) return refuse(EPERM);
  if (is_in(kNotThere, number) || is_in(kObsolete, number)) return refuse(ENOSYS);
  if (is_live(which) && makes_setuid(number, args)) return refuse(EPERM);
  if (is_live(which) && number == __NR_openat2 && args[2] != 0) return refuse(ENOSYS);
  return is_in(kWithCases, number) ? expected_case(which, number, args) : kAllow;
}

// Counts what differs, and says it: one assertion for each of millions would take minutes.
class Comparison {
 public:
  explicit Comparison(Stock which) : which_(which), program_(policy::stock_filter(which)) {}

  void try_call(std::uint32_t arch, std::uint32_t number, const Args& args) {
    seccomp_data data{};
    data.nr = static_cast<int>(number);
    data.arch = arch;
    std::copy(args.begin(), args.end(), data.args);
    const auto answer = policy::run(program_, data);
    const std::uint32_t wanted = expected(which_, arch, number, args);
    ++tried_;
    if (answer == wanted || ++wrong_ > 10) return;
    CAPTURE(arch);
    CAPTURE(number);
    CAPTURE(args[0]);
    CAPTURE(args[1]);
    CAPTURE(args[2]);
    CAPTURE(args[3]);
    CHECK(answer.value_or(0xBAD) == wanted);
  }
  [[nodiscard]] std::size_t wrong() const { return wrong_; }
  [[nodiscard]] std::size_t tried() const { return tried_; }

 private:
  const Stock which_;
  const std::span<const sock_filter> program_;
  std::size_t wrong_ = 0, tried_ = 0;
};

std::vector<std::uint64_t> interesting_values() {
  constexpr int kVsock = 40, kAlg = 38, kSctp = 132, kSmc = 256, kMptcp = 262, kNewTime = 0x80;
  std::vector<std::uint64_t> values = {0, 1, 2, 3, 6, 7, 8, 10, 16, 58};
  for (const int value : {kVsock, kAlg, kSctp, kSmc, kMptcp, SIGCHLD, RLIMIT_CORE + 0})
    values.push_back(static_cast<std::uint64_t>(value));
  for (const int request : {TIOCSTI, TIOCLINUX, TIOCSETD, TIOCSCTTY, TCGETS})
    values.push_back(static_cast<std::uint64_t>(request));
  for (const int flags : {CLONE_NEWUSER | SIGCHLD, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET,
                          CLONE_NEWIPC, CLONE_NEWUTS, CLONE_NEWCGROUP, kNewTime, CLONE_FS,
                          CLONE_FILES | CLONE_FS, CLONE_VM | CLONE_VFORK | SIGCHLD})
    values.push_back(static_cast<std::uint64_t>(flags));
  for (const std::uint64_t bits : {0x8u, 0x20008u, 0x40000u, 0x400000u, 0x100000u, ~0u, ~0u >> 1})
    values.push_back(bits);
  const std::size_t plain = values.size();
  for (std::size_t i = 0; i < plain; ++i)
    values.push_back(values[i] | kRubbish);
  values.push_back(1ull << 32);
  return values;
}

}  // namespace

TEST_CASE("the stock filters answer every number of every architecture as designed") {
  for (const Stock which : kAllStocks) {
    Comparison comparison(which);
    Numbers numbers = {0x3FFFFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF};
    for (std::uint32_t number = 0; number < 1024; ++number) {
      numbers.push_back(number);
      numbers.push_back(number | 0x40000000);  // x32
    }
    for (const std::uint32_t number : numbers)
      for (const std::uint32_t arch :
           {std::uint32_t{AUDIT_ARCH_X86_64}, std::uint32_t{AUDIT_ARCH_I386},
            std::uint32_t{AUDIT_ARCH_AARCH64}, 0x3Eu, 0u})
        for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0},
                                          kRubbish, std::uint64_t{CLONE_NEWUSER}})
          comparison.try_call(arch, number, {value, value, value, value, value, value});
    CHECK(comparison.wrong() == 0);
    CHECK(comparison.tried() == 2052 * 25);
  }
}

TEST_CASE("the stock filters look at arguments as the kernel does") {
  const auto values = interesting_values();
  std::vector<std::uint64_t> thirds = {0, 1, 6, 9, 17, 58, 132, 256, 262, 1ull << 32};
  for (const std::uint64_t third : {0u, 6u, 262u})
    thirds.push_back(third | kRubbish);
  for (const Stock which : kAllStocks) {
    Comparison comparison(which);
    for (const std::uint32_t number : kWithCases)
      for (const std::uint64_t a : values)
        for (const std::uint64_t b : values)
          for (const std::uint64_t c : thirds)
            for (const std::uint64_t d : {std::uint64_t{0}, std::uint64_t{1}, kRubbish})
              comparison.try_call(AUDIT_ARCH_X86_64, number, {a, b, c, d, 0, 0});
    CHECK(comparison.wrong() == 0);
  }
}

TEST_CASE("all stock filters let init do its work") {
  CHECK_FALSE(policy::init_calls().empty());
  for (const Stock which : kAllStocks) {
    for (const policy::SystemCall& call : policy::init_calls()) {
      CAPTURE(call.number);
      CHECK(expected(which, AUDIT_ARCH_X86_64, call.number, call.args) == kAllow);
      seccomp_data data{};
      data.nr = static_cast<int>(call.number);
      data.arch = AUDIT_ARCH_X86_64;
      std::copy(call.args.begin(), call.args.end(), data.args);
      CHECK(policy::run(policy::stock_filter(which), data) == kAllow);
    }
  }
}

// Loading costs what the program is long. Neighbours that no longer share a leaf would show here.
TEST_CASE("the stock filters are short") {
  CHECK(policy::stock_filter(Stock::Default).size() < 200);
  CHECK(policy::stock_filter(Stock::Nesting).size() < 200);
  CHECK(policy::stock_filter(Stock::Live).size() < 250);
  CHECK(policy::stock_filter(Stock::NestingLive).size() < 250);
}

TEST_CASE("with a live tree no call gives a file the setuid or setgid bit") {
  const Numbers makers = {__NR_chmod, __NR_fchmod,  __NR_creat, __NR_mknod,  __NR_fchmodat,
                          452,        __NR_mknodat, __NR_open,  __NR_openat, __NR_openat2};
  for (const Stock which : kAllStocks) {
    Comparison comparison(which);
    for (const std::uint32_t number : makers) {
      for (const std::uint64_t flags : {0u, 0100u, 0101u, 020200000u, 0200000u, 02000u}) {
        for (const std::uint64_t mode : {0u, 0755u, 04755u, 02755u, 06000u, 01777u}) {
          comparison.try_call(AUDIT_ARCH_X86_64, number, {1, mode, mode, 0, 0, 0});
          comparison.try_call(AUDIT_ARCH_X86_64, number, {1, flags, mode, mode, 0, 0});
          comparison.try_call(AUDIT_ARCH_X86_64, number, {1, 1, flags, mode, 0, 0});
        }
      }
    }
    CHECK(comparison.wrong() == 0);
  }
}

#endif
