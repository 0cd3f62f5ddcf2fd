// Directories, files, links and whiteouts below a directory, never through a symlink.
// Part of the child half (see mounts.hpp).
#pragma once

#include "isolate/mounts.hpp"

namespace mayfly::isolate::mounts {

// Makes the nodes of a tree that only we have touched: no component can be a symlink.
[[nodiscard]] Fault make_own_nodes(int tree, const Node* nodes, std::size_t count,
                                   const TaskIds& task, std::uint32_t index) noexcept;

// Makes nodes below the new root as it stands, whatever it holds. An existing directory is kept.
[[nodiscard]] Fault make_nodes_beneath(int root, const Node* nodes, std::size_t count,
                                       const TaskIds& task, std::uint32_t index) noexcept;

// Opens (O_PATH) what `path` names beneath `root`, refusing symlinks anywhere in it. -errno if not.
[[nodiscard]] long open_beneath(int root, const char* path, int flags) noexcept;

// The same, but makes what is missing: parents as directories, the last as `is_file` says.
[[nodiscard]] long open_or_make(int root, const char* path, bool is_file) noexcept;

}  // namespace mayfly::isolate::mounts
