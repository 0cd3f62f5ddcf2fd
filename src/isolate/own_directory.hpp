// Directories that must be the caller's alone, judged before anything in them is made or removed.
//
// Threat: a directory in the way that somebody else owns or may write in, who then puts another one
// in its place, so that what is done by its name happens to files of the caller's own. Kernel: any.
// Does not stop: the caller itself, and root.
#pragma once

#include <optional>
#include <string>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "sys/entries.hpp"

namespace mayfly::isolate::own_directory {

enum class Others { MayEnter, AreKeptOut };

// Why a directory is not the caller's own, as "it belongs to user 7"; nullopt: it is. That others
// write in it is never allowed.
[[nodiscard]] std::optional<std::string> why_not(const sys::Identity& identity, Others others);

enum class Missing { Make, Fail };

struct Wanted {
  std::size_t names = 1;  // so many of the last components must be the caller's own, and no links
  Missing missing = Missing::Fail;
  mode_t mode = 0700;        // of those that are made
  const char* purpose = "";  // for errors: "use the directory /x for layers on disk"
};

// Opens a directory by an absolute path, component by component. What is above the caller's own
// must be such that nobody but root and the caller can put something else in its place; links are
// followed there, if they are theirs. ENOENT: some of it is missing.
[[nodiscard]] Result<Fd> open(const std::string& path, const Wanted& wanted);

}  // namespace mayfly::isolate::own_directory
