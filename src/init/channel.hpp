// init's end of the socket to its supervisor. Nothing here waits: the supervisor may be stopped,
// and init must not be, or its own key would never turn.
#pragma once

#include "launch/protocol.hpp"

namespace mayfly::init {

inline constexpr unsigned kMostDescriptors = 4;

struct Received {
  launch::Message message;
  int descriptors[kMostDescriptors] = {-1, -1, -1, -1};  // close-on-exec, the receiver's to close
  unsigned descriptor_count = 0;
};

// Takes the next message. A record that is no Message is refused, end of file ends init.
void receive(Received& received) noexcept;

// Sends a message, with a descriptor if one is given. A report that cannot be sent ends init, and
// so all that runs here: nobody could learn the truth about it.
void send(const launch::Message& message, int descriptor = -1) noexcept;

// A call that init needs failed: says so and exits.
[[noreturn]] void fail(launch::Step step, long error) noexcept;

// The supervisor broke the protocol: names the field that is wrong and exits.
[[noreturn]] void refuse(const char* field) noexcept;

}  // namespace mayfly::init
