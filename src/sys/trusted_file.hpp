// Opens a file that decides what a caller's programs may do, if nobody but root and that caller
// could have written it, put it there, or led the path elsewhere.
//
// The path is walked part by part, with the targets of its links, so that what is judged is what is
// opened: to look at the path first and to open it then would judge one file and read another.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace mayfly::sys {

// `path` is absolute. `what` names the file in errors: "the policy /etc/x.toml". For uid, the
// caller's effective one, these are held against each step and the descriptor that is returned:
// - every directory on the way, of links too, belongs to root or uid. In a user namespace that does
//   not know all ids the host's root looks like nobody, and nobody's directories are taken for its.
// - nobody else can write such a directory, unless it is sticky and the next part of the way
//   belongs to root or uid.
// - the file itself belongs to root or uid, and nobody else can write it.
// Write access by a group is that of somebody else to root alone: an ordinary user often has a
// group of the same name. What is no regular file is returned unread, for the caller to refuse.
[[nodiscard]] Result<Fd> open_trusted(const std::string& path, uid_t uid, const std::string& what);

}  // namespace mayfly::sys
