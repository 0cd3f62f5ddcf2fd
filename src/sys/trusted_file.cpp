#include "sys/trusted_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "sys/files.hpp"
#include "sys/path_walk.hpp"

namespace mayfly::sys {
namespace {

constexpr uid_t kNobody = 65534;

// Whether this user namespace maps every id, as the host's does.
bool knows_all_ids() {
  std::string buffer;
  const Result<std::string_view> map =
      read_whole_file(AT_FDCWD, "/proc/self/uid_map", buffer, 64 << 10);
  return !map || map->find("4294967295") != map->npos;
}

class FileJudge : public PathJudge {
 public:
  FileJudge(const std::string& path, uid_t uid, const std::string& what)
      : path_(path), uid_(uid), what_(what) {}

  Result<void> at_directory(const Identity& directory, const std::string& place) override {
    around_ = directory;
    around_place_ = place;
    if (is_own(directory.owner) || (directory.owner == kNobody && !knows_all_ids())) return {};
    return refused("user " + std::to_string(directory.owner) +
                       " can replace it, who owns the directory " + shown(place),
                   "put it into a directory that belongs to root or to you, as all above it must");
  }

  Result<void> through(const Identity& entry, const std::string& place) override {
    if (!TRY(is_replaceable(entry))) return {};
    return refused("user " + std::to_string(entry.owner) + " can replace it, to whom " +
                       shown(place) + " belongs",
                   "put it into a directory that belongs to root or to you");
  }

  Result<void> at_file(const Identity& file) const {
    if (TRY(is_replaceable(file))) return foreign(file.owner);
    if (!S_ISREG(file.mode)) return {};
    if (!is_own(file.owner)) return foreign(file.owner);
    if (!others_can_write(file)) return {};
    return refused(uid_ == 0 ? "others than its owner can write it" : "everybody can write it",
                   "chmod go-w " + shown(path_) + ", after a look at what is in it");
  }

  [[nodiscard]] Error failed(const char* call, const std::string& place) const override {
    Error error = usage_error("read " + what_);
    error.sys_errno = errno;
    error.call = std::string(call) + "(" + shown(place) + ")";
    return error;
  }

 private:
  [[nodiscard]] bool is_own(uid_t owner) const { return owner == 0 || owner == uid_; }
  [[nodiscard]] bool others_can_write(const Identity& identity) const {
    return (identity.mode & (uid_ == 0 ? S_IWGRP | S_IWOTH : S_IWOTH)) != 0;
  }

  // In a sticky directory only by its owner, which is told.
  [[nodiscard]] Result<bool> is_replaceable(const Identity& entry) const {
    if (!others_can_write(around_)) return false;
    if ((around_.mode & S_ISVTX) != 0) return !is_own(entry.owner);
    return refused(
        "others can replace it, since they can write the directory " + shown(around_place_),
        "chmod go-w " + shown(around_place_) + ", or move it elsewhere");
  }

  [[nodiscard]] Error foreign(uid_t owner) const {
    return refused("it belongs to user " + std::to_string(owner),
                   "after a look at what is in it, make a copy that belongs to you or to root");
  }

  [[nodiscard]] Error refused(const std::string& why, std::string hint) const {
    return usage_error("trust " + what_ + ": " + why, std::move(hint));
  }

  const std::string& path_;
  const uid_t uid_;
  const std::string& what_;
  Identity around_;  // the directory that the walk is in
  std::string around_place_;
};

}  // namespace

Result<Fd> open_trusted(const std::string& path, uid_t uid, const std::string& what) {
  FileJudge judge(path, uid, what);
  PathWalk walk(judge);
  const std::string name = TRY(walk.go(path));
  if (name.empty()) return walk.take_directory();
  // A FIFO is opened without waiting for its other end.
  Fd file(::openat(walk.directory().get(), name.c_str(),
                   O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW));
  if (!file) return judge.failed("openat", walk.place_of(name));
  const Identity identity = TRY(fstat(file, path));
  TRY(judge.at_file(identity));
  return file;
}

}  // namespace mayfly::sys
