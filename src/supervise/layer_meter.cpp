#include "supervise/layer_meter.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "sys/entries.hpp"
#include "sys/event.hpp"

namespace mayfly::supervise {
namespace {

constexpr std::int64_t kSlice = 2'000'000;        // of one turn
constexpr std::int64_t kPause = 10'000'000;       // between slices
constexpr std::int64_t kLeastRest = 200'000'000;  // between walks,
constexpr std::int64_t kRestFactor = 20;          // and so that they take a twentieth of the time
constexpr std::size_t kMostLevels = 200;
constexpr int kEntriesBetweenClocks = 32;

}  // namespace

bool LayerMeter::look(std::int64_t now_ns) {
  if (levels_.empty()) begin();
  std::int64_t now = now_ns;
  bool walking = true;
  while (walking && now - now_ns < kSlice && !is_over()) {
    for (int i = 0; i < kEntriesBetweenClocks && walking; ++i)
      walking = step();
    now = sys::boottime_ns();
  }
  spent_ns_ += now - now_ns;
  next_ns_ = now + (walking ? kPause : std::max(kLeastRest, kRestFactor * spent_ns_));
  return is_over();
}

LayerMeter::Size LayerMeter::measure() {
  begin();
  while (step()) {
  }
  return found_;
}

void LayerMeter::begin() {
  while (!levels_.empty())
    pop();
  found_ = {};
  too_deep_ = false;
  spent_ns_ = 0;
  if (Result<Fd> top = sys::open_directory_at(top_.get(), ".")) push({std::move(*top), {}});
}

void LayerMeter::push(isolate::disk_layer::Opened opened) {
  Level& level = levels_.emplace_back();
  level.fd = std::move(opened.directory);
  level.closed_mode = opened.closed_mode;
  level.reader = std::make_unique<sys::DirectoryReader>(level.fd, "a layer on disk");
}

void LayerMeter::pop() {
  const Level& level = levels_.back();
  if (level.closed_mode) static_cast<void>(::fchmod(level.fd.get(), *level.closed_mode));
  levels_.pop_back();
}

bool LayerMeter::is_over() const {
  return too_deep_ || found_.bytes > most_.bytes || found_.inodes > most_.inodes;
}

// A descriptor moves with its level when the list grows, but its number, which the reader has, does
// not change.
bool LayerMeter::step() {
  if (levels_.empty()) return false;
  const Result<sys::DirectoryReader::Entry> entry = levels_.back().reader->next();
  if (!entry || entry->name == nullptr) {
    pop();
    return !levels_.empty();
  }
  count(levels_.back().fd, entry->name);
  return true;
}

void LayerMeter::count(const Fd& directory, const char* name) {
  struct stat info = {};
  if (::fstatat(directory.get(), name, &info, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) != 0) return;
  constexpr std::uint64_t kBlock = 512;
  const std::uint64_t links = S_ISDIR(info.st_mode) ? 1 : std::max<std::uint64_t>(1, info.st_nlink);
  found_.bytes += static_cast<std::uint64_t>(info.st_blocks) * kBlock / links;
  ++found_.inodes;
  if (!S_ISDIR(info.st_mode)) return;
  if (levels_.size() == kMostLevels) {
    too_deep_ = true;
    return;
  }
  Result<isolate::disk_layer::Opened> below = isolate::disk_layer::open_hidden(directory, name);
  if (below) push(std::move(*below));
}

}  // namespace mayfly::supervise
