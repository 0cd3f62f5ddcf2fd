#include "host/caller.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

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

TEST_CASE("id_outside: by the line that has it, else as it is") {
  CHECK(id_outside("         0          0 4294967295\n", 1000) == 1000);
  CHECK(id_outside("0 1000 1\n1 100000 65536\n", 0) == 1000);
  CHECK(id_outside("0 1000 1\n1 100000 65536\n", 65536) == 165535);
  CHECK(id_outside("0 1000 1\n1 100000 65536\n", 65537) == 65537);
  CHECK(id_outside("", 7) == 7);
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

TEST_CASE("xdg_runtime_dir: one that does not exist is as none") {
  const char* before = std::getenv("XDG_RUNTIME_DIR");
  const std::string kept = before != nullptr ? before : "";
  ::setenv("XDG_RUNTIME_DIR", "/no/such/directory", 1);
  CHECK(xdg_runtime_dir() == nullptr);
  ::setenv("XDG_RUNTIME_DIR", "/usr", 1);
  CHECK(std::string(xdg_runtime_dir()) == "/usr");
  ::setenv("XDG_RUNTIME_DIR", "/etc/passwd/below", 1);  // wrong, and told by its use
  CHECK(std::string(xdg_runtime_dir()) == "/etc/passwd/below");
  ::unsetenv("XDG_RUNTIME_DIR");
  CHECK(xdg_runtime_dir() == nullptr);
  if (before != nullptr) ::setenv("XDG_RUNTIME_DIR", kept.c_str(), 1);
}

TEST_CASE("cache_dir: root's is fixed, others follow XDG_CACHE_HOME if it is absolute, or HOME") {
  const HostFacts root{.uid = 0, .owns_all_ids = true, .home = "/root"};
  CHECK(cache_dir(root, "/home/evil") == "/var/cache/mayfly");
  const HostFacts user{.uid = 1000, .home = "/home/u", .env_home = "/elsewhere"};
  CHECK(cache_dir(user, "/big/cache") == "/big/cache/mayfly");
  CHECK(cache_dir(user, "relative") == "/home/u/.cache/mayfly");
  CHECK(cache_dir({.uid = 1000}, nullptr).empty());
}
