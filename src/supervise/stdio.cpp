#include "supervise/stdio.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/text.hpp"
#include "sys/event.hpp"

namespace mayfly::supervise {
namespace {

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

Kind classify_device(int fd, dev_t device, StdioRules rules) {
  if (device == ::makedev(1, 3)) return {"/dev/null", Treatment::Pass};
  if (::isatty(fd) != 1) return {"a character device", Treatment::Relay};
  return {"a terminal", rules.unsafe_terminal ? Treatment::Pass : Treatment::Relay};
}

Error refusal(int number, const Kind& kind) {
  const auto at = static_cast<std::size_t>(number);
  return usage_error("give descriptor " + std::to_string(number) + " (" + kNames[at] +
                         ") to the task: it is " + kind.words,
                     kRemedies[at]);
}

Result<Fd> open_stdin(const spec::Spec& spec) {
  const bool null = spec.stdin_kind == spec::StdinKind::Null;
  const std::string& path = spec.stdin_file;
  // Non-blocking, or a FIFO without a writer would hold us here.
  const int fd = ::open(null ? "/dev/null" : path.c_str(),
                        O_RDONLY | O_NOCTTY | O_CLOEXEC | (null ? 0 : O_NONBLOCK));
  if (fd < 0) {
    Error error = usage_error("open " + shown(null ? "/dev/null" : path) + " as the task's stdin");
    error.sys_errno = errno;
    error.call = "open(\"" + path + "\", O_RDONLY)";
    return error;
  }
  ::fcntl(fd, F_SETFL, 0);
  return Fd(fd);
}

// A pipe between the task and the caller's descriptor `fd`, which is number `number` to the task.
Result<int> relay_through_pipe(int fd, int number, Stdio& stdio) {
  sys::Pipe pipe = TRY(sys::pipe());
  const char* name = kNames[static_cast<std::size_t>(number)];
  Fd& ours = number == 0 ? pipe.write_end : pipe.read_end;
  Fd& theirs = number == 0 ? pipe.read_end : pipe.write_end;
  TRY(sys::set_nonblocking(ours));
  if (number == 0) {
    stdio.relay.add_input(Endpoint::borrow(fd, Direction::Read), Endpoint::own(std::move(ours)),
                          name);
  } else {
    stdio.relay.add_output(Endpoint::own(std::move(ours)), Endpoint::borrow(fd, Direction::Write),
                           name);
  }
  return stdio.task_ends.emplace_back(std::move(theirs)).get();
}

Result<int> descriptor_for_task(int fd, int number, StdioRules rules, Stdio& stdio) {
  const Kind kind = classify(fd, rules);
  if (kind.treatment == Treatment::Refuse) return refusal(number, kind);
  if (kind.treatment == Treatment::Pass) return fd;
  return relay_through_pipe(fd, number, stdio);
}

}  // namespace

Result<void> fill_missing_stdio() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    // The lowest free number is this one: all below it are open. It survives execve on purpose.
    if (::open("/dev/null", O_RDWR | O_NOCTTY) != fd) {  // NOLINT no O_CLOEXEC
      return Error{.kind = ErrorKind::Setup,
                   .sys_errno = errno,
                   .action = "put /dev/null on the closed descriptor " + std::to_string(fd),
                   .call = "open(\"/dev/null\", O_RDWR)",
                   .hint = {}};
    }
  }
  return {};
}

Kind classify(int fd, StdioRules rules) {
  struct stat info {};
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || ::fstat(fd, &info) != 0) return {"closed", Treatment::Refuse};
  if ((flags & O_PATH) != 0) return {"an O_PATH handle", Treatment::Refuse};
  switch (info.st_mode & S_IFMT) {
    case S_IFIFO:
      return {"a pipe", Treatment::Pass};
    case S_IFSOCK:
      return {"a socket", Treatment::Pass};
    case S_IFCHR:
      return classify_device(fd, info.st_rdev, rules);
    case S_IFREG:
      if (is_kernel_handle(fd)) return {"a handle of a process or namespace", Treatment::Refuse};
      return {"a regular file", rules.landlock ? Treatment::Pass : Treatment::Relay};
    case S_IFDIR:
      return {"a directory", Treatment::Refuse};
    case S_IFBLK:
      return {"a block device", Treatment::Refuse};
    default:
      return {"a handle of the kernel (an eventfd, a pidfd, …)", Treatment::Refuse};
  }
}

Result<Stdio> prepare_stdio(const spec::Spec& spec, StdioRules rules) {
  Stdio stdio;
  int in = 0;
  if (spec.stdin_kind != spec::StdinKind::Inherit) {
    in = stdio.task_ends.emplace_back(TRY(open_stdin(spec))).get();
  }
  stdio.task.in = TRY(descriptor_for_task(in, 0, rules, stdio));
  stdio.task.out = TRY(descriptor_for_task(1, 1, rules, stdio));
  stdio.task.err = TRY(descriptor_for_task(2, 2, rules, stdio));
  return stdio;
}

}  // namespace mayfly::supervise
