// The spawn request's memfd: built here, mapped and checked by init (protocol.hpp).
#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <span>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "plan/plan.hpp"

namespace mayfly::launch {

struct SpawnExtras {
  std::span<const sock_filter> filter;
  std::int64_t deadline_ns = 0;       // init's key; 0: none
  std::uint64_t ignored_signals = 0;  // bit n-1: init inherits signal n ignored
};

// A sealed memfd that asks for the plan's command. Errors: a request beyond kMostSpawnBytes.
[[nodiscard]] Result<Fd> make_spawn_request(const plan::Plan& plan, const SpawnExtras& extras);

}  // namespace mayfly::launch
