// What a test case says about the run itself: that it cannot run here, and as whom it runs.
#pragma once

#include <doctest/doctest.h>
#include <unistd.h>

#include <string>

namespace harness {

// Notes that the running case is skipped. Fails it where CI forbids skipping (MAYFLY_MUST_RUN=1).
void skip(const std::string& reason);

inline bool is_root() {
  return ::geteuid() == 0;
}

}  // namespace harness

// Leaves the test case with a reason that is printed; ctest then counts it as skipped.
#define SKIP_BECAUSE(reason) \
  do {                       \
    harness::skip(reason);   \
    return;                  \
  } while (false)
