// Network and host name: the loopback of an own network namespace, and nothing else.
//
// Threat: packets that leave, abstract sockets of the host, the host's name. Kernel: network and
// UTS namespaces. Order: any time after the clone, while the child still has capabilities. Does not
// stop: AF_VSOCK and other families that are not namespaced (seccomp does).
#pragma once

#include <cstddef>

#include "isolate/fault.hpp"

namespace mayfly::isolate::net {

[[nodiscard]] Fault loopback_up() noexcept;
[[nodiscard]] Fault set_hostname(const char* name, std::size_t size) noexcept;

}  // namespace mayfly::isolate::net
