#include "isolate/net.hpp"

#include <net/if.h>
#include <sys/ioctl.h>

#include <cerrno>

namespace mayfly::isolate::net {

int loopback_up(int socket) noexcept {
  ifreq request = {};
  request.ifr_name[0] = 'l';
  request.ifr_name[1] = 'o';
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  return ::ioctl(socket, SIOCSIFFLAGS, &request) == 0 ? 0 : errno;
}

}  // namespace mayfly::isolate::net
