#include "spec/entries.hpp"

#include <climits>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "spec/checks.hpp"
#include "spec/units.hpp"

namespace mayfly::spec {
namespace {

// A bound for what is planned and mounted one by one, far above any use.
constexpr std::size_t kMostFsEntries = 1000;

bool needs_source(FsKind kind) {
  return kind == FsKind::Ro || kind == FsKind::Rw || kind == FsKind::Cow || kind == FsKind::Device;
}

// Where the kernel's ban of user namespaces is written to, in the sandbox's own /proc.
constexpr std::string_view kBanFile = "/proc/sys/user/max_user_namespaces";

// The sandbox has a /proc of its own, which must stay where it is; the host's tells about the host.
Result<void> check_proc(const FsEntry& entry) {
  // Below it there are links that lead elsewhere: /proc/self/fd/3.
  if (needs_source(entry.kind) && entry.kind != FsKind::Device && entry.source == "/proc") {
    return usage_error(
        "show " + shown(entry.source) + " inside: it belongs to a file system of the kernel (proc)",
        "the sandbox has its own /proc; copy what the task is to read with --file");
  }
  if (is_node(entry.kind) && is_within(entry.target, "/proc")) {
    return usage_error(
        "make " + place_of(entry) + ": /proc is the kernel's, which takes no entries",
        "choose a target outside of /proc");
  }
  if (!is_within(kBanFile, entry.target)) return {};
  return usage_error("use " + place_of(entry) +
                         " as a target: the sandbox needs its own /proc, to forbid user namespaces "
                         "inside",
                     "choose another one; --mask hides single entries of /proc");
}

// No program gains rights in a sandbox, so a bit that is to give some would be kept by nothing.
Result<void> check_mode(const FsEntry& entry) {
  const unsigned mode = entry.mode.value_or(0);
  if (mode > 07777) {
    return refused("a path inside", entry.target, "its mode is more than 07777",
                   "octal permission bits, like 644 or 0700");
  }
  const bool is_file = entry.kind == FsKind::File;
  if (!is_file && entry.kind != FsKind::Dir && entry.kind != FsKind::Tmpfs) return {};
  if ((mode & 06000) != 0) {
    return refused("a mode", format_mode(mode),
                   "nothing in a sandbox is setuid or setgid (for " + shown(entry.target) + ")",
                   "write it " + format_mode(mode & 01777));
  }
  if (is_file && (mode & 01000) != 0) {
    return refused("a mode", format_mode(mode),
                   "only a directory can be sticky (for " + shown(entry.target) + ")",
                   "write it " + format_mode(mode & 0777));
  }
  return {};
}

Result<void> check_target(const FsEntry& entry) {
  Result<void> checked = check_path("a path inside", entry.target);
  const bool is_tree = needs_source(entry.kind) && entry.kind != FsKind::Device;
  if (!checked && is_tree && entry.target.substr(0, 1) != "/") {
    checked.error().hint = "write it from / on; a ':' in the host's path is written \\:";
  }
  return checked;
}

Result<void> check_entry(const FsEntry& entry) {
  TRY(check_target(entry));
  if (entry.target == "/") {
    return refused("a path inside", entry.target, "it is the root itself",
                   "--root chooses what the root is");
  }
  if (needs_source(entry.kind) || !entry.source.empty()) {
    TRY(check_path("a path on the host", entry.source));
  }
  TRY(check_proc(entry));
  if (entry.kind == FsKind::File && !entry.source.empty() && !entry.data.empty()) {
    return refused("a file", entry.target, "it has both a text and a source", "give one of them");
  }
  if (entry.kind == FsKind::Symlink) {
    if (entry.data.empty()) {
      return refused("a link", entry.target, "it points nowhere", "write it DST=TARGET");
    }
    if (has_nul(entry.data)) {
      return refused("where a link points", entry.data, "it has a NUL byte", std::string(kNoNul));
    }
    if (entry.data.size() >= PATH_MAX) {
      return refused("where a link points", entry.data, "it is longer than 4095 bytes",
                     "the kernel takes no longer one: point it somewhere shorter");
    }
  }
  return check_mode(entry);
}

// What is at an entry's target once it is made, as far as the request alone tells.
enum class Made { Unknown, File, Device, Directory, Link };

Made made_by(FsKind kind) {
  switch (kind) {
    case FsKind::File:
      return Made::File;
    case FsKind::Device:
      return Made::Device;
    case FsKind::Dir:
    case FsKind::Tmpfs:
    case FsKind::Cow:
      return Made::Directory;
    case FsKind::Symlink:
      return Made::Link;
    case FsKind::Ro:  // what its source is
    case FsKind::Rw:
    case FsKind::Mask:  // what it hides
      break;
  }
  return Made::Unknown;
}

const char* name_of(Made made) {
  switch (made) {
    case Made::File:
      return "a file";
    case Made::Device:
      return "a device";
    case Made::Directory:
      return "a directory";
    case Made::Link:
      return "a symbolic link";
    case Made::Unknown:
      break;
  }
  return "there already";
}

// Whether `entry` can be put where `first`, an entry of its very target, was made. A mask may have
// found nothing; what has a source has put something there.
bool fits_on(FsKind first, Made entry) {
  const Made there = made_by(first);
  if (there == Made::Unknown) return entry != Made::Link || first == FsKind::Mask;
  if (there == Made::Link) return false;
  return entry == there || entry == Made::Unknown || (there == Made::File && entry == Made::Device);
}

Error in_the_way(const FsEntry& first, const FsEntry& entry, std::string_view at, Made is) {
  const bool leads_on = is == Made::Link && at != entry.target;
  return usage_error("make " + place_of(entry) + ": " + place_of(first) + " comes first, so that " +
                         shown(at) + " is " + name_of(is),
                     leads_on ? "name where the link leads"
                              : "leave one of the two out, or choose another target");
}

// Only what can never be made is refused: what is shown or hidden may hold, or be, anything.
Result<void> check_order(std::span<const FsEntry> before, const FsEntry& entry) {
  const Made made = made_by(entry.kind);
  for (std::size_t i = before.size(); i-- > 0;) {
    const FsEntry& first = before[i];
    const Made there = made_by(first.kind);
    if (first.target == entry.target) {
      if (fits_on(first.kind, made)) return {};
      return in_the_way(first, entry, first.target, there);
    }
    if (is_within(entry.target, first.target)) {
      if (first.kind == FsKind::Dir) continue;
      if (there == Made::Unknown || there == Made::Directory) return {};
      return in_the_way(first, entry, first.target, there);
    }
    const bool holds = first.kind != FsKind::Mask && is_within(first.target, entry.target);
    if (holds && made != Made::Directory && made != Made::Unknown) {
      return in_the_way(first, entry, entry.target, Made::Directory);
    }
  }
  return {};
}

}  // namespace

bool is_node(FsKind kind) {
  return kind == FsKind::File || kind == FsKind::Dir || kind == FsKind::Symlink;
}

std::string_view option_of(FsKind kind) {
  switch (kind) {
    case FsKind::Ro:
      return "--ro";
    case FsKind::Rw:
      return "--rw";
    case FsKind::Cow:
      return "--cow";
    case FsKind::Tmpfs:
      return "--tmpfs";
    case FsKind::File:
      return "--file";
    case FsKind::Dir:
      return "--dir";
    case FsKind::Symlink:
      return "--symlink";
    case FsKind::Mask:
      return "--mask";
    case FsKind::Device:
      return "--device";
  }
  return "";
}

std::string place_of(const FsEntry& entry) {
  return shown(entry.target) + " (" + std::string(option_of(entry.kind)) + ")";
}

Result<void> check_entries(const std::vector<FsEntry>& entries) {
  if (entries.size() > kMostFsEntries) {
    return usage_error("lay out " + std::to_string(entries.size()) + " paths inside",
                       "at most " + std::to_string(kMostFsEntries) +
                           " of --ro, --rw, --cow, --file and their like: show a directory that "
                           "holds them");
  }
  const auto about_entry = [](std::size_t i, Result<void> checked) {
    return about({.key = "mounts", .item = i}, std::move(checked));
  };
  for (std::size_t i = 0; i < entries.size(); ++i)
    TRY(about_entry(i, check_entry(entries[i])));
  for (std::size_t i = 1; i < entries.size(); ++i)
    TRY(about_entry(i, check_order(std::span(entries).first(i), entries[i])));
  return {};
}

}  // namespace mayfly::spec
