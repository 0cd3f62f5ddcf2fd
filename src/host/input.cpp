#include "host/input.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/text.hpp"
#include "sys/event.hpp"
#include "sys/files.hpp"
#include "sys/mounts.hpp"

namespace mayfly::host {
namespace {

bool is_regular(int fd) {
  struct stat info {};
  return ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
}

bool is_named_fifo(int fd) {
  constexpr long kPipefsMagic = 0x50495045;
  struct stat info {};
  struct statfs file_system {};
  if (::fstat(fd, &info) != 0 || !S_ISFIFO(info.st_mode)) return false;
  return ::fstatfs(fd, &file_system) != 0 || file_system.f_type != kPipefsMagic;
}

Error too_late(const std::string& name, std::int64_t patience_ns) {
  return usage_error("read " + name + ": its end did not come in " +
                         time_text(static_cast<std::uint64_t>(patience_ns)),
                     "end what writes to it sooner, or write to a file first and name that");
}

// False: nothing has come by then.
Result<bool> await_input(int fd, std::int64_t deadline) {
  pollfd input{.fd = fd, .events = POLLIN, .revents = 0};
  const std::int64_t left = deadline - sys::boottime_ns();
  if (left <= 0) return false;
  TRY(sys::ppoll({&input, 1}, left));
  return input.revents != 0;
}

}  // namespace

Result<Fd> open_input(const std::string& path, const std::string& working_dir) {
  constexpr const char* kHint = "name a file, or use a process substitution: <(COMMAND)";
  Result<Fd> opened =
      sys::openat(AT_FDCWD, seen_from(working_dir, path).c_str(), O_RDONLY | O_NOCTTY | O_NONBLOCK);
  if (!opened) {
    opened.error().action = "open " + shown(path);
    return opened;
  }
  Fd file = std::move(opened).value();
  if (::isatty(file.get()) == 1) {
    return usage_error("read " + shown(path) + ": it is a terminal, which may never end", kHint);
  }
  if (is_named_fifo(file.get())) {
    return usage_error("read " + shown(path) + ": it is a FIFO, which may never end", kHint);
  }
  return file;
}

Result<std::string> read_input(int fd, const std::string& name, std::size_t most,
                               std::int64_t patience_ns) {
  constexpr std::size_t kChunk = 64 << 10;
  const bool may_wait = !is_regular(fd);
  const std::int64_t deadline = sys::boottime_ns() + patience_ns;
  std::string content;
  for (;;) {
    if (may_wait && !TRY(await_input(fd, deadline))) {
      if (sys::boottime_ns() >= deadline) return too_late(name, patience_ns);
      continue;
    }
    const std::size_t had = content.size();
    content.resize(had + kChunk);
    const ssize_t got = ::read(fd, content.data() + had, kChunk);
    content.resize(had + static_cast<std::size_t>(got > 0 ? got : 0));
    if (got == 0) return content;
    if (got < 0 && errno != EINTR && !(errno == EAGAIN && may_wait)) {
      Error error = sys::errno_error("read " + name, "read(" + name + ")");
      if (error.sys_errno == EAGAIN) {
        error.hint = "it gives what comes and has no end: write to a file first and name that";
      }
      return error;
    }
    if (content.size() > most) {
      errno = EFBIG;
      return sys::errno_error("read " + name + ", more than " + std::to_string(most) + " bytes",
                              "read(" + name + ")");
    }
  }
}

}  // namespace mayfly::host
