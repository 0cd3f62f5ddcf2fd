#include "host/mounts.hpp"

#include <algorithm>
#include <cstddef>

#include "base/text.hpp"

namespace mayfly::host {
namespace {

// Cuts the next blank-separated word off the front; empty at the end of the line.
std::string_view next_word(std::string_view& line) {
  const std::size_t end = line.find(' ');
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(end == std::string_view::npos ? line.size() : end + 1);
  return word;
}

bool is_octal(char c) {
  return c >= '0' && c <= '7';
}

// The kernel writes blank, tab, newline, '#' and backslash as a backslash and three octal digits.
std::string unescaped(std::string_view word) {
  if (word.find('\\') == std::string_view::npos) return std::string(word);
  std::string text;
  text.reserve(word.size());
  for (std::size_t i = 0; i < word.size(); ++i) {
    const bool escape = word[i] == '\\' && i + 3 < word.size() && is_octal(word[i + 1]) &&
                        is_octal(word[i + 2]) && is_octal(word[i + 3]);
    if (!escape) {
      text += word[i];
      continue;
    }
    text +=
        static_cast<char>((word[i + 1] - '0') * 64 + (word[i + 2] - '0') * 8 + (word[i + 3] - '0'));
    i += 3;
  }
  return text;
}

bool has_option(std::string_view options, std::string_view wanted) {
  while (!options.empty()) {
    const std::size_t comma = options.find(',');
    if (options.substr(0, comma) == wanted) return true;
    options.remove_prefix(comma == std::string_view::npos ? options.size() : comma + 1);
  }
  return false;
}

// id parent major:minor root mount-point options optional… - type source super-options
bool parse_line(std::string_view line, MountPoint& mount) {
  for (int skipped = 0; skipped < 3; ++skipped)
    next_word(line);
  const std::string_view root = next_word(line), path = next_word(line), options = next_word(line);
  std::string_view word;
  do {
    if (line.empty()) return false;
    word = next_word(line);
  } while (word != "-");
  const std::string_view type = next_word(line);
  next_word(line);  // the source may be empty
  if (root.empty() || path.empty() || path[0] != '/' || type.empty()) return false;
  mount.path = unescaped(path);
  mount.fstype = unescaped(type);
  mount.read_only = has_option(options, "ro") || has_option(line, "ro");
  mount.root = unescaped(root);
  return true;
}

// A later mount on the same path, or on one above it, hides this one. Not so the root: an initramfs
// mounts /sys first and then moves it into the root that it mounted after it.
bool is_hidden(const std::vector<MountPoint>& mounts, std::size_t index) {
  for (std::size_t later = index + 1; later < mounts.size(); ++later) {
    const std::string& over = mounts[later].path;
    if (over != "/" && is_within(mounts[index].path, over)) return true;
  }
  return false;
}

// The path in the line "0::PATH" of the v2 hierarchy, empty if there is none. A path that begins
// with "/.." lies outside our cgroup namespace: no mount of ours leads to it.
std::string_view v2_path(std::string_view proc_cgroup) {
  for (std::string_view line : split(proc_cgroup, '\n')) {
    if (line.substr(0, 3) != "0::") continue;
    line.remove_prefix(3);
    return is_within(line, "/..") ? std::string_view() : line;
  }
  return {};
}

}  // namespace

Result<std::vector<MountPoint>> parse_mountinfo(std::string_view text) {
  std::vector<MountPoint> mounts;
  // One page more costs more than counting.
  mounts.reserve(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1);
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    if (!parse_line(line, mounts.emplace_back())) {
      return internal_error("understand the line of /proc/self/mountinfo " + shown(line));
    }
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return mounts;
}

CgroupFacts find_cgroup(const std::vector<MountPoint>& mounts, std::string_view proc_cgroup) {
  const std::string_view own = v2_path(proc_cgroup);
  if (own.empty()) return {};
  for (std::size_t i = 0; i < mounts.size(); ++i) {
    const MountPoint& mount = mounts[i];
    // A container without a cgroup namespace has a part of the tree mounted: root "/docker/ID".
    if (mount.fstype != "cgroup2" || !is_within(own, mount.root) || is_hidden(mounts, i)) continue;
    std::string below(mount.root == "/" ? own : own.substr(mount.root.size()));
    return {.mount = mount.path, .own = below.empty() ? "/" : std::move(below), .writable = false};
  }
  return {};
}

std::string own_cgroup_dir(const CgroupFacts& cgroup) {
  return cgroup.own == "/" ? cgroup.mount : cgroup.mount + cgroup.own;
}

const MountPoint* mount_of(const std::vector<MountPoint>& mounts, const std::string& path) {
  const MountPoint* best = nullptr;
  for (const MountPoint& mount : mounts) {  // of two at one place the later is on top
    const bool holds = is_within(path, mount.path);
    if (holds && (best == nullptr || mount.path.size() >= best->path.size())) best = &mount;
  }
  return best;
}

std::vector<const MountPoint*> visible_mounts_below(const std::vector<MountPoint>& mounts,
                                                    const std::string& path) {
  std::vector<const MountPoint*> found;
  for (std::size_t i = 0; i < mounts.size(); ++i) {
    const bool below = mounts[i].path != path && is_within(mounts[i].path, path);
    if (below && !is_hidden(mounts, i)) found.push_back(&mounts[i]);
  }
  std::sort(found.begin(), found.end(),
            [](const MountPoint* a, const MountPoint* b) { return a->path < b->path; });
  return found;
}

bool has_mounts_below(const std::vector<MountPoint>& mounts, const std::string& path) {
  for (const MountPoint& mount : mounts) {
    if (mount.path != path && is_within(mount.path, path)) return true;
  }
  return false;
}

}  // namespace mayfly::host
