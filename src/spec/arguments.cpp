#include "spec/arguments.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <utility>

#include "base/text.hpp"
#include "spec/units.hpp"

namespace mayfly::spec {
namespace {

Error malformed(std::string_view text, std::string why, std::string hint) {
  return usage_error("read " + shown(text) + ": " + std::move(why), std::move(hint));
}

// Takes a path off the front of `rest`, up to the first separator that no backslash protects.
Result<std::string> take_path(std::string_view& rest, std::string_view separators) {
  const std::string_view whole = rest;
  std::string path;
  while (!rest.empty() && separators.find(rest[0]) == std::string_view::npos) {
    if (rest[0] == '\\') {
      rest.remove_prefix(1);
      if (rest.empty() || std::string_view(":=\\").find(rest[0]) == std::string_view::npos) {
        return malformed(whole, "a backslash must stand before ':', '=' or '\\'",
                         "write a backslash in a path as \\\\");
      }
    }
    path += rest[0];
    rest.remove_prefix(1);
  }
  return path;
}

// The separator at the front of `rest`, taken off, or 0 at its end.
char take_separator(std::string_view& rest) {
  if (rest.empty()) return 0;
  const char separator = rest[0];
  rest.remove_prefix(1);
  return separator;
}

// DST[:MODE] up to '=' or the end, for files, directories and links.
struct Place {
  std::string target;
  std::optional<unsigned> mode;
  bool has_content = false;  // a '=' follows; what is after it is in `rest`
};

Result<Place> take_place(std::string_view& rest) {
  Place place;
  place.target = path_inside(TRY(take_path(rest, ":=")));
  char separator = take_separator(rest);
  if (separator == ':') {
    const std::size_t end = std::min(rest.find('='), rest.size());
    place.mode = TRY(parse_mode(rest.substr(0, end)));
    rest.remove_prefix(end);
    separator = take_separator(rest);
  }
  place.has_content = separator == '=';
  return place;
}

// A setting as other tools have them behind a path: "/x,rw". Taken for a part of the name it would
// be ignored, and the path shown with other rights than was meant.
bool ends_in_setting(std::string_view path) {
  constexpr std::string_view kSettings[] = {"ro",     "rw",    "z",    "Z",      "cow",
                                            "bind",   "rbind", "exec", "noexec", "suid",
                                            "nosuid", "dev",   "nodev"};
  const std::size_t comma = path.rfind(',');
  if (comma == std::string_view::npos) return false;
  const std::string_view word = path.substr(comma + 1);
  return std::find(std::begin(kSettings), std::end(kSettings), word) != std::end(kSettings);
}

Result<void> set_tmpfs_option(FsEntry& entry, std::string_view text, std::string_view setting) {
  const std::size_t equals = setting.find('=');
  const std::string_view name = setting.substr(0, equals);
  const std::string_view value =
      equals == std::string_view::npos ? std::string_view() : setting.substr(equals + 1);
  if (name == "size") {
    entry.size = TRY(parse_size(value));
    if (entry.size == 0) {
      return malformed(text, "a size of 0 is no size", "leave size out for that of the layer");
    }
    return {};
  }
  if (name == "mode") {
    entry.mode = TRY(parse_mode(value));
    return {};
  }
  return malformed(text, shown(name) + " is not a setting of a tmpfs",
                   "write it like /scratch:size=64M,mode=1777");
}

}  // namespace

std::string path_inside(std::string_view path) {
  const auto pieces = split(path, '/');
  const bool climbs = std::find(pieces.begin(), pieces.end(), "..") != pieces.end();
  return path.substr(0, 1) == "/" && !climbs ? normal_path(path) : std::string(path);
}

Result<std::string> absolute_path(std::string_view working_dir, std::string_view path) {
  if (path.empty()) {
    return usage_error("use '' as a path: it is empty",
                       "write a path; a variable in its place may be unset");
  }
  if (path[0] == '/') return normal_path(path);
  if (working_dir.empty()) {
    return usage_error(
        "resolve " + shown(path) + ": the working directory does not exist or cannot be read",
        "write the path from / on, or change to another directory");
  }
  return normal_path(std::string(working_dir) + "/" + std::string(path));
}

Result<FsEntry> parse_tree(FsKind kind, std::string_view working_dir, std::string_view text) {
  std::string_view rest = text;
  FsEntry entry;
  entry.kind = kind;
  const std::string source = TRY(take_path(rest, ":"));
  entry.source = TRY(absolute_path(working_dir, source));
  if (take_separator(rest) == 0) {
    entry.target = entry.source;
    return entry;
  }
  const std::string target = TRY(take_path(rest, ":"));
  if (!rest.empty()) {
    return malformed(text, "there is more than one ':'",
                     "write it SRC:DST, and a ':' in a path as \\:");
  }
  if (ends_in_setting(target)) {
    return malformed(text, "there are no settings behind a path",
                     "--ro, --rw and --cow choose how it is shown; a path that does end so is "
                     "written with a / behind it");
  }
  entry.target = path_inside(target);
  return entry;
}

Result<FsEntry> parse_tmpfs(std::string_view text) {
  std::string_view rest = text;
  FsEntry entry;
  entry.kind = FsKind::Tmpfs;
  entry.target = path_inside(TRY(take_path(rest, ":")));
  if (take_separator(rest) == 0) return entry;
  for (std::string_view setting : split(rest, ','))
    TRY(set_tmpfs_option(entry, text, setting));
  return entry;
}

Result<FsEntry> parse_file(std::string_view working_dir, std::string_view text) {
  std::string_view rest = text;
  Place place = TRY(take_place(rest));
  if (!place.has_content) {
    return malformed(text, "there is no '='", "write it DST=TEXT, or DST=@FILE to copy a file");
  }
  FsEntry entry;
  entry.kind = FsKind::File;
  entry.target = std::move(place.target);
  entry.mode = place.mode;
  const bool at = rest.substr(0, 1) == "@";
  if (at) rest.remove_prefix(1);
  if (at && rest.substr(0, 1) != "@") {
    entry.source = TRY(absolute_path(working_dir, rest));
  } else {
    entry.data = std::string(rest);
  }
  return entry;
}

Result<FsEntry> parse_dir(std::string_view text) {
  std::string_view rest = text;
  Place place = TRY(take_place(rest));
  if (place.has_content) {
    return malformed(text, "a directory has no content",
                     "write it DST or DST:MODE, and a '=' in a path as \\=");
  }
  FsEntry entry;
  entry.kind = FsKind::Dir;
  entry.target = std::move(place.target);
  entry.mode = place.mode;
  return entry;
}

Result<FsEntry> parse_symlink(std::string_view text) {
  std::string_view rest = text;
  FsEntry entry;
  entry.kind = FsKind::Symlink;
  entry.target = path_inside(TRY(take_path(rest, ":=")));
  if (take_separator(rest) != '=') {
    return malformed(text, "there is no '=' after the path", "write it DST=TARGET");
  }
  entry.data = std::string(rest);
  return entry;
}

Result<Project> parse_project(std::string_view working_dir, std::string_view text) {
  constexpr std::pair<std::string_view, ProjectMode> kModes[] = {
      {"cow", ProjectMode::Cow},
      {"rw", ProjectMode::Rw},
      {"ro", ProjectMode::Ro},
      {"none", ProjectMode::None},
  };
  const std::string_view name = text.substr(0, text.find(':'));
  for (const auto& [mode_name, mode] : kModes) {
    if (name != mode_name) continue;
    Project project = {.mode = mode, .dir = {}};
    if (name.size() == text.size()) return project;
    std::string_view rest = text.substr(name.size() + 1);
    const std::string dir = TRY(take_path(rest, ":"));
    project.dir = TRY(absolute_path(working_dir, dir));
    if (!rest.empty()) {
      return malformed(text, "there is more than one ':'", "write a ':' in a path as \\:");
    }
    if (mode == ProjectMode::None) {
      return malformed(text, "no project is shown, so it has no directory", "write none alone");
    }
    return project;
  }
  return malformed(text, shown(name) + " is not a way to show the project",
                   "one of cow, rw, ro and none, then :DIR if it is not here");
}

EnvRule parse_env(std::string_view text) {
  const std::size_t equals = text.find('=');
  EnvRule rule;
  rule.name = std::string(text.substr(0, equals));
  if (equals == std::string_view::npos) {
    rule.kind = EnvKind::PassName;
  } else {
    rule.value = std::string(text.substr(equals + 1));
  }
  return rule;
}

Result<std::pair<std::string, std::string>> parse_label(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) {
    return malformed(text, "there is no '='", "write it KEY=VALUE");
  }
  return std::pair(std::string(text.substr(0, equals)), std::string(text.substr(equals + 1)));
}

}  // namespace mayfly::spec
