#include <sys/ioctl.h>

#include "isolate/net.hpp"
#include "sys/raw_calls.hpp"

namespace mayfly::isolate::net {

namespace raw = sys::raw;

Fault loopback_up() noexcept {
  const long opened = raw::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (opened < 0) return fault_of(opened);
  const int fd = static_cast<int>(opened);
  ifreq request = {};
  request.ifr_name[0] = 'l';
  request.ifr_name[1] = 'o';
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  const long answer = raw::ioctl(fd, SIOCSIFFLAGS, &request);
  raw::close(fd);
  return fault_of(answer);
}

Fault set_hostname(const char* name, std::size_t size) noexcept {
  return fault_of(raw::sethostname(name, size));
}

}  // namespace mayfly::isolate::net
