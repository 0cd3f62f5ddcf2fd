#include "isolate/net.hpp"
#include "sys/raw_calls.hpp"

namespace mayfly::isolate::net {

namespace raw = sys::raw;

Fault open_socket(int* made) noexcept {
  const long opened = raw::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  *made = static_cast<int>(opened);
  return fault_of(opened);
}

Fault set_hostname(const char* name, std::size_t size) noexcept {
  return fault_of(raw::sethostname(name, size));
}

}  // namespace mayfly::isolate::net
