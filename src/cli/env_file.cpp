#include "cli/env_file.hpp"

#include "base/text.hpp"
#include "host/sources.hpp"
#include "spec/env_file.hpp"
#include "sys/files.hpp"

namespace mayfly::cli {

Result<std::vector<spec::EnvRule>> read_env_file(const std::string& path) {
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
  return spec::parse_env_file(path, *text);
}

}  // namespace mayfly::cli
