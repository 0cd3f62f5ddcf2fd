// Limits: what of the machine a sandbox may use, as plain data. What is not set is not limited,
// unless a default is named.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace mayfly::spec {

enum class LayerKind { Auto, Memory, Disk };

// What becomes of a limit that this host cannot hold the sandbox to.
enum class Strictness {
  Strict,      // the task is not started
  BestEffort,  // it is, and the result lists what is held, nearly held and not held
};

// Rates of one block device, per second.
struct IoLimit {
  std::string path;  // a device node, or any file of a file system that lies on one
  std::optional<std::uint64_t> read_bytes, write_bytes, read_ops, write_ops;
  bool operator==(const IoLimit&) const = default;
};

// One limit of setrlimit(2), for each process of the task. nullopt: unlimited.
struct ResourceLimit {
  std::string name;  // "nofile"
  std::optional<std::uint64_t> soft, hard;
  bool operator==(const ResourceLimit&) const = default;
};

// A resource that --rlimit may name.
struct Resource {
  std::string_view name;
  int number;  // RLIMIT_…
};
[[nodiscard]] std::span<const Resource> resources();
[[nodiscard]] Result<Resource> resource_named(std::string_view name);
// "nofile" for RLIMIT_NOFILE, and so for those that have options of their own; of any other the
// number.
[[nodiscard]] std::string resource_name(int number);

struct Limits {
  std::optional<std::uint64_t> memory;  // bytes, of everything: processes, layer, kernel
  std::uint64_t swap = 0;               // bytes beside them; only with memory
  std::optional<std::uint64_t> pids;    // none given: kStockPids
  std::optional<std::uint64_t> cpu_thousandths;
  std::vector<IoLimit> io;
  std::vector<ResourceLimit> resources;      // of one that is named twice the last counts
  std::optional<std::uint64_t> layer_bytes;  // none given: see layer_bytes()
  std::uint64_t layer_inodes = 100'000;
  LayerKind layer = LayerKind::Auto;
  std::string cgroup_parent;  // absolute; empty: found
  Strictness strictness = Strictness::Strict;
  bool operator==(const Limits&) const = default;
};

inline constexpr std::uint64_t kLeastPids = 2;        // init and the command
inline constexpr std::uint64_t kMostPids = 4u << 20;  // PID_MAX_LIMIT
inline constexpr std::uint64_t kLeastLayerInodes = 64;
// Nobody has more; to tmpfs, which takes each for a KiB of a 64-bit size, 2^54 are too many.
inline constexpr std::uint64_t kMostLayerInodes = 1'000'000'000'000'000;
inline constexpr std::uint64_t kMostCpuThousandths = 1'000'000'000;
inline constexpr std::uint64_t kStockPids = 512;
inline constexpr std::uint64_t kStockLayerBytes = 512ull << 20;

[[nodiscard]] std::uint64_t pids_of(const Limits& limits);

struct Spec;

// How much the layer, and a tmpfs that names no size of its own, can hold. Unless it was asked for:
// kStockLayerBytes; under a memory limit all such parts share half of it, so that a full layer is
// ENOSPC and not an OOM kill.
[[nodiscard]] std::uint64_t layer_bytes(const Spec& spec);
[[nodiscard]] std::uint64_t tmpfs_bytes(const Spec& spec);

// Contradictions among the limits themselves, and between them and the tmpfs mounts.
[[nodiscard]] Result<void> check_limits(const Spec& spec);

}  // namespace mayfly::spec
