#include "supervise/stale_layers.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/text.hpp"
#include "isolate/disk_layer.hpp"
#include "sys/entries.hpp"
#include "sys/event.hpp"
#include "sys/files.hpp"

namespace mayfly::supervise {
namespace {

constexpr std::int64_t kRemovalPatience = 600'000'000'000;
constexpr std::size_t kMostNames = 10'000;

// True: it is gone, or nobody's to begin with. Else `why` it is kept.
Result<bool> end_layer(const std::string& parent_path, const std::string& id, std::uint64_t inode,
                       std::int64_t patience_ns, std::string& why) {
  const Result<Fd> parent = isolate::disk_layer::open_parent(parent_path);
  if (!parent && parent.error().sys_errno == ENOENT) return true;
  if (!parent) return std::move(parent).error();
  const Result<Fd> layer = sys::open_directory_beneath(*parent, id.c_str());
  if (!layer && layer.error().sys_errno == ENOENT) return true;
  if (!layer) return std::move(layer).error();
  const sys::Identity identity = TRY(sys::fstat(*layer, id));
  if (inode != 0 && identity.inode != inode) {
    why = "the layer of its name is not the recorded one";
    return true;
  }
  if (!TRY(sys::try_lock(*layer, id))) {
    why = "its layer is in use";
    return false;
  }
  TRY(isolate::disk_layer::remove(*parent, id, sys::boottime_ns() + patience_ns));
  return true;
}

bool is_young(const Fd& parent, const std::string& name, std::int64_t age_ns) {
  struct stat info {};
  if (::fstatat(parent.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return false;
  const std::int64_t changed =
      std::int64_t{info.st_ctim.tv_sec} * 1'000'000'000 + info.st_ctim.tv_nsec;
  return sys::realtime_ns() - changed < age_ns;
}

}  // namespace

Result<std::string> remove_layer(const Record& record, std::int64_t patience_ns) {
  const std::string ending = "/layers/" + record.id;
  if (record.layer.empty()) return std::string();
  if (patience_ns == 0) return std::string("its layer on disk takes a while to remove");
  if (normal_path(record.layer) != record.layer || !record.layer.ends_with(ending)) {
    return std::string("its record names a layer that is not one of ours");
  }
  const std::string parent = record.layer.substr(0, record.layer.rfind('/'));
  std::string why;
  TRY(end_layer(parent, record.id, record.layer_inode, kRemovalPatience, why));
  return why;
}

Result<void> collect_layers(const RuntimeDir& directory, const GcRequest& request,
                            std::vector<Verdict>& verdicts) {
  const Result<Fd> parent = isolate::disk_layer::open_parent(request.layer_parent);
  if (!parent && parent.error().sys_errno == ENOENT) return {};
  if (!parent) return std::move(parent).error();
  for (const std::string& name : TRY(sys::names_in(*parent, request.layer_parent, kMostNames))) {
    struct stat info {};
    const bool has_entry =
        ::fstatat(directory.fd().get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
    if (!is_random_id(name) || has_entry || is_young(*parent, name, request.orphan_age_ns)) {
      continue;
    }
    Verdict verdict{
        .what = request.layer_parent + "/" + name, .fate = Fate::WouldRemove, .why = {}};
    if (request.mode == GcMode::Remove) {
      const Result<bool> gone =
          end_layer(request.layer_parent, name, 0, kRemovalPatience, verdict.why);
      verdict.fate = gone && *gone ? Fate::Removed : gone ? Fate::InUse : Fate::Kept;
      if (!gone) verdict.why = describe(gone.error());
    }
    verdicts.push_back(std::move(verdict));
  }
  return {};
}

}  // namespace mayfly::supervise
