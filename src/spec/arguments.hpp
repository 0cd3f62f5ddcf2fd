// Arguments: how paths, variables and choices are written, on the command line and in documents.
//
// The grammar is the same in every setting: ':' parts a path from another path or from its
// settings,
// '=' parts a path from what is put there. In such a path, '\:', '\=' and '\\' stand for ':', '='
// and '\'; any other backslash is refused. A path that is a whole argument, and what follows a '=',
// is taken as it is. Paths are bytes: newlines and names that are not UTF-8 are as good as others.
// Nothing here opens or resolves a path.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/result.hpp"
#include "spec/spec.hpp"

namespace mayfly::spec {

// A path made absolute against `working_dir`, normal as text ("a/../b" is "b", links or not).
[[nodiscard]] Result<std::string> absolute_path(std::string_view working_dir,
                                                std::string_view path);

// A path inside the sandbox in its normal form. What is relative or has a ".." stays as it is:
// nothing could give it a meaning, and validate() refuses it.
[[nodiscard]] std::string path_inside(std::string_view path);

// SRC[:DST] for --ro, --rw, --cow. Without DST the target is the source's own absolute path.
[[nodiscard]] Result<FsEntry> parse_tree(FsKind kind, std::string_view working_dir,
                                         std::string_view text);

// DST[:size=SIZE,mode=MODE]
[[nodiscard]] Result<FsEntry> parse_tmpfs(std::string_view text);

// DST[:MODE]=TEXT or DST[:MODE]=@SRC; a text that begins with '@' is written with two.
[[nodiscard]] Result<FsEntry> parse_file(std::string_view working_dir, std::string_view text);

// DST[:MODE]
[[nodiscard]] Result<FsEntry> parse_dir(std::string_view text);

// DST=TARGET
[[nodiscard]] Result<FsEntry> parse_symlink(std::string_view text);

// Where a project is and how it is shown: cow, rw, ro or none, and a directory or "".
struct Project {
  ProjectMode mode = ProjectMode::Cow;
  std::string dir;
};
// cow|rw|ro|none[:DIR]
[[nodiscard]] Result<Project> parse_project(std::string_view working_dir, std::string_view text);

[[nodiscard]] std::string format_project(const Project& project);

// NAME=VALUE, or NAME to pass the caller's value on.
[[nodiscard]] EnvRule parse_env(std::string_view text);

// KEY=VALUE
[[nodiscard]] Result<std::pair<std::string, std::string>> parse_label(std::string_view text);

// The way back, for every kind of entry: the text that is read as this entry.
[[nodiscard]] std::string format_entry(const FsEntry& entry);

}  // namespace mayfly::spec
