// One line of --control-fd as a command. Pure text in, value out: this is what the fuzzer drives.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "spec/spec.hpp"

namespace mayfly::spec {

// A line that is longer, its newline not counted, is refused without being looked at.
inline constexpr std::size_t kMostControlBytes = 64 << 10;

enum class ControlVerb { Cancel, Signal, Extend, StdinClose };

struct ControlCommand {
  ControlVerb verb = ControlVerb::Cancel;
  int signal = 0;      // Signal: 1 to 64
  Nanoseconds ttl{0};  // Extend: from now on; above 0
  bool operator==(const ControlCommand&) const = default;
};

// As the protocol spells it: "cancel", "signal", "extend", "stdin-close".
[[nodiscard]] std::string_view verb_name(ControlVerb verb);

// A JSON object with exactly the members that its command takes:
//   {"cmd":"cancel"}
//   {"cmd":"signal","signal":"TERM"}      or "SIGTERM", "15", 15; "RTMIN", "RTMAX", "RTMIN+3"
//   {"cmd":"extend","ttl":"10m"}          or 600, in seconds
//   {"cmd":"stdin-close"}
// Refused, with words for a person: what is no such object, is not UTF-8, has an unknown or a
// duplicate member, an unknown command, or a value of the wrong kind. Takes time linear in the
// line.
[[nodiscard]] Result<ControlCommand> parse_control(std::string_view line);

// The same, with the command that a line named which is refused for something else.
struct ControlLine {
  std::optional<ControlVerb> verb;
  Result<ControlCommand> command;
};
[[nodiscard]] ControlLine read_control(std::string_view line);

}  // namespace mayfly::spec
