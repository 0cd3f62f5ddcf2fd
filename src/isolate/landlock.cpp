#include "isolate/landlock.hpp"

#include "sys/kernel.hpp"

namespace mayfly::isolate::landlock {

Prepared prepare(int abi) {
  if (abi < 1) return {};
  std::uint64_t rights = sys::kLandlockFsRightsAbi1;
  if (abi >= 2) rights |= sys::kLandlockFsRefer;
  if (abi >= 3) rights |= sys::kLandlockFsTruncate;
  if (abi >= 5) rights |= sys::kLandlockFsIoctlDev;
  return {.rights = rights};
}

}  // namespace mayfly::isolate::landlock
