#include "isolate/nodes_enter.hpp"

#include "sys/raw_calls.hpp"

namespace mayfly::isolate::mounts {

namespace raw = sys::raw;

namespace {

constexpr std::size_t kMostPath = 4096;

// Splits "a/b/c" into "a/b" (written to `parent`, "" if there is none) and "c" (returned).
const char* split_last(const char* path, char (&parent)[kMostPath]) noexcept {
  std::size_t length = 0;
  std::size_t slash = 0;
  bool found = false;
  for (; path[length] != '\0'; ++length) {
    if (path[length] == '/') {
      slash = length;
      found = true;
    }
  }
  if (!found || length >= kMostPath) {
    parent[0] = '\0';
    return path;
  }
  for (std::size_t i = 0; i < slash; ++i)
    parent[i] = path[i];
  parent[slash] = '\0';
  return path + slash + 1;
}

long write_all(int fd, const char* data, std::size_t size) noexcept {
  while (size > 0) {
    const long written = raw::write(fd, data, size);
    if (written < 0) return written;
    data += written;
    size -= static_cast<std::size_t>(written);
  }
  return 0;
}

long make_file(int dir, const char* name, const Node& node) noexcept {
  if (node.size == 0) {
    const long made = raw::mknodat(dir, name, S_IFREG | node.mode, 0);
    if (made != -EEXIST) return made;
  }
  const long opened = raw::openat(
      dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, node.mode);
  if (opened < 0) return opened;
  const int fd = static_cast<int>(opened);
  long answer = write_all(fd, node.data, node.size);
  if (answer >= 0 && node.modified_ns != 0) answer = raw::set_file_time(fd, node.modified_ns);
  // The umask is 0 here, so creating set the mode; a file that existed before keeps its own, but
  // where another was asked for.
  if (answer >= 0 && node.sets_mode) answer = raw::fchmod(fd, node.mode);
  raw::close(fd);
  return answer;
}

long make_one(int dir, const char* name, const Node& node) noexcept {
  switch (node.kind) {
    case plan::Node::Kind::Dir: {
      const long made = raw::mkdirat(dir, name, node.mode);
      return made == -EEXIST ? 0 : made;
    }
    case plan::Node::Kind::File:
      return make_file(dir, name, node);
    case plan::Node::Kind::Symlink:
      return raw::symlinkat(node.data, dir, name);
    case plan::Node::Kind::Whiteout:
      return raw::mknodat(dir, name, S_IFCHR, 0);
  }
  return -EINVAL;
}

long give_to_task(int dir, const char* name, const TaskIds& task) noexcept {
  return raw::fchownat(dir, name, task.uid, task.gid, AT_SYMLINK_NOFOLLOW);
}

// The type of what is there, 0 for nothing, or -errno.
long type_at(int dir, const char* name) noexcept {
  struct statx status = {};
  const long got = raw::statx(dir, name, AT_SYMLINK_NOFOLLOW, STATX_TYPE, &status);
  if (got == -ENOENT) return 0;
  return got < 0 ? got : status.stx_mode & S_IFMT;
}

// Of a directory that is there already, which stays whose it is.
long set_mode(int dir, const char* name, unsigned mode) noexcept {
  const long opened =
      raw::openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (opened < 0) return opened;
  const int fd = static_cast<int>(opened);
  const long set = raw::fchmod(fd, mode);
  raw::close(fd);
  return set;
}

// Only a file is written anew and only a directory is left as it is: in anything else what is
// written could reach the host, as through a device.
Fault make_beneath(int dir, const char* name, const Node& node, const TaskIds& task) noexcept {
  const long there = type_at(dir, name);
  if (there < 0) return fault_of(there);
  const bool is_dir = node.kind == plan::Node::Kind::Dir;
  const bool fits = there == 0 || (is_dir && there == S_IFDIR) ||
                    (node.kind == plan::Node::Kind::File && there == S_IFREG);
  if (!fits) return {.error = EEXIST, .in_way = static_cast<unsigned>(there)};
  if (is_dir && there != 0) {
    return node.sets_mode ? fault_of(set_mode(dir, name, node.mode)) : Fault{};
  }
  if (const Fault fault = fault_of(make_one(dir, name, node))) return fault;
  return fault_of(give_to_task(dir, name, task));
}

}  // namespace

Fault make_own_nodes(int tree, const Node* nodes, std::size_t count, const TaskIds& task,
                     std::uint32_t index) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    long made = make_one(tree, nodes[i].path, nodes[i]);
    if (made >= 0 && nodes[i].task_owned) made = give_to_task(tree, nodes[i].path, task);
    if (made < 0) return fault_of(made, index);
  }
  return {};
}

Fault make_nodes_beneath(int root, const Node* nodes, std::size_t count, const TaskIds& task,
                         std::uint32_t index) noexcept {
  char parent[kMostPath];
  for (std::size_t i = 0; i < count; ++i) {
    const char* name = split_last(nodes[i].path, parent);
    const long opened = parent[0] == '\0' ? raw::fcntl(root, F_DUPFD_CLOEXEC, 0)
                                          : open_or_make(root, parent, false);
    if (opened < 0) return fault_of(opened, index);
    const int dir = static_cast<int>(opened);
    Fault fault = make_beneath(dir, name, nodes[i], task);
    raw::close(dir);
    fault.index = index;
    if (fault) return fault;
  }
  return {};
}

long open_beneath(int root, const char* path, int flags) noexcept {
  const sys::OpenHow how{
      .flags = static_cast<unsigned>(O_PATH | O_CLOEXEC | flags),
      .mode = 0,
      .resolve = sys::kResolveBeneath | sys::kResolveNoSymlinks | sys::kResolveNoMagiclinks};
  return raw::openat2(root, path, how);
}

long open_or_make(int root, const char* path, bool is_file) noexcept {
  long opened = open_beneath(root, path, 0);
  if (opened != -ENOENT) return opened;
  char prefix[kMostPath];
  char parent[kMostPath];
  for (std::size_t i = 0; i < kMostPath - 1; ++i) {
    if (path[i] != '/' && path[i] != '\0') {
      prefix[i] = path[i];
      continue;
    }
    prefix[i] = '\0';
    const bool last = path[i] == '\0';
    opened = open_beneath(root, prefix, 0);
    if (opened == -ENOENT) {
      const char* name = split_last(prefix, parent);
      const long in = parent[0] == '\0' ? raw::fcntl(root, F_DUPFD_CLOEXEC, 0)
                                        : open_beneath(root, parent, O_DIRECTORY);
      if (in < 0) return in;
      const int dir = static_cast<int>(in);
      const long made = last && is_file ? raw::mknodat(dir, name, S_IFREG | 0644, 0)
                                        : raw::mkdirat(dir, name, 0755);
      raw::close(dir);
      if (made < 0) return made;
      opened = open_beneath(root, prefix, 0);
    }
    if (opened < 0 || last) return opened;
    raw::close(static_cast<int>(opened));
    prefix[i] = '/';
  }
  return -ENAMETOOLONG;
}

}  // namespace mayfly::isolate::mounts
