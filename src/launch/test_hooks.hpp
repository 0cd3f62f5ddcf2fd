// Test hooks: a step or a namespace left out, or a step made to fail after it was done.
//
// They exist only in the program that tests/hooks builds with MAYFLY_TEST_HOOKS: there an attack is
// shown to succeed when its defence is left out, so that no test of it passes for a wrong reason,
// and every step is made to fail. In mayfly itself all answers are constants.
#pragma once

#include <cstdint>

#include "launch/protocol.hpp"

namespace mayfly::launch {

#ifdef MAYFLY_TEST_HOOKS

struct TestHooks {
  std::uint64_t left_out = 0;  // one bit for each Step
  Step failing = Step::None;
  std::uint64_t shared = 0;  // CLONE_NEW… that are not asked for

  [[nodiscard]] bool skips(Step step) const noexcept {
    return (left_out >> static_cast<unsigned>(step) & 1) != 0;
  }
  [[nodiscard]] bool fails(Step step) const noexcept { return step == failing; }
  [[nodiscard]] std::uint64_t shared_namespaces() const noexcept { return shared; }

  // From MAYFLY_TEST_WITHOUT (numbers of steps, split by commas), MAYFLY_TEST_FAULT (one) and
  // MAYFLY_TEST_SHARED (flags of clone3).
  [[nodiscard]] static TestHooks from_environment();
};

#else

struct TestHooks {
  [[nodiscard]] static constexpr bool skips(Step) noexcept { return false; }
  [[nodiscard]] static constexpr bool fails(Step) noexcept { return false; }
  [[nodiscard]] static constexpr std::uint64_t shared_namespaces() noexcept { return 0; }
  [[nodiscard]] static constexpr TestHooks from_environment() noexcept { return {}; }
};

#endif

}  // namespace mayfly::launch
