#include "supervise/stale_layers.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "base/text.hpp"
#include "isolate/disk_layer.hpp"
#include "sys/event.hpp"
#include "sys/files.hpp"

namespace mayfly::supervise {
namespace {

using isolate::disk_layer::Found;

constexpr std::int64_t kRemovalPatience = 600'000'000'000;
constexpr std::size_t kMostNames = 10'000;

Result<Verdict> judge_layer(const std::string& path, GcMode mode) {
  Verdict verdict{.what = path, .fate = Fate::Gone, .why = {}};
  const Found found = TRY(isolate::disk_layer::find(path, 0));
  switch (found.state) {
    case Found::State::Nothing:
      return verdict;
    case Found::State::InUse:
      verdict.fate = Fate::InUse;
      return verdict;
    case Found::State::Foreign:
      verdict.fate = Fate::Kept;
      verdict.why = "no layer that mayfly made";
      return verdict;
    case Found::State::Stale:
      break;
  }
  verdict.fate = Fate::WouldRemove;
  if (mode == GcMode::DryRun) return verdict;
  TRY(isolate::disk_layer::remove(found.layer, sys::boottime_ns() + kRemovalPatience));
  verdict.fate = Fate::Removed;
  return verdict;
}

bool has_entry(const RuntimeDir& directory, const std::string& name) {
  struct stat info {};
  return ::fstatat(directory.fd().get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
}

}  // namespace

Result<LayerEnd> remove_layer(const Record& record, std::int64_t patience_ns) {
  const auto kept = [](const char* why) { return LayerEnd{.kept = true, .why = why}; };
  if (record.layer.empty()) return LayerEnd{};
  if (patience_ns == 0) return kept("its layer on disk takes a while to remove");
  if (normal_path(record.layer) != record.layer || !record.layer.ends_with("/layers/" + record.id))
    return kept("its record names a layer that is not one of ours");
  const Found found = TRY(isolate::disk_layer::find(record.layer, record.layer_inode));
  if (found.state == Found::State::InUse) return kept("its layer is in use");
  if (found.state == Found::State::Foreign)
    return LayerEnd{.kept = false, .why = "the layer of its name is not the recorded one"};
  if (found.state == Found::State::Stale)
    TRY(isolate::disk_layer::remove(found.layer, sys::boottime_ns() + kRemovalPatience));
  return LayerEnd{};
}

void collect_layers(const RuntimeDir& directory, const GcRequest& request,
                    std::vector<Verdict>& verdicts) {
  const std::string& top = request.layer_parent;
  const auto kept = [&](const std::string& what, const Error& error) {
    verdicts.push_back({.what = what, .fate = Fate::Kept, .why = describe(error)});
  };
  const Result<Fd> parent = isolate::disk_layer::open_parent(top);
  if (!parent && parent.error().sys_errno == ENOENT) return;
  if (!parent) return kept(top, parent.error());
  const auto names = sys::names_in(*parent, top, kMostNames);
  if (!names) return kept(top, names.error());
  for (const std::string& name : *names) {
    if (has_entry(directory, name)) continue;
    const std::string path = top + "/" + name;
    Result<Verdict> verdict = judge_layer(path, request.mode);
    if (!verdict) kept(path, verdict.error());
    if (verdict) verdicts.push_back(std::move(*verdict));
  }
}

}  // namespace mayfly::supervise
