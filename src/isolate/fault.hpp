// Fault: what an `enter` function answers. Each isolate/ file offers the same functions:
// prepare (before the clone: opens, allocates), from_parent (where needed) and enter (in the child:
// noexcept, allocates nothing, raw system calls only).
#pragma once

#include <cerrno>
#include <cstdint>

namespace mayfly::isolate {

// error 0: done. index tells mounts and nodes apart where a step exists more than once.
struct [[nodiscard]] Fault {
  int error = 0;  // errno, positive
  std::uint32_t index = 0;
  unsigned in_way = 0;  // the type (S_IFMT) of what is at a node's place already, if that is why
  explicit operator bool() const noexcept { return error != 0; }
};

inline Fault fault_of(long kernel_answer, std::uint32_t index = 0) noexcept {
  return kernel_answer < 0 ? Fault{.error = static_cast<int>(-kernel_answer), .index = index}
                           : Fault{};
}

}  // namespace mayfly::isolate
