#include "plan/base_view.hpp"

#include <algorithm>
#include <iterator>
#include <string>

namespace mayfly::plan {
namespace {

constexpr const char* kDevices[] = {"null", "zero", "full", "random", "urandom", "tty"};

// /proc entries that tell about the host or change it.
constexpr const char* kMasked[] = {"keys",          "key-users",  "kallsyms", "sched_debug", "acpi",
                                   "latency_stats", "interrupts", "scsi",     "asound",      "fs",
                                   "pressure"};
// These obey the host's root alone: where nobody inside has its id, they refuse by themselves.
constexpr const char* kMaskedForRoot[] = {
    "kcore",       "kmsg",         "timer_list", "sysrq-trigger", "slabinfo",
    "vmallocinfo", "pagetypeinfo", "kpagecount", "kpageflags",    "kpagecgroup"};
// Some files here belong to the sandbox's own root.
constexpr const char* kReadOnly[] = {"sys"};
constexpr const char* kReadOnlyForRoot[] = {"irq", "bus"};

}  // namespace

void add_base(Skeleton& root, const Ids& ids) {
  root.dir("dev");
  for (const char* device : kDevices)
    root.file(std::string("dev/") + device, 0666);
  root.dir("dev/pts");
  root.dir("dev/shm", 01777);
  root.link("dev/ptmx", "pts/ptmx");
  root.link("dev/fd", "/proc/self/fd");
  root.link("dev/stdin", "/proc/self/fd/0");
  root.link("dev/stdout", "/proc/self/fd/1");
  root.link("dev/stderr", "/proc/self/fd/2");
  root.dir("proc", 0555);
  root.dir("tmp", 01777);
  root.dir("run");
  root.file("run/.mayfly", 0444);  // the marker by which a program knows where it is
  root.dir("var/tmp", 01777);
  root.dir(ids.home.substr(1), 0700, true);
  root.dir("home");
  root.dir("root", 0700);
}

MountStep proc_step() {
  return {.kind = MountKind::Proc, .target = "proc", .own_target = true};
}

void add_devices(Plan& plan) {
  for (const char* device : kDevices) {
    plan.mounts.push_back({.kind = MountKind::Bind,
                           .target = std::string("dev/") + device,
                           .source = std::string("/dev/") + device,
                           .access = Access::ReadOnly,
                           .devices = true,
                           .own_target = true});
  }
  plan.mounts.push_back({.kind = MountKind::Devpts, .target = "dev/pts", .own_target = true});
}

bool maps_host_root(const Ids& ids) {
  const auto is_root = [](const IdRange& range) { return range.outside == 0; };
  return std::any_of(ids.uids.begin(), ids.uids.end(), is_root) ||
         std::any_of(ids.gids.begin(), ids.gids.end(), is_root);
}

void add_proc_seals(Plan& plan) {
  plan.seals.reserve(std::size(kMasked) + std::size(kReadOnly));
  const auto seal = [&](MountKind kind, const char* name) {
    plan.seals.push_back({.kind = kind,
                          .target = std::string("proc/") + name,
                          .own_target = true,
                          .optional = true});
  };
  for (const char* name : kMasked)
    seal(MountKind::Mask, name);
  for (const char* name : kReadOnly)
    seal(MountKind::ReadOnly, name);
  if (!maps_host_root(plan.ids)) return;
  for (const char* name : kMaskedForRoot)
    seal(MountKind::Mask, name);
  for (const char* name : kReadOnlyForRoot)
    seal(MountKind::ReadOnly, name);
}

}  // namespace mayfly::plan
