#include "isolate/own_directory.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "sys/files.hpp"
#include "sys/mounts.hpp"
#include "sys/path_walk.hpp"

namespace mayfly::isolate::own_directory {
namespace {

constexpr mode_t kOthersWrite = 022, kOthersEnter = 011;

std::string belongs_to(const sys::Identity& identity) {
  return "it belongs to user " + std::to_string(identity.owner);
}

std::string close_to_others(const std::string& place) {
  return "chmod go-w " + shown(place);
}

class DirectoryJudge : public sys::PathJudge {
 public:
  explicit DirectoryJudge(const Wanted& wanted) : wanted_(wanted) {}

  // In a sticky directory others cannot rename what is not theirs; and it does not matter what
  // they may do below one that they cannot enter.
  Result<void> at_directory(const sys::Identity& directory, const std::string& place) override {
    // Where root itself has no id, as in some user namespaces, whoever has its directory is it.
    if (place == "/") root_ = directory.owner;
    if (!is_trusted(directory)) return unfit(place, belongs_to(directory), {});
    const bool is_closed = !closed_.empty() && is_within(place, closed_);
    const bool is_open = (directory.mode & kOthersWrite) != 0 && (directory.mode & S_ISVTX) == 0;
    if (is_open && !is_closed)
      return unfit(place, "others may write there", close_to_others(place));
    if (!is_closed) closed_ = (directory.mode & kOthersEnter) == 0 ? place : std::string();
    return {};
  }

  Result<void> through(const sys::Identity& entry, const std::string& place) override {
    if (S_ISLNK(entry.mode) && !is_trusted(entry)) return unfit(place, belongs_to(entry), {});
    return {};
  }

  Result<bool> is_made(const Fd& directory, const std::string& name,
                       const std::string& place) override {
    if (wanted_.missing == Missing::Fail) return false;
    if (::mkdirat(directory.get(), name.c_str(), wanted_.mode) == 0 || errno == EEXIST) return true;
    return sys::errno_error("make the directory " + shown(place) + wanted_.purpose,
                            "mkdir(" + shown(place) + ")");
  }

  [[nodiscard]] Error failed(const char* call, const std::string& place) const override {
    if (errno == ENOTDIR) return unfit(place, "it is not a directory", {});
    if (errno == ELOOP) return unfit(place, "its links go in circles", {});
    return sys::errno_error("open the directory " + shown(place) + wanted_.purpose,
                            std::string(call) + "(" + shown(place) + ")");
  }

  // One that must be the caller's own.
  Result<Fd> open_own(const Fd& above, const std::string& name, const std::string& place) {
    constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    Fd own(::openat(above.get(), name.c_str(), kFlags));
    if (!own && errno == ENOENT && TRY(is_made(above, name, place))) {
      own = Fd(::openat(above.get(), name.c_str(), kFlags));
    }
    if (!own && (errno == ENOTDIR || errno == ELOOP)) {
      return unfit(place, "it is not a directory, or a symbolic link", {});
    }
    if (!own) return failed("openat", place);
    const sys::Identity identity = TRY(sys::fstat(own, place));
    const auto why = why_not(identity, Others::MayEnter);
    if (!why) return own;
    const bool theirs = identity.owner != ::geteuid();
    return unfit(place, *why, theirs ? std::string() : close_to_others(place));
  }

 private:
  [[nodiscard]] bool is_trusted(const sys::Identity& identity) const {
    return identity.owner == 0 || identity.owner == ::geteuid() || identity.owner == root_;
  }

  [[nodiscard]] Error unfit(const std::string& place, std::string why, std::string hint) const {
    return Error{
        .kind = ErrorKind::Setup,
        .sys_errno = 0,
        .action = "use the directory " + shown(place) + wanted_.purpose + ": " + std::move(why),
        .call = {},
        .hint = std::move(hint)};
  }

  const Wanted& wanted_;
  std::string closed_;  // where on the way others can go no further; empty: nowhere yet
  uid_t root_ = 0;
};

}  // namespace

std::optional<std::string> why_not(const sys::Identity& identity, Others others) {
  if (identity.owner != ::geteuid()) return belongs_to(identity);
  if (others == Others::AreKeptOut && (identity.mode & 077) != 0) return "others may enter it";
  if ((identity.mode & kOthersWrite) != 0) return "others may write there";
  return std::nullopt;
}

Result<Fd> open(const std::string& path, const Wanted& wanted) {
  std::string_view above = path;
  std::vector<std::string> own;
  while (own.size() < wanted.names) {
    const std::size_t slash = above.rfind('/');
    own.emplace_back(above.substr(slash + 1));
    above = above.substr(0, slash);
  }
  DirectoryJudge judge(wanted);
  sys::PathWalk walk(judge);
  if (const std::string other = TRY(walk.go(above)); !other.empty()) {
    errno = ENOTDIR;
    return judge.failed("openat", walk.place_of(other));
  }
  Fd at = walk.take_directory();
  std::string place = walk.place_of("");  // ends in a slash
  for (auto name = own.rbegin(); name != own.rend(); ++name) {
    at = TRY(judge.open_own(at, *name, place + *name));
    place += *name + "/";
  }
  return at;
}

}  // namespace mayfly::isolate::own_directory
