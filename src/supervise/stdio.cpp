#include "supervise/stdio.hpp"

#include <fcntl.h>
#include <linux/kcmp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <string>
#include <string_view>

#include "base/text.hpp"
#include "sys/event.hpp"
#include "sys/mounts.hpp"

namespace mayfly::supervise {
namespace {

constexpr long kPipefsMagic = 0x50495045;  // include/uapi/linux/magic.h

constexpr mode_t kPipeMode = 0600;  // of a new one

constexpr std::array kNames = {"stdin", "stdout", "stderr"};
constexpr std::array kRemedies = {
    "give it a pipe or a file (< FILE), or use --stdin null",
    "give it a pipe or a file (> FILE)",
    "give it a pipe or a file (2> FILE)",
};

// include/uapi/linux/magic.h: handles of the kernel that fstat shows as regular files.
constexpr long kNsfsMagic = 0x6e736673;
constexpr long kPidfsMagic = 0x50494446;

bool is_kernel_handle(int fd) {
  struct statfs info {};
  return ::fstatfs(fd, &info) != 0 || info.f_type == kNsfsMagic || info.f_type == kPidfsMagic;
}

// A pipe without a name in any file system, which nobody else can open.
bool is_anonymous(int pipe) {
  struct statfs info {};
  return ::fstatfs(pipe, &info) == 0 && info.f_type == kPipefsMagic;
}

Kind classify_device(int fd, dev_t device, StdioRules rules) {
  if (device == ::makedev(1, 3)) return {"/dev/null", Treatment::Pass, Form::Null};
  if (::isatty(fd) != 1) return {"a character device", Treatment::Relay};
  return {"a terminal", rules.unsafe_terminal ? Treatment::Pass : Treatment::Relay, Form::Terminal};
}

// A network socket could be connected anew, or listen. A UNIX stream leads to its peer alone, but
// tells of the caller's network interfaces (SIOCGIFCONF), can be bound to a name among its abstract
// ones and shut down for the caller, and keeps what was sent through it with SCM_RIGHTS: files of
// the layer, after the end.
Kind classify_socket(int fd) {
  const auto option = [&](int name) {
    int value = -1;
    socklen_t size = sizeof value;
    return ::getsockopt(fd, SOL_SOCKET, name, &value, &size) == 0 ? value : -1;
  };
  sockaddr_storage peer = {};
  socklen_t size = sizeof peer;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) != 0) {
    return {"a socket that is not connected", Treatment::Refuse};
  }
  const int type = option(SO_TYPE);
  if (type != SOCK_STREAM) return {"a socket that is no stream", Treatment::Refuse};
  const bool local = option(SO_DOMAIN) == AF_UNIX;
  return {local ? "a UNIX socket" : "a network connection", Treatment::Relay};
}

// What is no O_PATH handle.
Kind classify_open(int fd, const struct stat& info, StdioRules rules) {
  switch (info.st_mode & S_IFMT) {
    case S_IFIFO:
      // One with a name in a file system can be given another mode there, by whoever holds it.
      if (!is_anonymous(fd)) return {"a FIFO", Treatment::Relay};
      return {"a pipe", Treatment::Pass, Form::Pipe};
    case S_IFSOCK:
      return classify_socket(fd);
    case S_IFCHR:
      return classify_device(fd, info.st_rdev, rules);
    case S_IFREG:
      if (is_kernel_handle(fd)) return {"a handle of a process or namespace", Treatment::Refuse};
      // Whoever holds it may change its mode, its times and its locks, and a writer all that was in
      // it: even one that is opened for reading only.
      return {"a regular file", rules.pass_files ? Treatment::Pass : Treatment::Relay};
    case S_IFDIR:
      return {"a directory", Treatment::Refuse};
    case S_IFBLK:
      return {"a block device", Treatment::Refuse};
    default:
      return {"a handle of the kernel (an eventfd, a pidfd, …)", Treatment::Refuse};
  }
}

Result<Fd> open_stdin(const spec::Spec& spec, const std::string& working_dir) {
  const bool null = spec.stdin_kind == spec::StdinKind::Null;
  const std::string path = null ? "/dev/null" : spec.stdin_file;
  // Non-blocking, or a FIFO without a writer would hold us here.
  Fd file(
      ::open(seen_from(working_dir, path).c_str(), O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
  if (!file) {
    Error error = sys::errno_error("open " + shown(path) + " as the task's stdin",
                                   "open(" + shown(path) + ", O_RDONLY)");
    error.kind = ErrorKind::Usage;
    error.hint = "name a file that you can read, or use --stdin null";
    return error;
  }
  return file;
}

// An endpoint that reads the caller's descriptor. A FIFO is not opened anew: it would have
// forgotten that its writer left.
Endpoint reader_of(int fd) {
  struct stat info {};
  const bool fifo = ::fstat(fd, &info) == 0 && S_ISFIFO(info.st_mode) && !is_anonymous(fd);
  return fifo ? Endpoint::borrow_as_it_is(fd) : Endpoint::borrow(fd, Direction::Read);
}

// What stdout and stderr say is in one order where both are one file, as by > FILE 2>&1. Two pipes
// would lose it.
bool outputs_are_one() {
  struct stat out {};
  struct stat err {};
  if (::fstat(1, &out) != 0 || ::fstat(2, &err) != 0) return false;
  if (out.st_dev != err.st_dev || out.st_ino != err.st_ino) return false;
  const int flags = ::fcntl(1, F_GETFL), others = ::fcntl(2, F_GETFL);
  const bool both_append = (flags & others & O_APPEND) != 0;
  const bool is_stream = S_ISFIFO(out.st_mode) || S_ISSOCK(out.st_mode);
  if (is_stream || (S_ISREG(out.st_mode) && both_append)) {
    return ((flags ^ others) & O_ACCMODE) == 0;
  }
  // Opened twice, a file is written to at two places, and all masters of ptys are one inode.
  const pid_t self = ::getpid();
  return ::syscall(SYS_kcmp, self, self, KCMP_FILE, 1, 2) == 0;
}

// A pipe between the task and the caller's descriptor `fd`, which is number `number` to the task.
Result<int> relay_through_pipe(int fd, int number, Stdio& stdio) {
  sys::Pipe pipe = TRY(sys::pipe());
  const char* name = kNames[static_cast<std::size_t>(number)];
  Fd& ours = number == 0 ? pipe.write_end : pipe.read_end;
  Fd& theirs = number == 0 ? pipe.read_end : pipe.write_end;
  TRY(sys::set_nonblocking(ours));
  if (fd == STDIN_FILENO && LentInput::is_one(fd)) {
    Fd copy(::fcntl(theirs.get(), F_DUPFD_CLOEXEC, 3));
    if (!copy) return sys::errno_error("carry stdin to the task", "fcntl(F_DUPFD_CLOEXEC)");
    stdio.lent_input.emplace(fd, std::move(copy));
  }
  if (number == 0) {
    stdio.relay.add_input(reader_of(fd), Endpoint::own(std::move(ours)), name);
  } else {
    stdio.relay.add_output(Endpoint::own(std::move(ours)), Endpoint::borrow(fd, Direction::Write),
                           name);
  }
  return stdio.task_ends.emplace_back(std::move(theirs)).get();
}

struct Source {
  int fd = -1;
  int number = 0;         // which descriptor of the task it is to be
  std::string_view path;  // of --stdin FILE; empty where the caller's descriptor is used
};

Error refusal(const Source& source, const Kind& kind) {
  const auto at = static_cast<std::size_t>(source.number);
  const std::string words =
      source.path.empty() ? "descriptor " + std::to_string(source.number) + " (" + kNames[at] + ")"
                          : shown(source.path) + " (--stdin)";
  return usage_error("give " + words + " to the task: it is " + kind.words, kRemedies[at]);
}

// /dev/stdout and its like open the pipe anew by its inode, whose owner is the caller. A task with
// an id of its own is let in as far as the descriptor goes: to read its stdin, to write the others.
// Nobody else can name these pipes. One that we may not change stays as it is.
void let_reopen(int fd, int number, mode_t mode) {
  static_cast<void>(::fchmod(fd, mode | (number == 0 ? 0044 : 0022)));
}

// What could be passed on and must not be, for what was asked for.
bool must_relay(const Kind& kind, int number, StdioRules rules) {
  if (number == 0) return rules.relay_input && kind.form != Form::Null;
  return rules.relay_output;
}

// stdin and stdout are the terminal's, and so is stderr where both would go to the same screen.
bool belongs_to_terminal(int number, StdioRules rules) {
  if (!rules.own_terminal) return false;
  return number != 2 || (::isatty(1) == 1 && ::isatty(2) == 1);
}

int give_terminal(const Source& source, Stdio& stdio) {
  if (source.number == 0) stdio.terminal_in = Endpoint::borrow(source.fd, Direction::Read);
  if (source.number == 1) stdio.terminal_out = Endpoint::borrow(source.fd, Direction::Write);
  return launch::kOwnTerminal;
}

Result<int> descriptor_for_task(const Source& source, StdioRules rules, Stdio& stdio) {
  const Kind kind = classify(source.fd, rules);
  if (kind.treatment == Treatment::Refuse) return refusal(source, kind);
  if (belongs_to_terminal(source.number, rules)) return give_terminal(source, stdio);
  const bool passes = kind.treatment == Treatment::Pass && !must_relay(kind, source.number, rules);
  const int fd = passes ? source.fd : TRY(relay_through_pipe(source.fd, source.number, stdio));
  const bool is_pipe = kind.form == Form::Pipe || !passes;
  if (rules.own_ids && is_pipe) let_reopen(fd, source.number, passes ? kind.mode : kPipeMode);
  const bool shared = kind.form == Form::Pipe || kind.form == Form::Terminal;
  if (passes && shared) {
    const auto mode = rules.own_ids ? std::nullopt : std::optional(kind.mode);
    stdio.lent.emplace_back(fd, kind.flags, mode);
  }
  return fd;
}

}  // namespace

Result<void> fill_missing_stdio() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    // The lowest free number is this one: all below it are open. It survives execve on purpose.
    if (::open("/dev/null", O_RDWR | O_NOCTTY) != fd) {  // NOLINT no O_CLOEXEC
      return sys::errno_error("put /dev/null on the closed descriptor " + std::to_string(fd),
                              "open(/dev/null, O_RDWR)");
    }
  }
  return {};
}

Kind classify(int fd, StdioRules rules) {
  struct stat info {};
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || ::fstat(fd, &info) != 0) return {"closed", Treatment::Refuse};
  if ((flags & O_PATH) != 0) return {"an O_PATH handle", Treatment::Refuse};
  Kind kind = classify_open(fd, info, rules);
  kind.flags = flags;
  kind.mode = info.st_mode & 07777;
  return kind;
}

void Stdio::put_back() const {
  for (const Lent& each : lent)
    each.put_back();
  if (lent_input) lent_input->put_back(relay.undelivered_input());
}

Result<void> Stdio::attach(Fd master) {
  TRY(sys::set_nonblocking(master));
  Fd copy(::fcntl(master.get(), F_DUPFD_CLOEXEC, 3));
  if (!copy) return sys::errno_error("use the task's terminal", "fcntl(F_DUPFD_CLOEXEC)");
  relay.add_terminal(std::move(terminal_in), std::move(terminal_out), std::move(master),
                     std::move(copy));
  return {};
}

Result<Stdio> prepare_stdio(const spec::Spec& spec, StdioRules rules) {
  Stdio stdio;
  Source in{.fd = 0, .number = 0, .path = {}};
  if (spec.stdin_kind != spec::StdinKind::Inherit) {
    stdio.stdin_file = TRY(open_stdin(spec, rules.working_dir));
    in.fd = stdio.stdin_file.get();
    in.path = spec.stdin_file;
  }
  const Source out{.fd = 1, .number = 1, .path = {}};
  const Source err{.fd = 2, .number = 2, .path = {}};
  stdio.task.in = TRY(descriptor_for_task(in, rules, stdio));
  // It was opened so for our sake alone.
  if (stdio.stdin_file && stdio.task.in == in.fd) ::fcntl(in.fd, F_SETFL, 0);
  stdio.task.out = TRY(descriptor_for_task(out, rules, stdio));
  const bool relayed = stdio.task.out > 2;
  if (relayed && outputs_are_one()) {
    stdio.task.err = stdio.task.out;
    stdio.relay.rename_last(kBothOutputs);
  } else {
    stdio.task.err = TRY(descriptor_for_task(err, rules, stdio));
  }
  return stdio;
}

}  // namespace mayfly::supervise
