#include "supervise/progress.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>

#include "sys/event.hpp"

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

TEST_CASE("progress: what is drawn leaves the cursor where other output begins") {
  using supervise::drawn;
  using supervise::erased;
  using enum supervise::ProgressStyle;
  CHECK(drawn("line", Own, 80) == "line\x1b[K\r");
  CHECK(erased("line", Own, 80) == "\x1b[K");
  CHECK(drawn("line", Beside, 10) == "\x1b\x37\r\x1b[5Cline\x1b[K\x1b\x38");
  CHECK(erased("line", Beside, 10) == "\x1b\x37\r\x1b[5C\x1b[K\x1b\x38");
  CHECK(drawn("line", Beside, 5) == "\x1b\x37\rline\x1b[K\x1b\x38");
  CHECK(drawn("line", Plain, 10) == "\rline     \r");
  CHECK(erased("line", Plain, 10) == "\r    \r");
  const sys::Pipe pipe = sys::pipe().value();
  const int output = pipe.write_end.get();
  CHECK(supervise::progress_style("xterm", output) == Beside);
  CHECK(supervise::progress_style("dumb", output) == Plain);
  CHECK(supervise::progress_style("", output) == Plain);
  const Fd null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  CHECK(supervise::progress_style("xterm", null.get()) == Own);
}
