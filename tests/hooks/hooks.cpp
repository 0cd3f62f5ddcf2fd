#include <cstdlib>

#include "launch/test_hooks.hpp"

namespace mayfly::launch {

TestHooks TestHooks::from_environment() {
  TestHooks hooks;
  if (const char* text = std::getenv("MAYFLY_TEST_WITHOUT")) {
    for (char* rest = nullptr; *text != '\0'; text = *rest == ',' ? rest + 1 : rest) {
      hooks.left_out |= std::uint64_t{1} << std::strtoul(text, &rest, 10);
      if (rest == text) break;
    }
  }
  if (const char* text = std::getenv("MAYFLY_TEST_FAULT")) {
    hooks.failing = static_cast<Step>(std::strtoul(text, nullptr, 10));
  }
  if (const char* text = std::getenv("MAYFLY_TEST_SHARED")) {
    hooks.shared = std::strtoull(text, nullptr, 10);
  }
  return hooks;
}

}  // namespace mayfly::launch
