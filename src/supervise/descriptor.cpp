#include "supervise/descriptor.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/text.hpp"
#include "sys/mounts.hpp"

namespace mayfly::supervise {
namespace {

bool is_same(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// What the two have in common: "pipe", or null where they are not the same or it does not matter. A
// terminal is never the task's, and nobody reads from /dev/null.
const char* shared_place(int a, int b) {
  struct stat of_a {};
  struct stat of_b {};
  if (::fstat(a, &of_a) != 0 || ::fstat(b, &of_b) != 0 || !is_same(of_a, of_b)) return nullptr;
  switch (of_a.st_mode & S_IFMT) {
    case S_IFIFO:
      return "pipe";
    case S_IFSOCK:
      return "socket";
    case S_IFREG:
      return "file";
    default:
      return nullptr;
  }
}

Result<void> keep_from_task(int fd, const spec::Spec& spec, const char* what, const char* hint) {
  const char* names[] = {"stdin", "stdout", "stderr"};
  const bool has_stdin = spec.stdin_kind == spec::StdinKind::Inherit;
  for (int theirs = has_stdin ? 0 : 1; theirs <= 2; ++theirs) {
    const char* place = fd < 0 ? nullptr : shared_place(fd, theirs);
    if (place == nullptr) continue;
    return usage_error(std::string(what) + std::to_string(fd) + ": it is the same " + place +
                           " as descriptor " + std::to_string(theirs) + " (" + names[theirs] +
                           "), which is the task's",
                       hint);
  }
  return {};
}

// Of a pipe we would read our own events as commands, or nothing.
Result<void> keep_from_events(const spec::Spec& spec) {
  if (spec.control_fd < 0 || spec.status_fd < 0) return {};
  const char* place = shared_place(spec.control_fd, spec.status_fd);
  if (place == nullptr || std::string_view(place) != "pipe") return {};
  return usage_error("read commands from descriptor " + std::to_string(spec.control_fd) +
                         ": it is the pipe that --status-fd writes to",
                     "give each a pipe of its own, or both a socket");
}

// The result takes the place of a file whose content goes with it.
Result<void> keep_from_result(const spec::Spec& spec) {
  const std::string& file = spec.result_file;
  struct stat result {};
  if (file.empty() || ::stat(file.c_str(), &result) != 0) return {};
  for (const int output : {1, 2, spec.status_fd}) {
    struct stat info {};
    if (output < 0 || ::fstat(output, &info) != 0 || !is_same(info, result)) continue;
    return usage_error(
        "write the result to " + shown(file) + ": descriptor " + std::to_string(output) +
            (output > 2 ? " (--status-fd)" : ", the command's,") + " is this file, too",
        "name another file");
  }
  return {};
}

}  // namespace

Result<void> keep_from_task(const spec::Spec& spec) {
  TRY(about({.key = "result"}, keep_from_result(spec)));
  TRY(about(
      {.key = "status-fd"},
      keep_from_task(spec.status_fd, spec, "write the status to descriptor ",
                     "give it a file or pipe of its own, as in: --status-fd 3 3>status.jsonl")));
  TRY(about({.key = "control-fd"}, keep_from_events(spec)));
  return about(
      {.key = "control-fd"},
      keep_from_task(spec.control_fd, spec, "read commands from descriptor ",
                     "give it a pipe of its own, as in: --control-fd 4 4<FIFO; or the command "
                     "another stdin, as by --stdin null"));
}

Result<void> take_descriptor(int fd, Direction direction, const std::string& what,
                             const char* hint) {
  if (fd <= 2) return usage_error(what + ": 0-2 are the task's own", hint);
  // What is closed by execve was not inherited: it is one of our own, opened since.
  const int own = ::fcntl(fd, F_GETFD);
  const int flags =
      own >= 0 && (own & FD_CLOEXEC) != 0 ? (errno = EBADF, -1) : ::fcntl(fd, F_GETFL);
  if (flags < 0) {
    Error error = sys::errno_error(what, "fcntl(" + std::to_string(fd) + ", F_GETFL)");
    error.kind = ErrorKind::Usage;
    error.hint = hint;
    return error;
  }
  const bool reading = direction == Direction::Read;
  if ((flags & O_PATH) != 0 || (flags & O_ACCMODE) == (reading ? O_WRONLY : O_RDONLY)) {
    return usage_error(what + ": it is not open for " + (reading ? "reading" : "writing"), hint);
  }
  if (::fcntl(fd, F_SETFD, FD_CLOEXEC) == 0) return {};
  return sys::errno_error(what, "fcntl(" + std::to_string(fd) + ", F_SETFD)");
}

}  // namespace mayfly::supervise
