#include "sys/trusted_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "sys/files.hpp"

namespace mayfly::sys {
namespace {

// The kernel's own number: more than that is a circle.
constexpr int kMostLinks = 40;

constexpr uid_t kNobody = 65534;

// Whether this user namespace maps every id, as the host's does.
bool knows_all_ids() {
  std::string buffer;
  const Result<std::string_view> map =
      read_whole_file(AT_FDCWD, "/proc/self/uid_map", buffer, 64 << 10);
  return !map || map->find("4294967295") != map->npos;
}

class Walk {
 public:
  Walk(const std::string& path, uid_t uid, const std::string& what)
      : path_(path), uid_(uid), what_(what) {}

  Result<Fd> open() {
    push(path_);
    TRY(restart());
    while (!rest_.empty()) {
      const std::string name = std::move(rest_.back());
      rest_.pop_back();
      // As a directory first: that mounts what an automounter has there.
      Fd directory(
          ::openat(directory_.get(), name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      if (directory) {
        TRY(enter(std::move(directory), name));
        continue;
      }
      if (errno != ENOTDIR && errno != ELOOP) return failed("openat", below(name));
      if (!TRY(follow(name))) return open_file(name);
    }
    return std::move(directory_);
  }

 private:
  // The parts of a path go before what is left.
  void push(std::string_view path) {
    const std::vector<std::string_view> parts = split(path, '/');
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
      if (!part->empty() && *part != ".") rest_.emplace_back(*part);
    }
  }

  Result<void> restart() {
    at_.clear();
    directory_ = Fd(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!directory_) return failed("open", "/");
    return judge_directory();
  }

  Result<void> enter(Fd directory, const std::string& name) {
    const bool is_up = name == "..";
    struct stat status = {};
    if (::fstat(directory.get(), &status) != 0) return failed("fstat", below(name));
    if (!is_up) TRY(judge_entry(status, name));
    at_ = is_up ? at_.substr(0, at_.empty() ? 0 : at_.rfind('/')) : below(name);
    directory_ = std::move(directory);
    return judge_directory();
  }

  // False: it is no link.
  Result<bool> follow(const std::string& name) {
    const Fd entry(::openat(directory_.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat status = {};
    if (!entry) return failed("openat", below(name));
    if (::fstat(entry.get(), &status) != 0) return failed("fstat", below(name));
    if (!S_ISLNK(status.st_mode)) {
      if (rest_.empty()) return false;
      errno = ENOTDIR;
      return failed("openat", below(name));
    }
    TRY(judge_entry(status, name));
    if (++links_ > kMostLinks) {
      errno = ELOOP;
      return failed("openat", below(name));
    }
    const std::string target = TRY(readlinkat(entry.get(), ""));
    push(target);
    if (target.starts_with('/')) TRY(restart());
    return true;
  }

  Result<Fd> open_file(const std::string& name) {
    // A FIFO is opened without waiting for its other end.
    Fd file(::openat(directory_.get(), name.c_str(),
                     O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW));
    struct stat status = {};
    if (!file) return failed("openat", below(name));
    if (::fstat(file.get(), &status) != 0) return failed("fstat", below(name));
    TRY(judge_entry(status, name));
    if (S_ISREG(status.st_mode)) TRY(judge_file(status));
    return file;
  }

  [[nodiscard]] bool is_own(uid_t owner) const { return owner == 0 || owner == uid_; }
  [[nodiscard]] bool others_can_write(const struct stat& status) const {
    return (status.st_mode & (uid_ == 0 ? S_IWGRP | S_IWOTH : S_IWOTH)) != 0;
  }

  Result<void> judge_directory() {
    if (::fstat(directory_.get(), &around_) != 0) return failed("fstat", at_ + "/");
    const uid_t owner = around_.st_uid;
    if (is_own(owner) || (owner == kNobody && !knows_all_ids())) return {};
    return refused("user " + std::to_string(owner) + " can replace it, who owns the directory " +
                       shown(at_ + "/"),
                   "put it into a directory that belongs to root or to you, as all above it must");
  }

  [[nodiscard]] Result<void> judge_entry(const struct stat& status, const std::string& name) const {
    if (!others_can_write(around_)) return {};
    if ((around_.st_mode & S_ISVTX) == 0) {
      return refused(
          "others can replace it, since they can write the directory " + shown(at_ + "/"),
          "chmod go-w " + shown(at_ + "/") + ", or move it elsewhere");
    }
    if (is_own(status.st_uid)) return {};
    const std::string owner = std::to_string(status.st_uid);
    if (!rest_.empty() || S_ISLNK(status.st_mode)) {
      return refused(
          "user " + owner + " can replace it, to whom " + shown(below(name)) + " belongs",
          "put it into a directory that belongs to root or to you");
    }
    return foreign(owner);
  }

  [[nodiscard]] Result<void> judge_file(const struct stat& status) const {
    if (!is_own(status.st_uid)) return foreign(std::to_string(status.st_uid));
    if (!others_can_write(status)) return {};
    return refused(uid_ == 0 ? "others than its owner can write it" : "everybody can write it",
                   "chmod go-w " + shown(path_) + ", after a look at what is in it");
  }

  [[nodiscard]] Error foreign(const std::string& owner) const {
    return refused("it belongs to user " + owner,
                   "after a look at what is in it, make a copy that belongs to you or to root");
  }

  [[nodiscard]] std::string below(const std::string& name) const { return at_ + "/" + name; }

  [[nodiscard]] Error refused(const std::string& why, std::string hint) const {
    return usage_error("trust " + what_ + ": " + why, std::move(hint));
  }
  [[nodiscard]] Error failed(const char* call, const std::string& path) const {
    Error error = usage_error("read " + what_);
    error.sys_errno = errno;
    error.call = std::string(call) + "(" + shown(path) + ")";
    return error;
  }

  const std::string& path_;
  const uid_t uid_;
  const std::string& what_;
  std::vector<std::string> rest_;  // the next part last
  std::string at_;                 // where directory_ is, without a link; empty: the root
  Fd directory_;
  struct stat around_ = {};  // of directory_
  int links_ = 0;
};

}  // namespace

Result<Fd> open_trusted(const std::string& path, uid_t uid, const std::string& what) {
  return Walk(path, uid, what).open();
}

}  // namespace mayfly::sys
