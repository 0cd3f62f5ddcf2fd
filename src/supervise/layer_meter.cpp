#include "supervise/layer_meter.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/text.hpp"
#include "isolate/disk_layer.hpp"
#include "sys/entries.hpp"
#include "sys/event.hpp"
#include "sys/mounts.hpp"

namespace mayfly::supervise {
namespace {

constexpr std::int64_t kSlice = 2'000'000;        // of one turn
constexpr std::int64_t kPause = 10'000'000;       // between slices
constexpr std::int64_t kLeastRest = 200'000'000;  // between walks,
constexpr std::int64_t kRestFactor = 20;          // and so that they take a twentieth of the time
constexpr rlim_t kFewestLevels = 16;              // at a start there are fewer
constexpr rlim_t kMostLevels = 200;
constexpr std::size_t kDescriptorsAtStart = 16;  // of a sandbox, and for a walk of what it makes
constexpr int kEntriesBetweenClocks = 32;

// Each level takes a descriptor: a task must not be able to leave none for the rest of mayfly.
std::size_t most_levels() {
  rlimit files = {};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return kMostLevels;
  return std::clamp(files.rlim_cur / 2, kFewestLevels, kMostLevels);
}

// Gone since it was listed, or another file or a mount by now.
bool is_no_part(int error) {
  return error == ENOENT || error == ESTALE || error == ENOTDIR || error == ELOOP || error == EXDEV;
}

Result<struct stat> status(const Fd& directory, const char* name) {
  struct stat info = {};
  if (::fstatat(directory.get(), name, &info, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) == 0)
    return info;
  return sys::errno_error("look at " + shown(name) + " in the layer", "fstatat");
}

}  // namespace

LayerMeter::LayerMeter(const Fd& directory, Size most)
    : top_(directory), most_(most), most_levels_(most_levels()) {}

Result<void> LayerMeter::check_descriptors() {
  std::array<Fd, kDescriptorsAtStart> taken;
  for (Fd& each : taken) {
    each = Fd(::open("/", O_PATH | O_CLOEXEC));
    if (!each) return sys::errno_error("look at the size of a layer on disk", "open(/)");
  }
  return {};
}

bool LayerMeter::look(std::int64_t now_ns) {
  if (levels_.empty()) begin();
  std::int64_t now = now_ns;
  bool walking = true;
  while (walking && now - now_ns < kSlice && !is_over()) {
    for (int i = 0; i < kEntriesBetweenClocks && walking; ++i)
      walking = step();
    now = sys::boottime_ns();
  }
  if (!levels_.empty()) levels_.back().search.end();
  spent_ns_ += now - now_ns;
  next_ns_ = now + (walking ? kPause : std::max(kLeastRest, kRestFactor * spent_ns_));
  if (is_over()) levels_.clear();  // the end of the sandbox takes descriptors, too
  return is_over();
}

LayerMeter::Size LayerMeter::measure() {
  begin();
  while (step()) {
  }
  return found_;
}

void LayerMeter::begin() {
  levels_.clear();
  found_ = {};
  why_not_all_.clear();
  spent_ns_ = 0;
  Result<Fd> top = sys::open_directory_at(top_.get(), ".");
  if (top) {
    push(std::move(*top));
  } else {
    miss(top.error());
  }
}

void LayerMeter::push(Fd directory) {
  if (!levels_.empty()) levels_.back().search.end();
  Level& level = levels_.emplace_back();
  level.fd = std::move(directory);
  level.reader = std::make_unique<sys::DirectoryReader>(level.fd, "a layer on disk");
}

bool LayerMeter::is_over() const {
  return !why_not_all_.empty() || found_.bytes > most_.bytes || found_.inodes > most_.inodes;
}

// A descriptor moves with its level when the list grows, but its number, which the reader and the
// loan have, does not change.
bool LayerMeter::step() {
  if (levels_.empty()) return false;
  const Result<sys::DirectoryReader::Entry> entry = levels_.back().reader->next();
  if (!entry) miss(entry.error());
  if (!entry || entry->name == nullptr) {
    levels_.pop_back();
    return !levels_.empty();
  }
  count(entry->name);
  return true;
}

// Where the directory may not be searched even by its owner, that is allowed until the walk leaves
// it or pauses: not for each name, since each change of a mode can undo one of the task's. A task
// that forbids it again and again wins nothing: what is not found is a miss.
template <class Lookup>
auto LayerMeter::in_last_level(Lookup lookup) {
  constexpr int kTries = 10;
  Level& level = levels_.back();
  auto found = lookup(level.fd);
  for (int i = 0; i < kTries && !found && found.error().sys_errno == EACCES; ++i) {
    level.search.end();
    Result<isolate::Loan> loan = isolate::Loan::take(level.fd, S_IXUSR);
    if (!loan) return decltype(found)(std::move(loan).error());
    level.search = std::move(*loan);
    found = lookup(level.fd);
  }
  return found;
}

void LayerMeter::count(const char* name) {
  const Result<struct stat> info =
      in_last_level([&](const Fd& directory) { return status(directory, name); });
  if (!info) return miss(info.error());
  constexpr std::uint64_t kBlock = 512;
  const bool is_directory = S_ISDIR(info->st_mode);
  const std::uint64_t links = is_directory ? 1 : std::max<std::uint64_t>(1, info->st_nlink);
  found_.bytes += static_cast<std::uint64_t>(info->st_blocks) * kBlock / links;
  ++found_.inodes;
  if (!is_directory) return;
  if (levels_.size() >= most_levels_) {
    why_not_all_ = "more than " + std::to_string(most_levels_) + " directories are in one another";
    return;
  }
  Result<Fd> below = in_last_level(
      [&](const Fd& directory) { return isolate::disk_layer::open_to_list(directory, name); });
  if (!below) return miss(below.error());
  push(std::move(*below));
}

void LayerMeter::miss(const Error& error) {
  if (!is_no_part(error.sys_errno) && why_not_all_.empty()) why_not_all_ = describe(error);
}

}  // namespace mayfly::supervise
