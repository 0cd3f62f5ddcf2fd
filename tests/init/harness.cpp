#include "harness.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>

#include "init/image.hpp"

namespace mayfly::init::test {
namespace {

constexpr unsigned kInitId = 65533;
constexpr unsigned kRangeBase = 700'000'000;

void write_file(const std::string& path, const std::string& text) {
  const Fd file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  REQUIRE_MESSAGE(file, path);
  REQUIRE_MESSAGE(write(file.get(), text.data(), text.size()) == ssize_t(text.size()), path);
}

void write_maps(pid_t pid, Place place) {
  const std::string proc = "/proc/" + std::to_string(pid);
  if (place == Place::IdRange) {
    const std::string map = "0 " + std::to_string(kRangeBase) + " 65536\n";
    write_file(proc + "/uid_map", map);
    write_file(proc + "/gid_map", map);
    return;
  }
  write_file(proc + "/setgroups", "deny");
  write_file(proc + "/uid_map", "0 " + std::to_string(getuid()) + " 1\n");
  write_file(proc + "/gid_map", "0 " + std::to_string(getgid()) + " 1\n");
}

// Raw calls from here to the execve: after a raw clone libc need not be trusted.

// Leaves the capabilities in `keep`, across the execve, as the launch does: nothing else, and an
// empty bounding set. What shall be inheritable must be so while the bounding set still has it.
bool limit_capabilities(std::uint32_t keep) {
  __user_cap_header_struct version{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct all[2] = {};
  if (syscall(SYS_capget, &version, all) != 0) return false;
  all[0].effective = all[0].permitted;  // a change of ids may have cleared it
  all[1].effective = all[1].permitted;
  all[0].inheritable = keep;
  if (syscall(SYS_capset, &version, all) != 0) return false;
  for (int capability = 0; capability < 64; ++capability)
    if (prctl(PR_CAPBSET_READ, capability) == 1 && prctl(PR_CAPBSET_DROP, capability) != 0)
      return false;
  const __user_cap_data_struct kept[2] = {{keep, keep, keep}, {0, 0, 0}};
  if (syscall(SYS_capset, &version, kept) != 0) return false;
  for (int capability = 0; capability < 32; ++capability)
    if ((keep >> capability & 1) != 0 &&
        prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, 0, 0) != 0)
      return false;
  return true;
}

bool become_init_user(Place place) {
  if (place == Place::Plain) return true;
  if (place == Place::PidNamespace) return limit_capabilities(0);
  return syscall(SYS_setgroups, 0, nullptr) == 0 && prctl(PR_SET_KEEPCAPS, 1) == 0 &&
         syscall(SYS_setresgid, kInitId, kInitId, kInitId) == 0 &&
         syscall(SYS_setresuid, kInitId, kInitId, kInitId) == 0 &&
         limit_capabilities(1 << CAP_SETUID | 1 << CAP_SETGID | 1 << CAP_KILL);
}

[[noreturn]] void execute_init(int image, int socket, int supervisor, int go,
                               const StartOptions& options) {
  char byte;
  if (read(go, &byte, 1) != 1) _exit(71);
  if (!become_init_user(options.place)) _exit(72);
  if (options.most_processes != 0) {
    const rlimit limit{options.most_processes, options.most_processes};
    if (setrlimit(RLIMIT_NPROC, &limit) != 0) _exit(75);
  }
  if (options.terminal >= 0) {
    setsid();
    ioctl(options.terminal, TIOCSCTTY, 0);
  }
  for (const int number : options.ignored_signals)
    signal(number, SIG_IGN);
  if (options.blocked_signals) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, nullptr);
  }
  // Out of the way of 3, 4 and 5 first.
  socket = fcntl(socket, F_DUPFD, 100);
  supervisor = fcntl(supervisor, F_DUPFD, 100);
  image = fcntl(image, F_DUPFD, 100);
  if (dup3(socket, 3, 0) < 0 || dup3(supervisor, 4, 0) < 0 || dup3(image, 5, O_CLOEXEC) < 0)
    _exit(73);
  for (const int closed : {0, 1, 2})
    close(closed);
  if (options.close_supervisor) close(4);
  syscall(SYS_close_range, 6, ~0U, 0);
  char* const none[] = {nullptr};
  syscall(SYS_execveat, 5, "", none, none, AT_EMPTY_PATH);
  _exit(74);
}

template <class T>
std::uint32_t append(std::string& out, const T* items, std::size_t count) {
  out.resize((out.size() + 7) / 8 * 8);
  const auto offset = static_cast<std::uint32_t>(out.size());
  out.append(reinterpret_cast<const char*>(items), count * sizeof *items);
  return offset;
}

std::uint32_t append_strings(std::string& out, const std::vector<std::string>& strings) {
  std::vector<std::uint32_t> offsets;
  for (const std::string& string : strings) {
    offsets.push_back(static_cast<std::uint32_t>(out.size()));
    out.append(string.c_str(), string.size() + 1);
  }
  return append(out, offsets.data(), offsets.size());
}

}  // namespace

std::string Spawn::bytes() const {
  SpawnHeader filled = header;
  std::string out(sizeof filled, '\0');
  const std::vector<std::string> first(argv.begin(), argv.begin() + (argv.empty() ? 0 : 1));
  const std::vector<std::string>& candidates = paths.empty() ? first : paths;
  filled.argc = static_cast<std::uint32_t>(argv.size());
  filled.argv_offset = append_strings(out, argv);
  filled.envc = static_cast<std::uint32_t>(env.size());
  filled.env_offset = append_strings(out, env);
  filled.pathc = static_cast<std::uint32_t>(candidates.size());
  filled.path_offset = append_strings(out, candidates);
  filled.filter_count = static_cast<std::uint32_t>(filter.size());
  filled.filter_offset = append(out, filter.data(), filter.size());
  std::vector<launch::SpawnFilter> table;
  for (const std::vector<sock_filter>& program : stacked) {
    table.push_back({.count = static_cast<std::uint32_t>(program.size()),
                     .offset = append(out, program.data(), program.size())});
  }
  filled.stacked_count = static_cast<std::uint32_t>(table.size());
  filled.stacked_offset = append(out, table.data(), table.size());
  filled.rlimit_count = static_cast<std::uint32_t>(rlimits.size());
  filled.rlimit_offset = append(out, rlimits.data(), rlimits.size());
  filled.chdir_offset = append(out, chdir.c_str(), chdir.size() + 1);
  filled.size = out.size();
  std::memcpy(out.data(), &filled, sizeof filled);
  return out;
}

Fd memfd_with_seals(const std::string& bytes, int seals) {
  Fd memfd(memfd_create("spawn", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  REQUIRE(memfd);
  REQUIRE(write(memfd.get(), bytes.data(), bytes.size()) == ssize_t(bytes.size()));
  REQUIRE(fcntl(memfd.get(), F_ADD_SEALS, seals) == 0);
  return memfd;
}

Fd sealed_memfd(const std::string& bytes) {
  return memfd_with_seals(bytes, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW);
}

bool has_root() {
  if (geteuid() == 0) return true;
  MESSAGE("skipped: only root may do this");
  if (getenv("MAYFLY_MUST_RUN") != nullptr) FAIL("this test must run as root");
  return false;
}

Pipe make_pipe() {
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  return {.read = Fd(ends[0]), .write = Fd(ends[1])};
}

Fd open_pidfd(pid_t pid) {
  Fd pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  REQUIRE(pidfd);
  return pidfd;
}

bool is_readable(const Fd& descriptor, int milliseconds) {
  pollfd watched{.fd = descriptor.get(), .events = POLLIN, .revents = 0};
  return poll(&watched, 1, milliseconds) == 1;
}

std::string read_all(const Fd& descriptor) {
  std::string all;
  char buffer[4096];
  for (;;) {
    REQUIRE_MESSAGE(is_readable(descriptor), "no end of file");
    const ssize_t count = read(descriptor.get(), buffer, sizeof buffer);
    if (count <= 0) return all;
    all.append(buffer, static_cast<std::size_t>(count));
  }
}

std::string read_line(const Fd& descriptor) {
  std::string line;
  for (char byte = 0; byte != '\n'; line += byte) {
    REQUIRE_MESSAGE(is_readable(descriptor), "no line");
    if (read(descriptor.get(), &byte, 1) != 1) return line;
  }
  return line;
}

Sandbox::Sandbox(StartOptions options) {
  int ends[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
  socket_ = Fd(ends[0]);
  const Fd inner(ends[1]);
  const Fd supervisor = open_pidfd(options.supervisor != 0 ? options.supervisor : getpid());
  const std::span<const std::byte> program = init_image();
  const Fd image = sealed_memfd({reinterpret_cast<const char*>(program.data()), program.size()});
  Pipe go = make_pipe();

  const bool isolated = options.place != Place::Plain;
  const unsigned long flags = SIGCHLD | (isolated ? CLONE_NEWUSER | CLONE_NEWPID : 0);
  pid_ = static_cast<pid_t>(syscall(SYS_clone, flags, 0, 0, 0, 0));
  REQUIRE_MESSAGE(pid_ >= 0, std::strerror(errno));
  if (pid_ == 0) execute_init(image.get(), inner.get(), supervisor.get(), go.read.get(), options);
  pidfd_ = open_pidfd(pid_);
  if (isolated) write_maps(pid_, options.place);
  REQUIRE(write(go.write.get(), "g", 1) == 1);
}

Sandbox::~Sandbox() {
  if (pid_ == 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void Sandbox::send_bytes(const void* bytes, std::size_t size) {
  REQUIRE(::send(socket_.get(), bytes, size, MSG_NOSIGNAL) == ssize_t(size));
}

void Sandbox::send(const Message& message, std::initializer_list<int> descriptors) {
  iovec data{const_cast<Message*>(&message), sizeof message};
  alignas(cmsghdr) char control[256] = {};
  msghdr record{};
  record.msg_iov = &data;
  record.msg_iovlen = 1;
  if (descriptors.size() > 0) {
    record.msg_control = control;
    record.msg_controllen = CMSG_SPACE(descriptors.size() * sizeof(int));
    cmsghdr* rights = CMSG_FIRSTHDR(&record);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(descriptors.size() * sizeof(int));
    std::memcpy(CMSG_DATA(rights), std::data(descriptors), descriptors.size() * sizeof(int));
  }
  REQUIRE(sendmsg(socket_.get(), &record, MSG_NOSIGNAL) == ssize_t(sizeof message));
}

Fd Sandbox::spawn(const Spawn& request, std::uint32_t slot) {
  const Fd memfd = sealed_memfd(request.bytes());
  const Fd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  Pipe output = make_pipe();
  Message message;
  message.kind = Kind::Spawn;
  message.slot = slot;
  send(message, {memfd.get(), null.get(), output.write.get(), output.write.get()});
  return std::move(output.read);
}

void Sandbox::spawn_memfd(const Fd& memfd, std::uint32_t slot) {
  const Fd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  Message message;
  message.kind = Kind::Spawn;
  message.slot = slot;
  send(message, {memfd.get(), null.get(), null.get(), null.get()});
}

void Sandbox::set_deadline(std::int64_t nanoseconds) {
  Message message;
  message.kind = Kind::Deadline;
  message.value = nanoseconds;
  send(message);
}

void Sandbox::wait_until_ready() {
  const std::string path = "/proc/" + std::to_string(pid_) + "/comm";
  for (int waited = 0; waited < kPatienceMs; ++waited) {
    std::ifstream file(path);
    std::string name;
    std::getline(file, name);
    if (name == "mayfly-init") return;
    usleep(1000);
  }
  FAIL("init does not get ready");
}

Message Sandbox::receive() {
  REQUIRE_MESSAGE(is_readable(socket_), "init says nothing");
  Message message;
  iovec data{&message, sizeof message};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr record{};
  record.msg_iov = &data;
  record.msg_iovlen = 1;
  record.msg_control = control;
  record.msg_controllen = sizeof control;
  const ssize_t size = recvmsg(socket_.get(), &record, MSG_CMSG_CLOEXEC);
  REQUIRE_MESSAGE(size == ssize_t(sizeof message), "size " << size);
  if (const cmsghdr* rights = CMSG_FIRSTHDR(&record)) {
    int number;
    std::memcpy(&number, CMSG_DATA(rights), sizeof number);
    received_ = Fd(number);
  }
  return message;
}

Message Sandbox::expect(Kind kind) {
  const Message message = receive();
  INFO("step " << int(message.step) << " error " << message.error << " index " << message.index
               << " value " << message.value << " text " << message.text);
  REQUIRE(int(message.kind) == int(kind));
  return message;
}

bool Sandbox::is_at_end() {
  REQUIRE(is_readable(socket_));
  char byte;
  return recv(socket_.get(), &byte, 1, MSG_PEEK) <= 0;
}

int Sandbox::wait() {
  REQUIRE_MESSAGE(is_readable(pidfd_), "init does not end");
  int status = 0;
  REQUIRE(waitpid(pid_, &status, 0) == pid_);
  pid_ = 0;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

Ended run(const Spawn& request, StartOptions options) {
  Sandbox sandbox(options);
  sandbox.wait_until_ready();
  const Fd output = sandbox.spawn(request);
  const Message started = sandbox.expect(Kind::Started);
  CHECK(started.value > 1);
  CHECK(sandbox.take_descriptor());
  Ended ended{.output = read_all(output), .exited = sandbox.expect(Kind::Exited)};
  CHECK(sandbox.is_at_end());
  CHECK(sandbox.wait() == launch::kInitDone);
  return ended;
}

Message run_to_failure(const Spawn& request, StartOptions options) {
  Sandbox sandbox(options);
  sandbox.wait_until_ready();
  const Fd output = sandbox.spawn(request);
  const Message failed = sandbox.expect(Kind::ExecFailed);
  CHECK(read_all(output).empty());
  CHECK(sandbox.is_at_end());
  CHECK(sandbox.wait() == launch::kInitDone);
  return failed;
}

std::string fact(const std::string& output, const std::string& name) {
  for (std::size_t start = 0; start < output.size();) {
    const std::size_t end = std::min(output.find('\n', start), output.size());
    const std::string line = output.substr(start, end - start);
    if (line.rfind(name, 0) == 0) {
      const std::size_t value = line.find_first_not_of(" \t:", name.size());
      return value == std::string::npos ? "" : line.substr(value);
    }
    start = end + 1;
  }
  return "(no line " + name + ")";
}

}  // namespace mayfly::init::test
