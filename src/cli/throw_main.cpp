// Where the C++ library keeps what is thrown: on the heap, and if that is full the program ends.
//
// libstdc++'s own version of these takes 72 KiB before main() begins, for the exception that says
// that memory is out: a hundredth of a start, for a thing that nobody here could answer better.
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <string_view>

namespace {

// Room in front of the object for __cxa_refcounted_exception, whose size and place the Itanium C++
// ABI fixes for 64-bit machines.
constexpr std::size_t kHeader = 128;
static_assert(sizeof(void*) == 8);

[[noreturn]] void end_without_memory() noexcept {
  constexpr std::string_view kWords =
      "mayfly: cannot go on: out of memory\n"
      "hint: raise the limit of address space (ulimit -v), or free memory\n";
  constexpr int kFailed = 125;
  static_cast<void>(!::write(STDERR_FILENO, kWords.data(), kWords.size()));
  ::_exit(kFailed);
}

}  // namespace

// The names and types are the ABI's.
extern "C" {

[[gnu::used]] void* __cxa_allocate_exception(std::size_t size) noexcept {
  auto* const memory = static_cast<std::byte*>(std::calloc(1, kHeader + size));
  if (memory == nullptr) end_without_memory();
  return memory + kHeader;
}

[[gnu::used]] void __cxa_free_exception(void* object) noexcept {
  std::free(static_cast<std::byte*>(object) - kHeader);
}

// For std::rethrow_exception, which nothing here uses.
[[gnu::used]] void* __cxa_allocate_dependent_exception() noexcept {
  end_without_memory();
}

[[gnu::used]] void __cxa_free_dependent_exception(void*) noexcept {}
}
