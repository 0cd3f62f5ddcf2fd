#include "cli/named_file.hpp"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "host/sources.hpp"
#include "sys/files.hpp"
#include "sys/mounts.hpp"

namespace mayfly::cli {
namespace {

constexpr std::size_t kMostBytes = 1u << 20;

}  // namespace

Result<std::string> read_named_file(const std::string& path) {
  TRY(host::check_ends(path));
  std::string buffer;
  Result<std::string_view> text = sys::read_whole_file(AT_FDCWD, path.c_str(), buffer, kMostBytes);
  if (!text) {
    Error error = std::move(text).error();
    error.kind = ErrorKind::Usage;
    error.hint = host::path_remedy(error.sys_errno);
    return error;
  }
  return std::string(*text);
}

Result<std::string> read_standard_input() {
  std::string text;
  char buffer[4096];
  while (text.size() <= kMostBytes) {
    const ssize_t size = ::read(STDIN_FILENO, buffer, sizeof buffer);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) {
      Error error = sys::errno_error("read standard input", "read(0)");
      error.kind = ErrorKind::Usage;
      return error;
    }
    if (size == 0) return text;
    text.append(buffer, static_cast<std::size_t>(size));
  }
  return usage_error("read standard input: it is longer than 1 MiB");
}

}  // namespace mayfly::cli
