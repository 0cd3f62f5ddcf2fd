#include "isolate/layer.hpp"

#include <charconv>

namespace mayfly::isolate::layer {

Prepared prepare(std::uint64_t bytes, std::uint64_t inodes) {
  Prepared prepared;
  const auto write = [](std::array<char, 24>& text, std::uint64_t number) {
    *std::to_chars(text.data(), text.data() + text.size() - 1, number).ptr = '\0';
  };
  write(prepared.size, bytes);
  write(prepared.inodes, inodes);
  return prepared;
}

}  // namespace mayfly::isolate::layer
