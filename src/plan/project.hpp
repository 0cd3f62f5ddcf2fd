// Which directory of the host is the project (DESIGN 7).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "host/facts.hpp"
#include "plan/plan.hpp"
#include "spec/spec.hpp"

namespace mayfly::plan {

struct Project {
  std::string dir;  // normal, absolute, on the host; empty: there is none
  std::string why;  // in words: "the enclosing git work tree", "no project: …"
  std::optional<host::Inode> inode = std::nullopt;  // of a directory that was not named
  bool operator==(const Project&) const = default;
};

// Whether the request shows a project at all: a root of the caller's shows one only if it is asked.
[[nodiscard]] bool shows_project(const spec::Spec& spec);

// The directory that --project MODE:DIR names, else the enclosing git work tree, else the working
// directory. Never by itself: a home directory, what lies above one, or a directory of the system.
// A relative DIR is taken from the working directory; it may name a home, but not "/" nor
// a place in the kernel's own file systems.
[[nodiscard]] Result<Project> choose_project(const spec::Spec& spec, const host::HostFacts& facts);

// A note where the project's git directory lies elsewhere and is not shown, so that git does not
// work on it; what is mounted is planned already.
void add_git_note(const Project& project, const host::HostFacts& facts, Plan& plan);

// Why a directory is no project unless it is named, or empty if it may be one: "it is the home
// directory", "it belongs to the system". `dir` is normal and absolute.
[[nodiscard]] std::string why_no_project(const std::string& dir, const host::HostFacts& facts);

}  // namespace mayfly::plan
