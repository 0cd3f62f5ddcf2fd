#include "cli/named_file.hpp"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/text.hpp"
#include "host/input.hpp"
#include "host/sources.hpp"

namespace mayfly::cli {
namespace {

constexpr std::size_t kMostBytes = 1u << 20;

}  // namespace

Result<std::string> read_named_file(const std::string& path) {
  return read_named_file(path, {});
}

Result<std::string> read_named_file(const std::string& path, const std::string& working_dir) {
  const Result<Fd> file = host::open_input(path, working_dir);
  Result<std::string> text =
      file ? host::read_input(file->get(), shown(path), kMostBytes) : file.error();
  if (!text && text.error().sys_errno != 0) {
    text.error().kind = ErrorKind::Usage;
    text.error().hint = host::path_remedy(text.error().sys_errno);
  }
  return text;
}

Result<std::string> read_standard_input() {
  Result<std::string> text = host::read_input(STDIN_FILENO, "standard input", kMostBytes);
  if (text) return text;
  if (text.error().sys_errno == EFBIG) {
    return usage_error("read standard input: it is longer than 1 MiB");
  }
  text.error().kind = ErrorKind::Usage;
  return text;
}

}  // namespace mayfly::cli
