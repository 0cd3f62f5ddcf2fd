#include "sys/path_walk.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "base/text.hpp"
#include "sys/files.hpp"

namespace mayfly::sys {
namespace {

// The kernel's own number: more than that is a circle.
constexpr int kMostLinks = 40;

constexpr int kStep = O_PATH | O_NOFOLLOW | O_CLOEXEC;

}  // namespace

Result<bool> PathJudge::is_made(const Fd&, const std::string&, const std::string&) {
  return false;
}

Result<std::string> PathWalk::go(std::string_view path) {
  push(path);
  TRY(restart());
  while (!rest_.empty()) {
    std::string name = std::move(rest_.back());
    rest_.pop_back();
    Fd below = TRY(open(name));
    if (below) {
      TRY(enter(std::move(below), name));
    } else if (!TRY(follow(name))) {
      return name;
    }
  }
  return std::string();
}

// The parts of a path go before what is left.
void PathWalk::push(std::string_view path) {
  const std::vector<std::string_view> parts = split(path, '/');
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    if (!part->empty() && *part != ".") rest_.emplace_back(*part);
  }
}

Result<void> PathWalk::restart() {
  place_.clear();
  directory_ = Fd(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory_) return judge_.failed("open", "/");
  const Identity identity = TRY(fstat(directory_, "/"));
  return judge_.at_directory(identity, "/");
}

// Empty: it is no directory. As a directory first: that mounts what an automounter has there.
Result<Fd> PathWalk::open(const std::string& name) {
  const auto try_it = [&] {
    return Fd(::openat(directory_.get(), name.c_str(), kStep | O_DIRECTORY));
  };
  Fd below = try_it();
  if (!below && errno == ENOENT && TRY(judge_.is_made(directory_, name, place_of(name)))) {
    below = try_it();
  }
  if (below || errno == ENOTDIR || errno == ELOOP) return below;
  return judge_.failed("openat", place_of(name));
}

Result<void> PathWalk::enter(Fd below, const std::string& name) {
  const bool is_up = name == "..";
  const Identity identity = TRY(fstat(below, name));
  if (!is_up) TRY(judge_.through(identity, place_of(name)));
  place_ = is_up ? place_.substr(0, place_.empty() ? 0 : place_.rfind('/')) : place_of(name);
  directory_ = std::move(below);
  return judge_.at_directory(identity, place_.empty() ? "/" : place_);
}

// False: it is no link, and the last part.
Result<bool> PathWalk::follow(const std::string& name) {
  const Fd entry(::openat(directory_.get(), name.c_str(), kStep));
  if (!entry) return judge_.failed("openat", place_of(name));
  const Identity identity = TRY(fstat(entry, name));
  if (!S_ISLNK(identity.mode)) {
    if (rest_.empty()) return false;
    errno = ENOTDIR;
    return judge_.failed("openat", place_of(name));
  }
  TRY(judge_.through(identity, place_of(name)));
  if (++links_ > kMostLinks) {
    errno = ELOOP;
    return judge_.failed("openat", place_of(name));
  }
  const std::string target = TRY(readlinkat(entry.get(), ""));
  push(target);
  if (target.starts_with('/')) TRY(restart());
  return true;
}

}  // namespace mayfly::sys
