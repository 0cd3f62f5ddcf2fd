#include "host/caller.hpp"

#include <doctest/doctest.h>

using namespace mayfly::host;

TEST_CASE("map_covers: one line must hold the whole range") {
  CHECK(map_covers("         0          0 4294967295\n", 0x80000, 0x6FFFFFFF));
  CHECK(map_covers("0 100000 65536\n65536 200000 4294901759\n", 0x80000, 0x6FFFFFFF));
  // rootless containers
  CHECK_FALSE(map_covers("0 1000 1\n1 100000 65536\n", 0x80000, 0x6FFFFFFF));
  CHECK_FALSE(map_covers("0 0 1000000\n", 0x80000, 0x6FFFFFFF));
  // off by one at either end
  CHECK(map_covers("5 0 3\n", 5, 7));
  CHECK_FALSE(map_covers("5 0 3\n", 4, 7));
  CHECK_FALSE(map_covers("5 0 3\n", 5, 8));
  CHECK_FALSE(map_covers("", 0, 0));
  CHECK_FALSE(map_covers("rubbish here too\n", 1, 2));
}

TEST_CASE("runtime_dir: root's is fixed, others follow XDG_RUNTIME_DIR if it is absolute") {
  const HostFacts root{.uid = 0, .owns_all_ids = true};
  CHECK(runtime_dir(root, nullptr) == "/run/mayfly");
  CHECK(runtime_dir(root, "/home/evil") == "/run/mayfly");
  const HostFacts user{.uid = 1000};
  CHECK(runtime_dir(user, "/run/user/1000") == "/run/user/1000/mayfly");
  CHECK(runtime_dir(user, "/run/user/1000/") == "/run/user/1000/mayfly");
  CHECK(runtime_dir(user, nullptr) == "/tmp/mayfly-1000");
  CHECK(runtime_dir(user, "") == "/tmp/mayfly-1000");
  CHECK(runtime_dir(user, "relative/dir") == "/tmp/mayfly-1000");
}

TEST_CASE("cache_dir: root's is fixed, others follow XDG_CACHE_HOME if it is absolute, or HOME") {
  const HostFacts root{.uid = 0, .owns_all_ids = true, .home = "/root"};
  CHECK(cache_dir(root, "/home/evil") == "/var/cache/mayfly");
  const HostFacts user{.uid = 1000, .home = "/home/u", .env_home = "/elsewhere"};
  CHECK(cache_dir(user, "/big/cache") == "/big/cache/mayfly");
  CHECK(cache_dir(user, "relative") == "/home/u/.cache/mayfly");
  CHECK(cache_dir({.uid = 1000}, nullptr).empty());
}
