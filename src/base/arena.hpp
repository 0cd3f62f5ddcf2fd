// Arena: many small things that live and go together, side by side in few pages.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace mayfly {

// What it hands out stays where it is until the arena goes; moving the arena moves nothing.
class Arena {
 public:
  Arena() = default;
  Arena(Arena&& other) noexcept { *this = std::move(other); }
  Arena& operator=(Arena&& other) noexcept {
    chunks_ = std::move(other.chunks_);
    next_ = std::exchange(other.next_, nullptr);
    left_ = std::exchange(other.left_, 0);
    return *this;
  }

  // NUL-terminated.
  const char* copy(std::string_view text) {
    char* out = array<char>(text.size() + 1).data();
    *std::copy(text.begin(), text.end(), out) = '\0';
    return out;
  }

  template <class T>
  std::span<T> array(std::size_t count) {
    static_assert(std::is_trivially_destructible_v<T>);
    T* const first = static_cast<T*>(take(count * sizeof(T), alignof(T)));
    std::uninitialized_value_construct_n(first, count);
    return {first, count};
  }

 private:
  static constexpr std::size_t kChunk = 4000;

  void* take(std::size_t size, std::size_t alignment) {
    void* at = next_;
    if (next_ == nullptr || std::align(alignment, size, at, left_) == nullptr) {
      left_ = std::max(kChunk, size);
      at = chunks_.emplace_back(new std::byte[left_]).get();
    }
    left_ -= size;
    next_ = static_cast<std::byte*>(at) + size;
    return at;
  }

  std::vector<std::unique_ptr<std::byte[]>> chunks_;
  std::byte* next_ = nullptr;
  std::size_t left_ = 0;
};

}  // namespace mayfly
