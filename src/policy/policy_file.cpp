#include "policy/policy_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "base/fd.hpp"
#include "base/text.hpp"
#include "spec/document.hpp"

namespace mayfly::policy {
namespace {

Error failed(const std::string& path, const char* call, std::string hint = {}) {
  Error error = usage_error("read the policy " + shown(path), std::move(hint));
  error.sys_errno = errno;
  error.call = std::string(call) + "(\"" + path + "\")";
  return error;
}

Error refused(const std::string& path, const std::string& why, std::string hint) {
  return usage_error("trust the policy " + shown(path) + ": " + why, std::move(hint));
}

// By the mode alone: write access by a group is that of others to root, and an ordinary user's own
// affair, who often has a group of the same name.
bool others_can_write(const struct stat& status, uid_t uid) {
  return (status.st_mode & (uid == 0 ? S_IWGRP | S_IWOTH : S_IWOTH)) != 0;
}

bool is_own(const struct stat& status, uid_t uid) {
  return status.st_uid == 0 || status.st_uid == uid;
}

Result<void> check_trust(const std::string& path, const struct stat& status, uid_t uid,
                         Trust trust) {
  if (others_can_write(status, uid)) {
    return refused(path, uid == 0 ? "others than its owner can write it" : "everybody can write it",
                   "chmod go-w " + shown(path) + ", after a look at what is in it");
  }
  if (trust == Trust::Found && !is_own(status, uid)) {
    return refused(path,
                   "it was found by its name and belongs to user " + std::to_string(status.st_uid),
                   "name it as a file, with its directory, if it is meant");
  }
  const std::string directory = path.substr(0, path.rfind('/') + 1);
  struct stat around = {};
  if (::stat(directory.c_str(), &around) != 0) return failed(directory, "stat");
  const bool sticky = (around.st_mode & S_ISVTX) != 0;
  if (others_can_write(around, uid) && !sticky) {
    return refused(path, "others can replace it, since they can write its directory",
                   "chmod go-w " + shown(directory) + ", or move the policy elsewhere");
  }
  if (trust == Trust::Found && !is_own(around, uid)) {
    return refused(path,
                   "it was found by its name and its directory belongs to user " +
                       std::to_string(around.st_uid) + ", who can replace it",
                   "name it as a file, with its directory, if it is meant");
  }
  return {};
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

Result<PolicyFile> read_policy_file(const std::string& path, uid_t uid, Trust trust) {
  // A FIFO is opened without waiting for its other end, and refused.
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!file) {
    return failed(path, "open", errno == ENOENT ? "mayfly policy list shows what there is" : "");
  }
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0) return failed(path, "fstat");
  if (!S_ISREG(status.st_mode)) {
    return usage_error("read the policy " + shown(path) + ": it is " +
                           (S_ISDIR(status.st_mode) ? "a directory" : "no regular file"),
                       "name a file that ends in .toml");
  }
  TRY(check_trust(path, status, uid, trust));
  return PolicyFile{.text = TRY(read_all(path, file)), .identity = {status.st_dev, status.st_ino}};
}

bool is_there(const std::string& path) {
  struct stat status = {};
  return ::lstat(path.c_str(), &status) == 0;
}

}  // namespace mayfly::policy
