#include "policy/policy_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/fd.hpp"
#include "base/text.hpp"
#include "spec/document.hpp"
#include "sys/trusted_file.hpp"

namespace mayfly::policy {
namespace {

Error failed(const std::string& path, const char* call) {
  Error error = usage_error("read the policy " + shown(path));
  error.sys_errno = errno;
  error.call = std::string(call) + "(\"" + path + "\")";
  return error;
}

const char* remedy_for(int error) {
  switch (error) {
    case ENOENT:
      return "there is nothing of this name, or where its symbolic links lead: check the spelling";
    case ENOTDIR:
      return "a part of this path is a file, not a directory";
    case ELOOP:
      return "its symbolic links go in circles: name the file itself";
    case EACCES:
      return "the caller's own rights do not suffice: whoever owns it can give them, with chmod";
    default:
      return "";
  }
}

// A pipe has a path that leads to no name: /dev/fd/63 is a link to "pipe:[1234]".
bool is_no_file(const std::string& path) {
  struct stat status = {};
  return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
}

Error no_file(const std::string& path, const char* what) {
  return usage_error(
      "read the policy " + shown(path) + ": it is " + what,
      "name a file that ends in .toml; what comes from a pipe can be read as --spec");
}

Result<std::string> read_all(const std::string& path, const Fd& file) {
  std::string text;
  char buffer[8192];
  // One byte too many is enough for the parser to refuse it.
  while (text.size() <= spec::kMostDocumentBytes) {
    const ssize_t size = ::read(file.get(), buffer, sizeof buffer);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return failed(path, "read");
    if (size == 0) break;
    text.append(buffer, static_cast<std::size_t>(size));
  }
  return text;
}

}  // namespace

Result<PolicyFile> read_policy_file(const std::string& path, uid_t uid) {
  Result<Fd> opened = sys::open_trusted(path, uid, "the policy " + shown(path));
  if (!opened) {
    Error error = std::move(opened).error();
    if (error.sys_errno != 0 && is_no_file(path)) return no_file(path, "no regular file");
    if (error.hint.empty()) error.hint = remedy_for(error.sys_errno);
    return error;
  }
  const Fd& file = *opened;
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0) return failed(path, "fstat");
  if (!S_ISREG(status.st_mode)) {
    return no_file(path, S_ISDIR(status.st_mode) ? "a directory" : "no regular file");
  }
  return PolicyFile{.text = TRY(read_all(path, file)), .identity = {status.st_dev, status.st_ino}};
}

bool is_there(const std::string& path) {
  struct stat status = {};
  return ::lstat(path.c_str(), &status) == 0;
}

}  // namespace mayfly::policy
