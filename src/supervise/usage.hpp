// What a sandbox used, read once everything in it is dead.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "supervise/layer_meter.hpp"
#include "supervise/outcome.hpp"
#include "supervise/watch.hpp"

namespace mayfly::supervise {

struct UsageRequest {
  const End* end = nullptr;
  std::int64_t spawned_ns = 0;   // CLOCK_BOOTTIME
  const Fd* cgroup = nullptr;    // may be empty
  const Fd* layer = nullptr;     // may be empty
  LayerMeter* meter = nullptr;   // of a layer on disk
  const Relay* relay = nullptr;  // may be null
  std::string no_cgroup_why;
  bool is_reported = true;  // false: only the time, which costs no system call
};

// Where there was nothing to measure, and why.
[[nodiscard]] Usage unmeasured_usage(const std::string& why);

[[nodiscard]] Usage measure_usage(const UsageRequest& request);

// Which of its limits the sandbox was seen to reach.
[[nodiscard]] std::vector<std::string> limits_hit(const plan::Plan& plan, const End& end,
                                                  const Usage& usage);

}  // namespace mayfly::supervise
