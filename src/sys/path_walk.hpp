// A walk to a place by descriptors, component by component and through the targets of links, so
// that what is judged at each step is what is gone through: to look at a path first and to use it
// then would judge one file and use another.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "sys/entries.hpp"

namespace mayfly::sys {

// Who looks at each step; an error ends the walk. `place` is a path without links.
class PathJudge {
 public:
  PathJudge() = default;
  PathJudge(const PathJudge&) = delete;
  PathJudge& operator=(const PathJudge&) = delete;
  virtual ~PathJudge() = default;

  // The walk is in this directory now.
  virtual Result<void> at_directory(const Identity& directory, const std::string& place) = 0;
  // It is about to go on through this entry: a directory below, or a link.
  virtual Result<void> through(const Identity& entry, const std::string& place) = 0;
  // There is nothing of that name. True: there is now.
  virtual Result<bool> is_made(const Fd& directory, const std::string& name,
                               const std::string& place);
  // The words for a call that failed at a place, as errno says. ENOTDIR: it is no directory.
  [[nodiscard]] virtual Error failed(const char* call, const std::string& place) const = 0;
};

class PathWalk {
 public:
  explicit PathWalk(PathJudge& judge) : judge_(judge) {}

  // Goes along an absolute path. The name that is left in directory() is that of something else
  // than a directory; empty: the path led to a directory, which is directory().
  [[nodiscard]] Result<std::string> go(std::string_view path);

  [[nodiscard]] const Fd& directory() const { return directory_; }
  [[nodiscard]] Fd take_directory() { return std::move(directory_); }
  // Of a name in it.
  [[nodiscard]] std::string place_of(const std::string& name) const { return place_ + "/" + name; }

 private:
  void push(std::string_view path);
  Result<void> restart();
  Result<Fd> open(const std::string& name);
  Result<void> enter(Fd below, const std::string& name);
  Result<bool> follow(const std::string& name);

  PathJudge& judge_;
  std::vector<std::string> rest_;  // the next part last
  Fd directory_;
  std::string place_;  // empty: the root
  int links_ = 0;
};

}  // namespace mayfly::sys
