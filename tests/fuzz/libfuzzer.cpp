// Built once for each fuzzer, whose function MAYFLY_FUZZER is.
#include <cstddef>
#include <cstdint>

#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  mayfly::fuzz::MAYFLY_FUZZER({reinterpret_cast<const char*>(data), size});
  return 0;
}
