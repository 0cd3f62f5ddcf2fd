// A task that leaves its layer in the worst state: the end comes in time, and its numbers are
// right.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "harness/host.hpp"
#include "harness/sandbox.hpp"
#include "harness/suite.hpp"

using namespace harness;

namespace {

struct Hostile {
  std::string what;
  std::string script;
  std::uint64_t least_inodes;
};

constexpr std::uint64_t kMostBytes = 64u << 20;  // far below what the files claim to be

}  // namespace

TEST_CASE("deep, wide, sparse, linked and locked layers are measured and gone in time") {
  // The deepest has a longer path than any path may be.
  const int steps = std::max(repeats(20, 20), 5);
  const int files = repeats(100'000, 100'000);
  const Hostile layers[] = {
      {"10,000 directories, one in the other",
       // From the innermost out: the kernel's work for a path grows with its depth.
       "step=$(printf 'd/%.0s' $(seq 500)); i=0; while [ $i -lt " + std::to_string(steps) +
           " ]; do mkdir -p new/$step; if [ -d chain ]; then mv chain new/$step; fi; "
           "mv new chain; i=$((i+1)); done",
       500ULL * static_cast<unsigned>(steps)},
      {"100,000 files", "mkdir w; cd w; seq " + std::to_string(files) + " | xargs touch",
       static_cast<std::uint64_t>(files)},
      {"names with newlines, quotes and no UTF-8",
       "mkdir \"$(printf 'a\\nb')\" \"$(printf '\\377\\376')\" -- '-rf' '\"'; "
       "touch \"$(printf 'a\\nb/c\\td')\"",
       5},
      {"a sparse file of 1 TiB and 1000 links to it",
       "truncate -s 1T huge; python3 -c 'import os; [os.link(\"huge\", f\"l{i}\") for i in "
       "range(1000)]'",
       1},
      {"directories without a right",
       "mkdir -p a/b/c; touch a/b/c/d; chmod 000 a/b/c/d a/b/c a/b a", 4},
      {"FIFOs, and links in circles or to nowhere",
       "mkfifo pipe; ln -s b a; ln -s a b; ln -s /proc/self/fd/0 out", 4},
  };
  for (const Hostile& layer : layers) {
    CAPTURE(layer.what);
    // Then the layer is on disk, and so deep a tree is too much for it.
    const bool is_limit = kernel_is_older_than(6, 6) && &layer == layers;
    const Ended ended = sh(layer.script, {"--layer-inodes", "300000"});
    CAPTURE(ended.err);
    CHECK(ended.code == (is_limit ? 124 : 0));
    CHECK(ended.reason() == (is_limit ? "layer_limit" : "exited"));
    CHECK(ended.exited_after < paced(60'000));
    REQUIRE(ended.result.is_object());
    CHECK(ended.result["clean"] == true);
    CHECK(ended.result["proof"]["layer_closed"] == true);
    const nlohmann::json& usage = ended.result["usage"];
    CHECK(usage["layer_inodes"].get<std::uint64_t>() >= (is_limit ? 1 : layer.least_inodes));
    CHECK(usage["layer_bytes"].get<std::uint64_t>() < kMostBytes);
  }
}

TEST_CASE("a layer that is full to the last byte and inode is measured and gone in time") {
  const Ended ended =
      sh("head -c 100M /dev/zero > /tmp/full 2>/dev/null; i=0; "
         "while true > /tmp/$i; do i=$((i+1)); done 2>/dev/null; true",
         {"--layer-size", "2M", "--layer-inodes", "500"});
  CAPTURE(ended.err);
  CHECK(ended.exited_after < paced(60'000));
  CHECK(ended.result.at("clean") == true);
  if (kernel_is_older_than(6, 6)) {  // then it is on disk
    CHECK(ended.reason() == "layer_limit");
    return;
  }
  CHECK(ended.code == 0);
  const nlohmann::json& usage = ended.result.at("usage");
  CHECK(usage.at("layer_inodes") == 500);
  CHECK(usage.at("layer_bytes") == 2u << 20);
}
