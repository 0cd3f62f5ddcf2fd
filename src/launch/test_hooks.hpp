// Test hooks: a step left out, or made to fail after it was done.
//
// They exist only in the program that tests/hooks builds with MAYFLY_TEST_HOOKS: there an attack is
// shown to succeed when its defence is left out, so that no test of it passes for a wrong reason,
// and every step is made to fail. In mayfly itself both questions are the constant `false`.
#pragma once

#include <cstdint>

#include "launch/protocol.hpp"

namespace mayfly::launch {

#ifdef MAYFLY_TEST_HOOKS

struct TestHooks {
  std::uint64_t left_out = 0;  // one bit for each Step
  Step failing = Step::None;

  [[nodiscard]] bool skips(Step step) const noexcept {
    return (left_out >> static_cast<unsigned>(step) & 1) != 0;
  }
  [[nodiscard]] bool fails(Step step) const noexcept { return step == failing; }

  // From MAYFLY_TEST_WITHOUT (numbers of steps, split by commas) and MAYFLY_TEST_FAULT (one).
  [[nodiscard]] static TestHooks from_environment();
};

#else

struct TestHooks {
  [[nodiscard]] static constexpr bool skips(Step) noexcept { return false; }
  [[nodiscard]] static constexpr bool fails(Step) noexcept { return false; }
  [[nodiscard]] static constexpr TestHooks from_environment() noexcept { return {}; }
};

#endif

}  // namespace mayfly::launch
