// The spawn request (launch/protocol.hpp) as init accepts it: every offset, count and string was
// held against the size of the mapping, so that nothing after this check can read outside it.
//
// The supervisor is trusted, its memory is not: a bug there must not become one in pid 1.
// Compiled into init and, for the same code under sanitizers, into its tests.
#pragma once

#include <cstdint>

#include "launch/protocol.hpp"

namespace mayfly::init {

// A request in memory: sealed, so that what was checked cannot change.
struct Request {
  const char* bytes = nullptr;  // 8-byte aligned
  std::uint64_t size = 0;

  [[nodiscard]] const launch::SpawnHeader& header() const noexcept {
    return *reinterpret_cast<const launch::SpawnHeader*>(bytes);
  }
  [[nodiscard]] const char* string(std::uint32_t offset) const noexcept { return bytes + offset; }
  template <class T>
  [[nodiscard]] const T* table(std::uint32_t offset) const noexcept {
    return reinterpret_cast<const T*>(bytes + offset);
  }
};

// The name of the field that is wrong, or nullptr. Takes time linear in the size, whatever the
// request says.
[[nodiscard]] const char* wrong_field(const Request& request) noexcept;

}  // namespace mayfly::init
