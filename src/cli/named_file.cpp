#include "cli/named_file.hpp"

#include <utility>

#include "host/sources.hpp"
#include "sys/files.hpp"

namespace mayfly::cli {

Result<std::string> read_named_file(const std::string& path) {
  constexpr std::size_t kMostBytes = 1u << 20;
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

}  // namespace mayfly::cli
