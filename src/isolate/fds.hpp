// Descriptors: init gets exactly two, the socket to its supervisor and the supervisor's pidfd.
//
// Threat: a directory or socket of the caller that the task inherits (a directory is a way out of
// any root). Kernel: close_range (5.9, CLOEXEC flag 5.11). Order: last before init is executed.
// Does not stop: descriptors passed on purpose with a spawn request.
#pragma once

#include "isolate/fault.hpp"

namespace mayfly::isolate::fds {

// Moves `socket` to 3 and `supervisor` to 4, makes all others close on exec, closes 0-2. `keep`
// (init's image) may be moved: the number to use from then on is written back.
[[nodiscard]] Fault enter(int socket, int supervisor, int* keep) noexcept;

}  // namespace mayfly::isolate::fds
