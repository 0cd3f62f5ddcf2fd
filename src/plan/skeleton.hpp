// Skeleton: what a tree of our own holds before anything is mounted in it.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "plan/plan.hpp"

namespace mayfly::plan {

// Directories of a skeleton, each made once and after its parents.
class Skeleton {
 public:
  // A vector that grows leaves touched pages behind.
  explicit Skeleton(std::size_t usual) { nodes_.reserve(usual); }
  void dir(const std::string& path, unsigned mode = 0755, bool task_owned = false) {
    const std::size_t slash = path.rfind('/');
    if (slash != std::string::npos) parent(path.substr(0, slash));
    const auto known = find(path);
    if (known == nodes_.end()) {
      add({.kind = Node::Kind::Dir,
           .path = path,
           .mode = mode,
           .data = {},
           .task_owned = task_owned});
    }
  }
  void add(Node node) { nodes_.push_back(std::move(node)); }
  void link(const char* path, const char* target) {
    add({.kind = Node::Kind::Symlink, .path = path, .mode = 0777, .data = target});
  }
  void file(const std::string& path, unsigned mode = 0644) {
    add({.kind = Node::Kind::File, .path = path, .mode = mode, .data = {}});
  }
  [[nodiscard]] bool has(const std::string& path) { return find(path) != nodes_.end(); }
  std::vector<Node> take() { return std::move(nodes_); }

 private:
  void parent(const std::string& path) {
    if (find(path) == nodes_.end()) dir(path);
  }
  std::vector<Node>::iterator find(const std::string& path) {
    return std::find_if(nodes_.begin(), nodes_.end(),
                        [&](const Node& node) { return node.path == path; });
  }
  std::vector<Node> nodes_;
};

}  // namespace mayfly::plan
