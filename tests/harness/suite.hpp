// What a test case says about the run itself: that it cannot run here, and as whom it runs.
#pragma once

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "harness/process.hpp"

namespace harness {

// Notes that the running case is skipped. Fails it where CI forbids skipping (MAYFLY_MUST_RUN=1).
void skip(const std::string& reason);

inline bool is_root() {
  return ::geteuid() == 0;
}

// How often a test repeats what it does: fewer times on a slow machine, and with MAYFLY_TEST_FULL=1
// all that was promised, which may take minutes.
inline int repeats(int usual, int full) {
  const char* value = std::getenv("MAYFLY_TEST_FULL");
  return value != nullptr && std::string_view(value) == "1" ? full : usual / slowness();
}

}  // namespace harness

// Leaves the test case with a reason that is printed; ctest then counts it as skipped.
#define SKIP_BECAUSE(reason) \
  do {                       \
    harness::skip(reason);   \
    return;                  \
  } while (false)
