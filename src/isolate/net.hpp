// Network and host name: the loopback of an own network namespace, and nothing else.
//
// Threat: packets that leave, abstract sockets of the host, the host's name. Kernel: network and
// UTS namespaces. Order: any time after the clone. The loopback is brought up by the parent, which
// owns the user namespace and so has every capability in it, through a socket that the child made:
// it takes as long as three overlays, and the parent has nothing else to do then. Does not stop:
// AF_VSOCK and other families that are not namespaced (seccomp does).
#pragma once

#include <cstddef>

#include "isolate/fault.hpp"

namespace mayfly::isolate::net {

// A socket of the network namespace that the caller is in: *made.
[[nodiscard]] Fault open_socket(int* made) noexcept;

[[nodiscard]] Fault set_hostname(const char* name, std::size_t size) noexcept;

// Brings up "lo" in the network namespace of the socket. Returns 0 or errno.
[[nodiscard]] int loopback_up(int socket) noexcept;

}  // namespace mayfly::isolate::net
