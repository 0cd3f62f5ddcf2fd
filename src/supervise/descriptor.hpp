// A descriptor of the caller's that an option names by its number.
#pragma once

#include <string>

#include "base/result.hpp"
#include "spec/spec.hpp"
#include "supervise/endpoint.hpp"

namespace mayfly::supervise {

// Refused: one of the task's own (0-2), one that is closed, or one of ours; one that is not open in
// this direction. It becomes close-on-exec, which is how one of ours is known: so each is taken
// once. `what` and `hint` are for the words: "write the status to descriptor 7".
[[nodiscard]] Result<void> take_descriptor(int fd, Direction direction, const std::string& what,
                                           const char* hint);

// Refused: a status or control descriptor that is the same pipe, socket or file as one of the
// task's 0-2, which could write events or commands of its own there, where both are open; and a
// result in the place of the file that its output or the status goes to, which would be lost.
[[nodiscard]] Result<void> keep_from_task(const spec::Spec& spec);

}  // namespace mayfly::supervise
