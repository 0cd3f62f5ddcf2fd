// The end of a run: what is measured, proved, told and let go, in the order of DESIGN 5.
#include <unistd.h>

#include <utility>

#include "isolate/cgroup.hpp"
#include "isolate/disk_layer.hpp"
#include "supervise/run.hpp"
#include "supervise/usage.hpp"
#include "supervise/words.hpp"
#include "sys/entries.hpp"
#include "sys/event.hpp"

namespace mayfly::supervise {

// DESIGN 5, steps 4 and 5: usage first, since the layer's is read through its descriptor; then the
// descriptors that pin the layer and the net namespace.
void Run::conclude(End& end) {
  outcome_.reason = end.reason;
  outcome_.code = exit_code(end.reason, end.detail);
  outcome_.signal = end.signal;
  outcome_.cancelled_by = end.cancelled_by;
  outcome_.started = end.started;
  outcome_.clean = end.clean;
  outcome_.lost_output = end.lost_output;
  outcome_.unclean_why = std::move(end.unclean_why);
  outcome_.error = std::move(end.error);
  if (end.failure) {
    outcome_.error = end.reason == Reason::ExecFailed ? exec_error(plan_, *end.failure)
                                                      : launch::step_error(plan_, *end.failure);
  }
  outcome_.screen_in_line = stdio_.relay.is_in_line();
  outcome_.screen_stuck = stdio_.relay.is_screen_stuck();
  if (broken_) outcome_.error = std::move(broken_);
  if (denials_) outcome_.denials = denials_->all();
  outcome_.usage =
      measure_usage({.end = &end,
                     .spawned_ns = spawned_ns_,
                     .cgroup = &sandbox_.cgroup,
                     .layer = &sandbox_.layer,
                     .meter = layer_meter_ ? &*layer_meter_ : nullptr,
                     .relay = &stdio_.relay,
                     .no_cgroup_why = plan_.cgroup_reason,
                     .is_reported = spec_.status_fd >= 0 || !spec_.result_file.empty()});
  outcome_.limits_hit = limits_hit(plan_, end, outcome_.usage);
  sandbox_.socket.reset();
  outcome_.proof.init_reaped = end.init.has_value();
  outcome_.proof.populated = std::move(end.populated);
  outcome_.proof.layer_closed =
      static_cast<bool>(sys::close(std::move(sandbox_.layer), "the layer")) && remove_disk_layer();
}

// False: it is left to gc, which its entry tells of it.
bool Run::remove_disk_layer() {
  if (!sandbox_.disk_layer.directory) return true;
  constexpr std::int64_t kPatience = 10'000'000'000;
  const Result<void> removed =
      isolate::disk_layer::remove(sandbox_.disk_layer, sys::boottime_ns() + kPatience);
  if (removed) return true;
  if (!outcome_.clean) outcome_.unclean_why += "; ";
  outcome_.clean = false;
  outcome_.unclean_why += describe(removed.error());
  return false;
}

// After the result. An entry stays for gc where the cgroup could not be removed, and is made where
// there was none yet.
void Run::let_go() {
  sandbox_.init_pidfd.reset();
  sandbox_.cgroup.reset();
  const bool removed =
      (sandbox_.cgroup_path.empty() || isolate::cgroup::remove(sandbox_.cgroup_path)) &&
      (!layer_meter_ || outcome_.proof.layer_closed);
  ground_.release();
  if (removed) {
    if (entry_) entry_.remove(*directory_);
  } else if (!entry_) {
    static_cast<void>(Entry::claim(*directory_, record(), facts_.cgroup.mount));
  }
}

Record Run::record() const {
  Record record{.id = outcome_.id,
                .name = outcome_.name,
                .pid = ::getpid(),
                .boot_id = boot_id(),
                .started_ns = sys::boottime_ns(),
                .cgroup = sandbox_.cgroup_path,
                .cgroup_inode = 0,
                .layer = sandbox_.disk_layer.path,
                .layer_inode = 0,
                .labels = outcome_.labels};
  if (const Fd& layer = sandbox_.disk_layer.directory) {
    if (const Result<sys::Identity> found = sys::fstat(layer, record.layer)) {
      record.layer_inode = found->inode;
    }
  } else if (plan_.layer == spec::LayerKind::Disk && record.layer.empty()) {
    record.layer = plan_.layer_parent + "/" + outcome_.id;
  }
  if (sandbox_.cgroup) {
    if (const Result<sys::Identity> cgroup = sys::fstat(sandbox_.cgroup, sandbox_.cgroup_path)) {
      record.cgroup_inode = cgroup->inode;
    }
  } else if (!plan_.cgroup_parent.empty()) {
    record.cgroup = plan_.cgroup_parent + "/mayfly-" + outcome_.id;
  }
  return record;
}

void Run::note_unlisted(const Error& error) {
  outcome_.notes.push_back({.what = "registry entry",
                            .enforcement = plan::Enforcement::NotEnforced,
                            .how = describe(error)});
}

}  // namespace mayfly::supervise
