#include "supervise/janitor.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "base/text.hpp"
#include "isolate/cgroup.hpp"
#include "isolate/cgroup_ground.hpp"
#include "supervise/cgroup_end.hpp"
#include "supervise/stale_layers.hpp"
#include "sys/entries.hpp"
#include "sys/event.hpp"
#include "sys/files.hpp"

namespace mayfly::supervise {
namespace {

constexpr std::size_t kMostNames = 10'000;
constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::string_view kCgroupPrefix = "mayfly-";

// Waits until nobody is left. False: somebody still is.
Result<bool> wait_until_empty(const Fd& events, std::int64_t patience_ns) {
  const std::int64_t deadline = sys::boottime_ns() + patience_ns;
  for (;;) {
    if (TRY(read_populated(events)) == 0) return true;
    const std::int64_t left = deadline - sys::boottime_ns();
    if (left <= 0) return false;
    pollfd changed{.fd = events.get(), .events = POLLPRI, .revents = 0};
    TRY(sys::ppoll({&changed, 1}, left));
  }
}

enum class Force { Kill, OnlyIfEmpty };

// Empties and removes a cgroup that was judged to be ours. Says what it did, or why it could not.
Result<std::string> end_cgroup(const Fd& cgroup, const std::string& name, Force force,
                               std::int64_t patience_ns) {
  const Fd events = TRY(open_events(cgroup));
  if (TRY(read_populated(events)) != 0) {
    if (force == Force::OnlyIfEmpty) return std::string("its cgroup is not empty");
    TRY(kill_cgroup(cgroup));
    if (!TRY(wait_until_empty(events, patience_ns))) {
      return std::string("processes in its cgroup were killed but are not gone yet");
    }
  }
  const Fd parent = TRY(sys::open_directory_at(cgroup.get(), ".."));
  TRY(isolate::cgroup::remove_from(parent, name));
  return std::string();
}

// What is to be done about the cgroup of a record.
struct CgroupFinding {
  Fd cgroup;         // empty: nothing
  std::string name;  // its last path component
  Force force = Force::OnlyIfEmpty;
  std::string note;    // why it is left alone
  std::string parent;  // where it was made, if that is known
};

CgroupFinding left_alone(std::string why) {
  return {.cgroup = {}, .name = {}, .force = Force::OnlyIfEmpty, .note = std::move(why)};
}

Result<CgroupFinding> find_cgroup(const Record& record, const std::string& mount) {
  if (record.cgroup.empty()) return CgroupFinding{};
  if (record.boot_id != boot_id()) return CgroupFinding{};  // it went with that boot
  const std::string name = std::string(kCgroupPrefix) + record.id;
  const bool ours = !mount.empty() && normal_path(record.cgroup) == record.cgroup &&
                    is_within(record.cgroup, mount) && record.cgroup.size() > mount.size() + 1 &&
                    record.cgroup.ends_with("/" + name);
  if (!ours) return left_alone("its record names a cgroup that is not one of ours");
  const Fd top = TRY(sys::open_directory_at(AT_FDCWD, mount.c_str()));
  const std::size_t relative = mount == "/" ? 1 : mount.size() + 1;
  Result<Fd> cgroup = sys::open_directory_beneath(top, record.cgroup.c_str() + relative);
  const std::string parent = record.cgroup.substr(0, record.cgroup.rfind('/'));
  if (!cgroup && cgroup.error().sys_errno == ENOENT) return CgroupFinding{.parent = parent};
  if (!cgroup) return std::move(cgroup).error();
  const sys::Identity identity = TRY(sys::fstat(*cgroup, record.cgroup));
  if (record.cgroup_inode != 0 && record.cgroup_inode != identity.inode) {
    return left_alone("the cgroup of its name is not the recorded one");
  }
  return CgroupFinding{.cgroup = std::move(*cgroup),
                       .name = name,
                       .force = record.cgroup_inode != 0 ? Force::Kill : Force::OnlyIfEmpty,
                       .note = {},
                       .parent = parent};
}

// Removes an entry that we hold the lock of. The cgroup first: as long as it is there, the record
// must be.
Result<Verdict> remove_locked(const RuntimeDir& directory, const Fd& folder, const std::string& id,
                              const GcRequest& request) {
  const auto kept = [&](std::string why) {
    return Verdict{.what = id, .fate = Fate::Kept, .why = std::move(why)};
  };
  CgroupFinding finding;
  const Result<Record> record = read_record(folder);
  if (!record) {
    finding.note = "its state cannot be read";
  } else if (record->id != id) {
    finding.note = "its state names another sandbox";
  } else {
    finding = TRY(find_cgroup(*record, request.cgroup_mount));
  }
  if (request.mode == GcMode::DryRun) {
    return Verdict{.what = id, .fate = Fate::WouldRemove, .why = std::move(finding.note)};
  }
  if (finding.cgroup) {
    std::string problem =
        TRY(end_cgroup(finding.cgroup, finding.name, finding.force, request.patience_ns));
    if (!problem.empty()) return kept(std::move(problem));
  }
  if (!finding.parent.empty()) isolate::cgroup::give_back(finding.parent, id);
  if (record && record->id == id) {
    LayerEnd end = TRY(remove_layer(*record, request.patience_ns));
    if (end.kept) return kept(std::move(end.why));
    if (finding.note.empty()) finding.note = std::move(end.why);
  }
  TRY(sys::unlinkat(folder, kStateFile, sys::Entry::File));
  TRY(sys::unlinkat(folder, kNewStateFile, sys::Entry::File));
  const Result<bool> removed = sys::unlinkat(directory.fd(), id.c_str(), sys::Entry::Directory);
  if (!removed && removed.error().sys_errno == ENOTEMPTY) {
    return kept("its folder holds files that mayfly did not put there");
  }
  if (!removed) return removed.error();
  return Verdict{.what = id, .fate = Fate::Removed, .why = std::move(finding.note)};
}

// Between its making and its first state an entry is not locked, and after its last one it is about
// to go.
Result<bool> is_unfinished(const Fd& folder, const sys::Identity& identity,
                           std::int64_t unfinished_age_ns) {
  if (TRY(sys::lookup(folder.get(), kStateFile))) return false;
  const std::int64_t age = sys::realtime_ns() - identity.changed_ns;
  return age >= 0 && age < unfinished_age_ns;
}

Verdict judge_entry(const RuntimeDir& directory, const std::string& id, const GcRequest& request) {
  const auto verdict = [&](Fate fate, std::string why) {
    return Verdict{.what = id, .fate = fate, .why = std::move(why)};
  };
  if (!is_valid_id(id)) return verdict(Fate::Kept, "no name that mayfly gives");
  const Result<Fd> folder = sys::open_directory_at(directory.fd().get(), id.c_str());
  if (!folder) {
    const int error = folder.error().sys_errno;
    if (error == ENOENT) return verdict(Fate::Gone, {});
    if (error == ENOTDIR || error == ELOOP) return verdict(Fate::Kept, "not a directory");
    return verdict(Fate::Kept, describe(folder.error()));
  }
  const Result<sys::Identity> identity = sys::fstat(*folder, id);
  if (!identity || identity->owner != ::geteuid()) {
    return verdict(Fate::Kept, "it belongs to somebody else");
  }
  const Result<bool> unfinished = is_unfinished(*folder, *identity, request.unfinished_age_ns);
  if (unfinished && *unfinished) return verdict(Fate::InUse, {});
  const Result<bool> locked = sys::try_lock(*folder, id);
  if (!locked) return verdict(Fate::Kept, describe(locked.error()));
  if (!*locked) return verdict(Fate::InUse, {});
  // Whoever held it until now may have removed it.
  if (!sys::is_at(directory.fd(), id.c_str(), *identity)) return verdict(Fate::Gone, {});
  Result<Verdict> removed = remove_locked(directory, *folder, id, request);
  return removed ? std::move(*removed) : verdict(Fate::Kept, describe(removed.error()));
}

// A cgroup with a random name of ours, no entry, nobody in it, and nobody who holds its lock. Locks
// it, so that it stays so as long as `cgroup` is open.
Result<bool> is_orphan(const RuntimeDir& directory, const Fd& cgroup, const std::string& id,
                       std::int64_t age_ns) {
  struct stat info {};
  if (::fstatat(directory.fd().get(), id.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) return false;
  const sys::Identity identity = TRY(sys::fstat(cgroup, id));
  const bool old = sys::realtime_ns() - identity.changed_ns >= age_ns;
  if (!old || identity.owner != ::geteuid()) return false;
  if (!TRY(sys::try_lock(cgroup, id))) return false;
  const Fd events = TRY(open_events(cgroup));
  return TRY(read_populated(events)) == 0;
}

Result<void> collect_orphans(const RuntimeDir& directory, const std::string& parent,
                             const GcRequest& request, std::vector<Verdict>& verdicts) {
  const Fd top = TRY(sys::open_directory_at(AT_FDCWD, parent.c_str()));
  std::size_t looked_at = 0;
  for (const std::string& name : TRY(sys::names_in(top, parent, kMostNames))) {
    if (!name.starts_with(kCgroupPrefix)) continue;
    const std::string id = name.substr(kCgroupPrefix.size());
    if (!is_random_id(id)) continue;
    if (++looked_at > request.most) break;
    const Result<Fd> cgroup = sys::open_directory_at(top.get(), name.c_str());
    if (!cgroup) continue;
    const Result<bool> orphan = is_orphan(directory, *cgroup, id, request.orphan_age_ns);
    if (!orphan || !*orphan) continue;
    Verdict verdict{.what = parent + "/" + name, .fate = Fate::WouldRemove, .why = {}};
    if (request.mode == GcMode::Remove) {
      const Result<bool> removed = isolate::cgroup::remove_from(top, name);
      verdict.fate = !removed ? Fate::Kept : *removed ? Fate::Removed : Fate::Gone;
      if (!removed) verdict.why = describe(removed.error());
    }
    verdicts.push_back(std::move(verdict));
  }
  return {};
}

bool is_entry_name(const std::string& name) {
  return !name.starts_with('.');
}

}  // namespace

Result<std::vector<Verdict>> collect(const RuntimeDir& directory, const GcRequest& request) {
  std::vector<Verdict> verdicts;
  std::vector<std::string> names = TRY(sys::names_in(directory.fd(), directory.path(), kMostNames));
  names.erase(std::remove_if(names.begin(), names.end(),
                             [](const std::string& name) { return !is_entry_name(name); }),
              names.end());
  // From anywhere in the list: where only some are looked at, each must get its turn.
  const auto first = static_cast<std::size_t>(sys::boottime_ns()) / 1000;
  for (std::size_t i = 0; i < std::min(names.size(), request.most); ++i)
    verdicts.push_back(judge_entry(directory, names[(first + i) % names.size()], request));
  for (const std::string& parent : request.cgroup_parents)
    TRY(collect_orphans(directory, parent, request, verdicts));
  if (!request.layer_parent.empty()) collect_layers(directory, request, verdicts);
  std::erase_if(verdicts, [](const Verdict& verdict) { return verdict.fate == Fate::Gone; });
  return verdicts;
}

Verdict remove_stale(const RuntimeDir& directory, const std::string& id,
                     const std::string& cgroup_mount) {
  GcRequest request;
  request.cgroup_mount = cgroup_mount;
  request.unfinished_age_ns = 0;
  return judge_entry(directory, id, request);
}

void sweep(const RuntimeDir& directory, const std::string& cgroup_mount,
           const std::string& cgroup_parent) {
  constexpr std::int64_t kPeriod = 60 * kSecond;
  struct stat stamp {};
  if (::fstatat(directory.fd().get(), kSweepFile, &stamp, AT_SYMLINK_NOFOLLOW) == 0) {
    const std::int64_t age = sys::realtime_ns() / kSecond - stamp.st_mtim.tv_sec;
    if (age >= 0 && age < kPeriod / kSecond) return;
  }
  if (!sys::touch_at(directory.fd(), kSweepFile)) return;
  GcRequest request;
  request.cgroup_mount = cgroup_mount;
  if (!cgroup_parent.empty()) request.cgroup_parents.push_back(cgroup_parent);
  request.most = 16;
  request.patience_ns = 0;
  static_cast<void>(collect(directory, request));
}

Result<std::vector<Listed>> list(const RuntimeDir& directory) {
  std::vector<Listed> all;
  for (std::string& name : TRY(sys::names_in(directory.fd(), directory.path(), kMostNames))) {
    if (!is_valid_id(name)) continue;
    const Result<Fd> folder = sys::open_directory_at(directory.fd().get(), name.c_str());
    if (!folder) continue;
    Listed listed;
    const Result<bool> locked = sys::try_lock(*folder, name);
    listed.live = locked && !*locked;
    Result<Record> record = read_record(*folder);
    if (record && record->id == name) {
      listed.record = std::move(*record);
    } else {
      listed.problem = record ? "its state names another sandbox" : describe(record.error());
    }
    listed.id = std::move(name);
    all.push_back(std::move(listed));
  }
  return all;
}

}  // namespace mayfly::supervise
