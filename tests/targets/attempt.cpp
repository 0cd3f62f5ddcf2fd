// What a task should not be able to do, tried.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <memory>

#include "probe.hpp"

namespace probe {
namespace {

struct Call {
  const char* name;
  long number;
};

constexpr Call kCalls[] = {
    {"getpid", SYS_getpid},
    {"fcntl", SYS_fcntl},
    {"fchmod", SYS_fchmod},
    {"setxattr", SYS_setxattr},
    {"lsetxattr", SYS_lsetxattr},
    {"fsetxattr", SYS_fsetxattr},
    {"keyctl", SYS_keyctl},
    {"add_key", SYS_add_key},
    {"request_key", SYS_request_key},
    {"io_uring_setup", SYS_io_uring_setup},
    {"io_uring_enter", SYS_io_uring_enter},
    {"io_uring_register", SYS_io_uring_register},
    {"bpf", SYS_bpf},
    {"userfaultfd", SYS_userfaultfd},
    {"perf_event_open", SYS_perf_event_open},
    {"mount", SYS_mount},
    {"umount2", SYS_umount2},
    {"pivot_root", SYS_pivot_root},
    {"chroot", SYS_chroot},
    {"fsopen", SYS_fsopen},
    {"fsmount", SYS_fsmount},
    {"open_tree", SYS_open_tree},
    {"move_mount", SYS_move_mount},
    {"mount_setattr", SYS_mount_setattr},
    {"unshare", SYS_unshare},
    {"setns", SYS_setns},
    {"clone", SYS_clone},
    {"clone3", SYS_clone3},
    {"socket", SYS_socket},
    {"ptrace", SYS_ptrace},
    {"process_vm_readv", SYS_process_vm_readv},
    {"process_vm_writev", SYS_process_vm_writev},
    {"kcmp", SYS_kcmp},
    {"pidfd_open", SYS_pidfd_open},
    {"pidfd_getfd", SYS_pidfd_getfd},
    {"open_by_handle_at", SYS_open_by_handle_at},
    {"name_to_handle_at", SYS_name_to_handle_at},
    {"init_module", SYS_init_module},
    {"finit_module", SYS_finit_module},
    {"delete_module", SYS_delete_module},
    {"kexec_load", SYS_kexec_load},
    {"reboot", SYS_reboot},
    {"swapon", SYS_swapon},
    {"syslog", SYS_syslog},
    {"acct", SYS_acct},
    {"quotactl", SYS_quotactl},
    {"settimeofday", SYS_settimeofday},
    {"clock_settime", SYS_clock_settime},
    {"sethostname", SYS_sethostname},
    {"setdomainname", SYS_setdomainname},
    {"prlimit64", SYS_prlimit64},
    {"setpriority", SYS_setpriority},
    {"ioprio_set", SYS_ioprio_set},
    {"sched_setaffinity", SYS_sched_setaffinity},
    {"sched_setscheduler", SYS_sched_setscheduler},
    {"sched_setparam", SYS_sched_setparam},
    {"sched_setattr", SYS_sched_setattr},
    {"migrate_pages", SYS_migrate_pages},
    {"move_pages", SYS_move_pages},
    {"kill", SYS_kill},
    {"tgkill", SYS_tgkill},
    {"seccomp", SYS_seccomp},
    {"setuid", SYS_setuid},
    {"setgroups", SYS_setgroups},
    {"personality", SYS_personality},
    {"vhangup", SYS_vhangup},
    {"memfd_secret", SYS_memfd_secret},
    {"lookup_dcookie", SYS_lookup_dcookie},
    {"fanotify_init", SYS_fanotify_init},
#if defined(__x86_64__)
    {"iopl", SYS_iopl},
    {"ioperm", SYS_ioperm},
    {"modify_ldt", SYS_modify_ldt},
    {"uselib", SYS_uselib},
#endif
};

// A word as a system call argument: a number, ~ for zeroed memory, ~iov for an iovec that points to
// such memory, else a pointer to the text.
class Arguments {
 public:
  explicit Arguments(const Words& words, std::size_t first) {
    for (std::size_t i = first; i < words.size() && i < first + 6; ++i)
      values_[i - first] = value(words[i]);
  }
  long operator[](std::size_t i) const { return values_[i]; }

 private:
  long value(const std::string& word) {
    if (word == "~") return reinterpret_cast<long>(room_);
    if (word == "~iov") return reinterpret_cast<long>(&vector_);
    char* end = nullptr;
    errno = 0;
    const long number = static_cast<long>(std::strtoull(word.c_str(), &end, 0));
    if (*end == '\0' && !word.empty()) return number;
    return reinterpret_cast<long>(texts_.emplace_back(word).c_str());
  }
  long values_[6] = {};
  std::deque<std::string> texts_;
  alignas(16) char room_[4096] = {};
  iovec vector_ = {.iov_base = room_, .iov_len = 16};
};

// Runs it in a child, which a filter may kill for it, and prints what came of it.
template <class Function>
int in_child(const std::string& what, Function function) {
  const pid_t child = ::fork();
  if (child == 0) {
    report(what, function());
    std::fflush(stdout);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) std::printf("%s %s\n", what.c_str(), sigabbrev_np(WTERMSIG(status)));
  return 0;
}

int try_connect(int family, int type, const sockaddr* address, socklen_t size) {
  const int fd = ::socket(family, type | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  const int error = ::connect(fd, address, size) == 0 ? 0 : errno;
  ::close(fd);
  return error;
}

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
  int family = AF_INET;
  explicit Address(const std::string& text, int port) {
    auto* v4 = reinterpret_cast<sockaddr_in*>(&storage);
    auto* v6 = reinterpret_cast<sockaddr_in6*>(&storage);
    if (::inet_pton(AF_INET, text.c_str(), &v4->sin_addr) == 1) {
      v4->sin_family = AF_INET;
      v4->sin_port = htons(static_cast<in_port_t>(port));
      size = sizeof *v4;
    } else if (::inet_pton(AF_INET6, text.c_str(), &v6->sin6_addr) == 1) {
      v6->sin6_family = AF_INET6;
      v6->sin6_port = htons(static_cast<in_port_t>(port));
      size = sizeof *v6;
      family = AF_INET6;
    }
  }
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

// "connect EHOSTUNREACH", "took-ms 0"
template <class Function>
int timed(const char* what, Function function) {
  const auto start = std::chrono::steady_clock::now();
  const int error = function();
  const auto took = std::chrono::steady_clock::now() - start;
  report(what, -error);
  std::printf(
      "took-ms %ld\n",
      static_cast<long>(std::chrono::duration_cast<std::chrono::milliseconds>(took).count()));
  return 0;
}

int talk_to_self(const char* text) {
  const Address any_port(text, 0);
  const int listener = ::socket(any_port.family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0 || ::bind(listener, any_port.get(), any_port.size) != 0 ||
      ::listen(listener, 1) != 0)
    return errno;
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&bound), &size);
  const int client = ::socket(any_port.family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::connect(client, reinterpret_cast<const sockaddr*>(&bound), size) != 0) return errno;
  const int server = ::accept(listener, nullptr, nullptr);
  char byte = 0;
  if (::write(client, "x", 1) != 1 || ::read(server, &byte, 1) != 1 || byte != 'x') return EIO;
  return 0;
}

}  // namespace

int call(const Words& words) {
  for (const Call& each : kCalls) {
    if (words.empty() || words[0] != each.name) continue;
    const Arguments a(words, 1);
    return in_child(words[0], [&] {
      return outcome(::syscall(each.number, a[0], a[1], a[2], a[3], a[4], a[5]));
    });
  }
  std::fprintf(stderr, "probe: system call without a name here\n");
  return 64;
}

int call_ia32(const Words& words) {
#if defined(__x86_64__)
  return in_child("ia32", [&]() -> long {
    long result = std::strtol(words[0].c_str(), nullptr, 0);
    const long first = words.size() > 1 ? std::strtol(words[1].c_str(), nullptr, 0) : 0;
    __asm__ volatile("int $0x80" : "+a"(result) : "b"(first) : "memory", "r8", "r9", "r10", "r11");
    return static_cast<int>(result);
  });
#else
  (void)words;
  std::puts("ia32 ENOSYS");
  return 0;
#endif
}

int call_x32(const Words& words) {
#if defined(__x86_64__)
  constexpr long kX32Bit = 0x40000000;
  return in_child("x32", [&]() -> long {
    return outcome(::syscall(kX32Bit | std::strtol(words[0].c_str(), nullptr, 0), 0, 0, 0));
  });
#else
  (void)words;
  std::puts("x32 ENOSYS");
  return 0;
#endif
}

int open_as(const Words& words) {
  const std::string how = words.at(1);
  const int flags = how == "r" ? O_RDONLY : how == "w" ? O_WRONLY : how == "rw" ? O_RDWR : O_PATH;
  const int fd = ::open(words[0].c_str(), flags | O_CLOEXEC);
  report("open", outcome(fd < 0 ? -1 : 0));
  if (fd < 0) return 0;
  char byte = 0;
  if (flags == O_RDONLY) report("read", outcome(::read(fd, &byte, 1)));
  if (flags == O_WRONLY || flags == O_RDWR) report("write", outcome(::write(fd, "", 0)));
  return 0;
}

int writable(const Words& directories) {
  for (const std::string& directory : directories) {
    std::error_code unreadable;  // what cannot be read is stepped over
    const auto skip = std::filesystem::directory_options::skip_permission_denied;
    std::filesystem::recursive_directory_iterator entries(directory, skip, unreadable);
    for (; entries != end(entries); entries.increment(unreadable)) {
      if (!entries->is_regular_file(unreadable) || entries->is_symlink(unreadable)) continue;
      const int fd = ::open(entries->path().c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK);
      if (fd < 0) continue;
      ::close(fd);
      std::puts(entries->path().c_str());
    }
  }
  return 0;
}

int connect_unix(const Words& words) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string& name = words.at(0);
  std::memcpy(address.sun_path, name.data(), std::min(name.size(), sizeof address.sun_path - 1));
  if (name[0] == '@') address.sun_path[0] = '\0';
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  return timed("connect", [&] {
    return try_connect(AF_UNIX, SOCK_STREAM, reinterpret_cast<const sockaddr*>(&address), size);
  });
}

int connect_tcp(const Words& words) {
  const Address address(words.at(0), std::atoi(words.at(1).c_str()));
  return timed("connect", [&] {
    return try_connect(address.family, SOCK_STREAM, address.get(), address.size);
  });
}

int send_udp(const Words& words) {
  const Address address(words.at(0), std::atoi(words.at(1).c_str()));
  return timed("send", [&] {
    const int fd = ::socket(address.family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return errno;
    return ::sendto(fd, "x", 1, 0, address.get(), address.size) == 1 ? 0 : errno;
  });
}

int loopback(const Words&) {
  for (const char* address : {"127.0.0.1", "::1"}) {
    const int error = talk_to_self(address);
    report(address, -error);
  }
  return 0;
}

int terminal(const Words&) {
  const int pty = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  report("openpt", outcome(pty < 0 ? -1 : 0));
  if (pty < 0) return 0;
  ::unlockpt(pty);
  char name[64] = "";
  ::ptsname_r(pty, name, sizeof name);
  ::setsid();
  const int tty = ::open(name, O_RDWR | O_CLOEXEC);  // becomes the controlling terminal
  report("open-pts", outcome(tty < 0 ? -1 : 0));
  constexpr long kRubbish = 0x5a5a'0000'0000;
  char byte = 'x';
  char linux_code = 3;  // paste the selection
  const auto try_ioctl = [&](const char* what, long request, char* argument) {
    report(what, outcome(::syscall(SYS_ioctl, tty, request, argument)));
  };
  try_ioctl("TIOCSTI", TIOCSTI, &byte);
  try_ioctl("TIOCSTI+bits", TIOCSTI | kRubbish, &byte);
  try_ioctl("TIOCLINUX", TIOCLINUX, &linux_code);
  try_ioctl("TIOCLINUX+bits", TIOCLINUX | kRubbish, &linux_code);
  winsize size{};
  try_ioctl("TIOCGWINSZ", TIOCGWINSZ, reinterpret_cast<char*>(&size));
  return 0;
}

}  // namespace probe
