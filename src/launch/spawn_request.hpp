// The spawn request's memfd: built here, mapped and checked by init (protocol.hpp).
#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <span>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "plan/plan.hpp"

namespace mayfly::launch {

// A sealed memfd that asks for the plan's command. Errors: a request beyond kMostSpawnBytes.
[[nodiscard]] Result<Fd> make_spawn_request(const plan::Plan& plan,
                                            std::span<const sock_filter> filter,
                                            std::int64_t deadline_ns);

}  // namespace mayfly::launch
