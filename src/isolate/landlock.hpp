// Landlock: nothing outside the new root, whatever descriptor leads there.
//
// Threat: a file that the caller opened read-only for the task's stdin can be opened again for
// writing through /proc/self/fd/0. Kernel: Landlock (5.13), enabled at boot. Order: after the last
// mount (Landlock refuses mounts) and after no_new_privs. One rule on the new root covers what is
// mounted below it later too. Does not stop: use of a descriptor as it was opened; rights that the
// kernel's Landlock does not know (the list grows with its ABI).
#pragma once

#include <cstdint>

#include "isolate/fault.hpp"

namespace mayfly::isolate::landlock {

struct Prepared {
  std::uint64_t rights = 0;  // 0: not enforced
};

[[nodiscard]] Prepared prepare(int abi);
[[nodiscard]] Fault enter(const Prepared& prepared) noexcept;

}  // namespace mayfly::isolate::landlock
