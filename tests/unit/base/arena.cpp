#include "base/arena.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <utility>

using mayfly::Arena;

TEST_CASE("arena: copies end in NUL, stay in place, and survive a move") {
  Arena arena;
  std::vector<const char*> copies;
  for (int i = 0; i < 2000; ++i)
    copies.push_back(arena.copy("text " + std::to_string(i)));
  const Arena moved = std::move(arena);
  for (int i = 0; i < 2000; ++i)
    CHECK(std::string(copies[static_cast<std::size_t>(i)]) == "text " + std::to_string(i));
}

TEST_CASE("arena: arrays are aligned, empty of values, and may be larger than a chunk") {
  Arena arena;
  for (const std::size_t count : {0u, 1u, 3u, 700u, 100'000u, 5u}) {
    arena.copy("x");  // puts the next one out of step
    const auto numbers = arena.array<std::uint64_t>(count);
    REQUIRE(numbers.size() == count);
    CHECK(reinterpret_cast<std::uintptr_t>(numbers.data()) % alignof(std::uint64_t) == 0);
    for (std::uint64_t& number : numbers) {
      CHECK_EQ(number, 0);
      number = ~std::uint64_t{0};
    }
  }
}
