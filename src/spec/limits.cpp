#include "spec/limits.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <string>

#include "base/text.hpp"
#include "spec/limit_arguments.hpp"
#include "spec/spec.hpp"
#include "spec/units.hpp"

namespace mayfly::spec {
namespace {

constexpr std::uint64_t kLeastLayerBytes = 64u << 10;
constexpr std::uint64_t kLeastMemory = 4u << 20;    // less does not build a sandbox
constexpr std::uint64_t kLeastCpuThousandths = 10;  // a quota of 1 ms, the kernel's least

// Not here: what gives rights instead of taking them (nice, rtprio) or has no effect (rss, locks).
constexpr std::array kResources = {
    Resource{"as", RLIMIT_AS},
    Resource{"cpu", RLIMIT_CPU},
    Resource{"data", RLIMIT_DATA},
    Resource{"fsize", RLIMIT_FSIZE},
    Resource{"memlock", RLIMIT_MEMLOCK},
    Resource{"msgqueue", RLIMIT_MSGQUEUE},
    Resource{"nofile", RLIMIT_NOFILE},
    Resource{"rttime", RLIMIT_RTTIME},
    Resource{"sigpending", RLIMIT_SIGPENDING},
    Resource{"stack", RLIMIT_STACK},
};
// What no --rlimit names: --pids does, and nothing may.
constexpr Resource kProcesses{"nproc", RLIMIT_NPROC};
constexpr Resource kCore{"core", RLIMIT_CORE};

constexpr std::string_view kNotItsDeath =
    ", so that a full one is an error (ENOSPC) to the command and not its death";

Error refused(std::string_view what, std::uint64_t value, std::string why, std::string hint) {
  return usage_error(
      "use " + std::to_string(value) + " as " + std::string(what) + ": " + std::move(why),
      std::move(hint));
}

// What is on a tmpfs of its own, and without a size of its own.
std::uint64_t unsized_parts(const Spec& spec) {
  const auto unsized = [](const FsEntry& entry) {
    return entry.kind == FsKind::Tmpfs && entry.size == 0;
  };
  return static_cast<std::uint64_t>(std::count_if(spec.fs.begin(), spec.fs.end(), unsized)) +
         (spec.limits.layer_bytes || spec.limits.layer == LayerKind::Disk ? 0 : 1);
}

std::uint64_t default_part(const Spec& spec) {
  if (!spec.limits.memory) return kStockLayerBytes;
  const std::uint64_t parts = std::max<std::uint64_t>(1, unsized_parts(spec));
  return std::max(kLeastLayerBytes,
                  std::min(kStockLayerBytes, *spec.limits.memory / 2 / parts / 4096 * 4096));
}

Result<void> check_resource(const ResourceLimit& limit) {
  TRY(resource_named(limit.name));
  const bool below = !limit.hard || (limit.soft && *limit.soft <= *limit.hard);
  if (below) return {};
  return usage_error("limit " + limit.name + ": its soft limit is above its hard limit",
                     "write --rlimit " + limit.name + "=SOFT:HARD, or one number for both");
}

Result<void> check_memory(const Spec& spec) {
  const Limits& limits = spec.limits;
  if (!limits.memory) {
    if (limits.swap == 0) return {};
    return usage_error("limit swap without a limit of memory",
                       "add --memory SIZE: --swap is what may be used beside it");
  }
  if (*limits.memory < kLeastMemory) {
    return refused("a memory limit", *limits.memory, "the least is 4M",
                   "without a unit it is bytes: write 64M for 64 MiB");
  }
  const std::uint64_t layer = limits.layer == LayerKind::Disk ? 0 : layer_bytes(spec);
  std::uint64_t mounts = 0;
  for (const FsEntry& entry : spec.fs) {
    if (entry.kind != FsKind::Tmpfs) continue;
    mounts += std::min(entry.size != 0 ? entry.size : tmpfs_bytes(spec), *limits.memory);
  }
  if (layer + mounts < *limits.memory) return {};
  Error error = usage_error(
      "limit memory to " + format_size(*limits.memory) +
          ": the layer and the tmpfs mounts, which are memory, could hold " +
          format_size(layer + mounts),
      "raise --memory, or lower --layer-size or the sizes of --tmpfs" + std::string(kNotItsDeath));
  const std::uint64_t room = *limits.memory - std::min(mounts, *limits.memory);
  if (layer > 0 && limits.layer_bytes && room / 2 >= kLeastLayerBytes) {
    error.about = Subject{.key = "layer-size", .other = "memory"};
    error.hint = "raise --memory, or lower the layer, as by --layer-size " +
                 format_size(room / 2 / 4096 * 4096) + std::string(kNotItsDeath);
  }
  return error;
}

}  // namespace

std::span<const Resource> resources() {
  return kResources;
}

Result<Resource> resource_named(std::string_view name) {
  for (const Resource& resource : kResources) {
    if (resource.name == name) return resource;
  }
  if (name == kProcesses.name) {
    return usage_error("set the limit nproc", "--pids N limits processes and threads");
  }
  if (name == kCore.name) {
    return usage_error("set the limit core: no dump may leave the sandbox",
                       "it stays 1, soft and hard");
  }
  std::string names;
  for (const Resource& resource : kResources)
    names += (names.empty() ? "" : ", ") + std::string(resource.name);
  return usage_error("set the limit " + shown(name) + ": there is none of that name",
                     "one of " + names);
}

std::string resource_name(int number) {
  for (const Resource& resource : {kProcesses, kCore}) {
    if (resource.number == number) return std::string(resource.name);
  }
  for (const Resource& resource : kResources) {
    if (resource.number == number) return std::string(resource.name);
  }
  return std::to_string(number);
}

std::uint64_t pids_of(const Limits& limits) {
  return limits.pids.value_or(kStockPids);
}

std::uint64_t layer_bytes(const Spec& spec) {
  if (spec.limits.layer_bytes) return *spec.limits.layer_bytes;
  return spec.limits.layer == LayerKind::Disk ? kStockLayerBytes : default_part(spec);
}

std::uint64_t tmpfs_bytes(const Spec& spec) {
  return spec.limits.memory ? default_part(spec) : layer_bytes(spec);
}

Result<void> check_limits(const Spec& spec) {
  const Limits& limits = spec.limits;
  if (limits.pids && (*limits.pids < kLeastPids || *limits.pids > kMostPids)) {
    return refused("a limit of processes", *limits.pids,
                   "it is not from 2 to " + std::to_string(kMostPids),
                   "the sandbox's init is one, the command the second; the default is 512; a build "
                   "with many processes takes some thousands");
  }
  // To tmpfs 0 means no limit, so that a size too small is not only useless but dangerous.
  if (layer_bytes(spec) < kLeastLayerBytes) {
    return refused("a layer size", layer_bytes(spec), "the least is 64K",
                   "without a unit it is bytes: write 64M for 64 MiB; the default is 512M");
  }
  if (limits.layer_inodes < kLeastLayerInodes || limits.layer_inodes > kMostLayerInodes) {
    return refused("a limit of inodes", limits.layer_inodes,
                   limits.layer_inodes < kLeastLayerInodes
                       ? "the least is " + std::to_string(kLeastLayerInodes)
                       : "the most is " + std::to_string(kMostLayerInodes),
                   "each file, directory and link takes one; the default is 100000");
  }
  if (limits.cpu_thousandths && (*limits.cpu_thousandths < kLeastCpuThousandths ||
                                 *limits.cpu_thousandths > kMostCpuThousandths)) {
    return usage_error("limit the processors to " + format_cpus(*limits.cpu_thousandths) +
                           (*limits.cpu_thousandths < kLeastCpuThousandths
                                ? ": the least is 0.01"
                                : ": the most is " + format_cpus(kMostCpuThousandths)),
                       "write --cpus 1 for one, --cpus 0.5 for half of one");
  }
  for (const ResourceLimit& limit : limits.resources)
    TRY(check_resource(limit));
  return check_memory(spec);
}

}  // namespace mayfly::spec
