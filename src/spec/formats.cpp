// The way back of arguments.hpp: entries and choices as the texts that are read as them.
#include <string>
#include <string_view>

#include "spec/arguments.hpp"
#include "spec/units.hpp"

namespace mayfly::spec {
namespace {

std::string escaped(std::string_view path, std::string_view special) {
  std::string text;
  for (const char c : path) {
    if (c == '\\' || special.find(c) != std::string_view::npos) text += '\\';
    text += c;
  }
  return text;
}

std::string with_mode(const FsEntry& entry) {
  std::string text = escaped(entry.target, ":=");
  if (entry.mode) text += ":" + format_mode(*entry.mode);
  return text;
}

// A path with a comma could end in what other tools take for a setting (arguments.cpp refuses it),
// and is told apart by a slash.
std::string tree(const FsEntry& entry) {
  const std::string source = escaped(entry.source, ":");
  if (entry.source == entry.target) return source;
  const bool has_comma = entry.target.find(',') != std::string::npos;
  return source + ":" + escaped(entry.target, ":") + (has_comma ? "/" : "");
}

std::string tmpfs(const FsEntry& entry) {
  std::string text = escaped(entry.target, ":");
  char separator = ':';
  if (entry.size != 0) {
    text += separator + ("size=" + format_size(entry.size));
    separator = ',';
  }
  if (entry.mode) text += separator + ("mode=" + format_mode(*entry.mode));
  return text;
}

std::string file(const FsEntry& entry) {
  const std::string place = with_mode(entry) + "=";
  if (!entry.source.empty()) return place + "@" + entry.source;
  return place + (entry.data.substr(0, 1) == "@" ? "@" : "") + entry.data;
}

}  // namespace

std::string format_entry(const FsEntry& entry) {
  switch (entry.kind) {
    case FsKind::Ro:
    case FsKind::Rw:
    case FsKind::Cow:
      return tree(entry);
    case FsKind::Tmpfs:
      return tmpfs(entry);
    case FsKind::File:
      return file(entry);
    case FsKind::Dir:
      return with_mode(entry);
    case FsKind::Symlink:
      return escaped(entry.target, ":=") + "=" + entry.data;
    case FsKind::Mask:
    case FsKind::Device:
      return entry.target;
  }
  return {};
}

std::string format_project(const Project& project) {
  std::string_view mode = "none";
  if (project.mode == ProjectMode::Cow) mode = "cow";
  if (project.mode == ProjectMode::Rw) mode = "rw";
  if (project.mode == ProjectMode::Ro) mode = "ro";
  std::string text(mode);
  return project.dir.empty() ? text : text + ":" + escaped(project.dir, ":");
}

}  // namespace mayfly::spec
