#include "spec/limits.hpp"

#include <doctest/doctest.h>

#include "spec/limit_arguments.hpp"
#include "spec/spec.hpp"

using namespace mayfly;
using namespace mayfly::spec;

TEST_CASE("limits: processors as people write them") {
  CHECK(*parse_cpus("2") == 2000);
  CHECK(*parse_cpus("0.5") == 500);
  CHECK(*parse_cpus("1.25") == 1250);
  CHECK(*parse_cpus("0.001") == 1);
  for (const char* bad : {"", ".5", "1.", "1.2345", "-1", "1e3", "two", "1,5", "99999999999"}) {
    CAPTURE(bad);
    const auto parsed = parse_cpus(bad);
    REQUIRE_FALSE(parsed);
    CHECK(parsed.error().hint.find("like 2 or 0.5") != std::string::npos);
  }
}

TEST_CASE("limits: what is not quite a number of processors is told how it is written") {
  CHECK(parse_cpus(".5").error().action.ends_with("before the point: write 0.5"));
  CHECK(parse_cpus("1000000"));
  CHECK(parse_cpus("1000000.001").error().action.ends_with("it is more than 1000000"));
}

TEST_CASE("limits: rates of a disk, with and without a path") {
  CHECK(*parse_io("/data", "rbps=1M,wiops=5") ==
        IoLimit{.path = "/data", .read_bytes = 1u << 20, .write_ops = 5});
  CHECK(*parse_io("/data", "a:b:wbps=1,riops=2") ==
        IoLimit{.path = "/data/a:b", .write_bytes = 1, .read_ops = 2});
  for (const char* bad : {"", "/x", "/x:", "rbps", "rbps=", "rbps=0", "rbps=1,rbps=2", "x=1"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_io("/data", bad));
  }
}

TEST_CASE("limits: resources take one value or two, and bytes take units") {
  CHECK(*parse_rlimit("nofile=5") == ResourceLimit{"nofile", 5, 5});
  CHECK(*parse_rlimit("as=1M:2G") == ResourceLimit{"as", 1u << 20, 2ull << 30});
  CHECK(*parse_rlimit("stack=1K:unlimited") == ResourceLimit{"stack", 1024, std::nullopt});
  for (const char* bad : {"nofile", "nofile=", "nofile=1M", "core=1", "nproc=1", "x=1", "as=1:"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_rlimit(bad));
  }
}

TEST_CASE("limits: under a memory limit the parts in memory share half of it") {
  Spec spec;
  CHECK(layer_bytes(spec) == kStockLayerBytes);
  CHECK(tmpfs_bytes(spec) == kStockLayerBytes);
  spec.limits.memory = 64u << 20;
  CHECK(layer_bytes(spec) == 32u << 20);
  spec.fs.push_back({.kind = FsKind::Tmpfs, .target = "/x"});
  CHECK(layer_bytes(spec) == 16u << 20);
  CHECK(tmpfs_bytes(spec) == 16u << 20);
  spec.limits.layer_bytes = 1u << 20;
  CHECK(layer_bytes(spec) == 1u << 20);
  CHECK(tmpfs_bytes(spec) == 32u << 20);
  CHECK(check_limits(spec));
  spec.limits.layer_bytes = 32u << 20;
  CHECK_FALSE(check_limits(spec));
  spec.limits.memory = 4ull << 30;
  CHECK(check_limits(spec));
  spec.limits.layer_bytes.reset();
  spec.limits.layer = LayerKind::Disk;  // no memory: it needs no share
  spec.limits.memory = 64u << 20;
  CHECK(layer_bytes(spec) == kStockLayerBytes);
  CHECK(tmpfs_bytes(spec) == 32u << 20);
  CHECK(check_limits(spec));
  spec.limits.layer = LayerKind::Auto;
  spec.limits.memory = 4ull << 30;
  CHECK(layer_bytes(spec) == kStockLayerBytes);
}
