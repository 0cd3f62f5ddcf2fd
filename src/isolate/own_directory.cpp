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

namespace mayfly::isolate::own_directory {
namespace {

constexpr mode_t kOthersWrite = 022, kOthersEnter = 011;

std::string belongs_to(const sys::Identity& identity) {
  return "it belongs to user " + std::to_string(identity.owner);
}

std::string close_to_others(const std::string& place) {
  return "chmod go-w " + shown(place);
}

// The components that are still to be walked, the next one last.
using Rest = std::vector<std::string>;

void push(Rest& rest, std::string_view path) {
  const std::vector<std::string_view> parts = split(path, '/');
  for (auto part = parts.rbegin(); part != parts.rend(); ++part)
    if (!part->empty() && *part != ".") rest.emplace_back(*part);
}

class Walk {
 public:
  explicit Walk(const Wanted& wanted) : wanted_(wanted) {}

  // Links of root and of the caller are followed.
  Result<void> above(std::string_view path) {
    TRY(to_top());
    Rest rest;
    push(rest, path);
    while (!rest.empty()) {
      const std::string name = std::exchange(rest.back(), {});
      rest.pop_back();
      Result<Fd> below = open(name, O_PATH | O_DIRECTORY);
      if (!below && below.error().sys_errno == ENOTDIR) {
        TRY(follow(name, rest));
        continue;
      }
      TRY(enter(std::move(below), name));
      TRY(judge_above());
    }
    return {};
  }

  Result<void> own(const std::string& name) {
    TRY(enter(open(name, O_RDONLY | O_DIRECTORY), name));
    const sys::Identity identity = TRY(sys::fstat(at_, place_));
    const auto why = why_not(identity, Others::MayEnter);
    if (!why) return {};
    const bool theirs = identity.owner != ::geteuid();
    return unfit(place_, *why, theirs ? std::string() : close_to_others(place_));
  }

  Fd take() { return std::move(at_); }

 private:
  Result<void> to_top() {
    at_ = TRY(sys::openat(AT_FDCWD, "/", O_PATH | O_DIRECTORY));
    place_.clear();
    is_closed_ = false;
    // Where root itself has no id, as in some user namespaces, whoever has its directory is it.
    root_ = TRY(sys::fstat(at_, "/")).owner;
    return judge_above();
  }

  Result<Fd> open(const std::string& name, int flags) {
    Result<Fd> below = sys::openat(at_.get(), name.c_str(), flags | O_NOFOLLOW);
    if (below || below.error().sys_errno != ENOENT || wanted_.missing == Missing::Fail)
      return below;
    if (::mkdirat(at_.get(), name.c_str(), wanted_.mode) != 0 && errno != EEXIST) {
      const std::string place = shown(place_ + "/" + name);
      return sys::errno_error("make the directory " + place + wanted_.purpose,
                              "mkdir(" + place + ")");
    }
    return sys::openat(at_.get(), name.c_str(), flags | O_NOFOLLOW);
  }

  Result<void> enter(Result<Fd> below, const std::string& name) {
    if (!below) {
      const int error = below.error().sys_errno;
      const std::string place = place_ + "/" + name;
      if (error == ENOTDIR || error == ELOOP)
        return unfit(place, "it is not a directory, or a symbolic link", {});
      Error failed = std::move(below).error();
      if (failed.call.starts_with("openat"))
        failed.action = "open the directory " + shown(place) + wanted_.purpose;
      return failed;
    }
    at_ = std::move(*below);
    place_ += "/" + name;
    if (name == "..") is_closed_ = false;
    return {};
  }

  [[nodiscard]] bool is_trusted(const sys::Identity& identity) const {
    return identity.owner == 0 || identity.owner == ::geteuid() || identity.owner == root_;
  }

  // In a sticky directory others cannot rename what is not theirs; and it does not matter what
  // they may do below one that they cannot enter.
  Result<void> judge_above() {
    const sys::Identity identity = TRY(sys::fstat(at_, place_));
    const std::string place = place_.empty() ? "/" : place_;
    if (!is_trusted(identity)) return unfit(place, belongs_to(identity), {});
    const bool is_open = (identity.mode & kOthersWrite) != 0 && (identity.mode & S_ISVTX) == 0;
    if (is_open && !is_closed_)
      return unfit(place, "others may write there", close_to_others(place));
    if ((identity.mode & kOthersEnter) == 0) is_closed_ = true;
    return {};
  }

  Result<void> follow(const std::string& name, Rest& rest) {
    constexpr int kMostLinks = 40;
    const std::string place = place_ + "/" + name;
    const Fd link = TRY(sys::openat(at_.get(), name.c_str(), O_PATH | O_NOFOLLOW));
    const sys::Identity identity = TRY(sys::fstat(link, place));
    if (!S_ISLNK(identity.mode)) return unfit(place, "it is not a directory", {});
    if (!is_trusted(identity)) return unfit(place, belongs_to(identity), {});
    if (++links_ > kMostLinks) return unfit(place, "its links go in circles", {});
    const std::string target = TRY(sys::readlinkat(link.get(), ""));
    push(rest, target);
    if (target.starts_with('/')) TRY(to_top());
    return {};
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
  Fd at_;
  std::string place_;
  bool is_closed_ = false;
  uid_t root_ = 0;
  int links_ = 0;
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
  Walk walk(wanted);
  TRY(walk.above(above));
  for (; !own.empty(); own.pop_back())
    TRY(walk.own(own.back()));
  return walk.take();
}

}  // namespace mayfly::isolate::own_directory
