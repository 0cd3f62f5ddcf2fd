// A program that does nothing: it needs no call but exit, so it runs under any filter.
#include "sys/raw.hpp"

extern "C" [[noreturn]] void _start() noexcept {
  mayfly::sys::raw::exit_group(0);
}
