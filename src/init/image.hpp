// The init program, as it was built, inside the main program.
#pragma once

#include <cstddef>
#include <span>

namespace mayfly::init {

// A static ELF executable. It knows nothing of where it is stored: execute it from a sealed memfd.
// Static storage.
[[nodiscard]] std::span<const std::byte> init_image();

}  // namespace mayfly::init
