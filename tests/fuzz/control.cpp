// What is read as a command can be written in the one form that the manual has, and is read again.
#include "fuzz.hpp"
#include "spec/control_command.hpp"
#include "spec/units.hpp"

namespace mayfly::fuzz {
namespace {

using namespace mayfly::spec;

std::string written(const ControlCommand& command) {
  std::string line = "{\"cmd\":\"" + std::string(verb_name(command.verb)) + "\"";
  if (command.verb == ControlVerb::Signal) line += ",\"signal\":" + std::to_string(command.signal);
  if (command.verb == ControlVerb::Extend) {
    line += ",\"ttl\":\"" + format_duration(command.ttl) + "\"";
  }
  return line + "}";
}

}  // namespace

void control(std::string_view input) {
  const Result<ControlCommand> command = parse_control(input);
  if (!command) return check_message(command.error());
  const bool is_signal = command->verb == ControlVerb::Signal;
  const bool is_extend = command->verb == ControlVerb::Extend;
  require((command->signal >= 1 && command->signal <= 64) == is_signal, "a signal is one", input);
  require((command->ttl > Nanoseconds::zero()) == is_extend, "time is added to a ttl", input);
  const std::string line = written(*command);
  const Result<ControlCommand> again = parse_control(line);
  require(again && *again == *command, "a command is read as itself", line);
}

}  // namespace mayfly::fuzz
