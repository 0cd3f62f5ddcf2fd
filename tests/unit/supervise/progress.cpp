#include "supervise/progress.hpp"

#include <doctest/doctest.h>

using namespace mayfly;
using supervise::Meter;
using supervise::progress_line;

TEST_CASE("progress: a line of what is known, never wider than the screen") {
  const Meter::Reading used{.cpu_ns = 43'200'000'000, .memory_bytes = std::uint64_t{120} << 20};
  CHECK(progress_line({.elapsed_ns = 65'000'000'000, .used = used}, 80) ==
        "mayfly: 1m05s  cpu 43.2s  memory 120M");
  CHECK(progress_line({.elapsed_ns = 1'000'000'000}, 80) == "mayfly: 1.0s");
  CHECK(progress_line({.elapsed_ns = 0, .used = {}, .denials = 3}, 80) ==
        "mayfly: 0.0s  denials 3");
  const Meter::Reading no_memory{.cpu_ns = 0, .memory_bytes = std::nullopt};
  CHECK(progress_line({.elapsed_ns = 1'000'000'000, .used = no_memory}, 80) ==
        "mayfly: 1.0s  cpu 0.0s");
  CHECK(progress_line({.elapsed_ns = 65'000'000'000, .used = used}, 20).size() == 19);
  CHECK(progress_line({.elapsed_ns = 65'000'000'000, .used = used}, 0).empty());
}
