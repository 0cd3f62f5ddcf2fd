#include "cli/say.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstddef>

namespace mayfly::cli {
namespace {

// 0, or the errno of the write that failed.
int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace

std::string complaint(const Error& error) {
  std::string text = "mayfly: " + describe(error) + "\n";
  if (!error.hint.empty()) text += "hint: " + error.hint + "\n";
  return text;
}

void say(std::string_view text) {
  (void)write_all(STDERR_FILENO, text);
}

int print(std::string_view text) {
  const int failed = write_all(STDOUT_FILENO, text);
  if (failed == 0) return 0;
  say(complaint({.kind = ErrorKind::Setup,
                 .sys_errno = failed,
                 .action = "write to standard output",
                 .call = {},
                 .hint = {}}));
  return kFailed;
}

}  // namespace mayfly::cli
