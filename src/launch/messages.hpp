// One message with its descriptors, over the socket between the parent and the child half.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "launch/protocol.hpp"

namespace mayfly::launch {

struct Received {
  static constexpr std::size_t kMost = 4;
  Message message;
  std::array<Fd, kMost> descriptors;  // those that came along
};

// The message that waits. nullopt: end of file, or a record of another size.
[[nodiscard]] Result<std::optional<Received>> receive_message(const Fd& socket);

// At most four descriptors. False: nobody is there to receive it.
[[nodiscard]] Result<bool> send_message(const Fd& socket, const Message& message,
                                        std::span<const int> descriptors);

}  // namespace mayfly::launch
