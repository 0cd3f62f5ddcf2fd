// Read with nlohmann-json, as events and not as a tree: a command is flat, so anything nested, and
// the first member too many, ends the reading.
#include "spec/control_command.hpp"

#include <signal.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/text.hpp"
#include "spec/units.hpp"

namespace mayfly::spec {
namespace {

constexpr int kMostSignals = 64;
constexpr std::size_t kMostProblemBytes = 160;

constexpr std::array<std::pair<ControlVerb, std::string_view>, 4> kVerbs = {{
    {ControlVerb::Cancel, "cancel"},
    {ControlVerb::Signal, "signal"},
    {ControlVerb::Extend, "extend"},
    {ControlVerb::StdinClose, "stdin-close"},
}};

Error refused(std::string why) {
  return usage_error("read a control line: " + std::move(why),
                     "mayfly-control(7) lists the commands");
}

// What the library says of a text that is no JSON repeats as much of it as it has read.
Error not_json(std::string_view problem) {
  return refused("it is not JSON: " + printable(problem, kMostProblemBytes));
}

// The members of one flat object.
class Members : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::optional<std::string> cmd, ttl, signal_name;
  std::optional<std::uint64_t> signal_number;
  std::string wrong;   // why we stopped the reading
  std::string broken;  // why the library did

  bool start_object(std::size_t) override {
    if (is_open_) return stop("its values are texts and numbers, not objects");
    is_open_ = true;
    return true;
  }
  bool end_object() override { return true; }
  bool key(std::string& name) override {
    if (name != "cmd" && name != "ttl" && name != "signal") {
      return stop("it has an unknown member " + shown(name));
    }
    const bool again = (name == "cmd" && cmd) || (name == "ttl" && ttl) ||
                       (name == "signal" && (signal_name || signal_number));
    if (again) return stop("it has " + shown(name) + " twice");
    key_ = name;
    return true;
  }
  bool string(std::string& text) override {
    if (!is_open_) return stop("it is no object");
    if (key_ == "cmd") cmd = std::move(text);
    if (key_ == "ttl") ttl = std::move(text);
    if (key_ == "signal") signal_name = std::move(text);
    return true;
  }
  bool number_unsigned(number_unsigned_t number) override {
    if (key_ != "signal") return wrong_kind();
    signal_number = number;
    return true;
  }
  bool number_integer(number_integer_t) override { return wrong_kind(); }
  bool number_float(number_float_t, const std::string&) override { return wrong_kind(); }
  bool boolean(bool) override { return wrong_kind(); }
  bool null() override { return wrong_kind(); }
  bool binary(binary_t&) override { return wrong_kind(); }
  bool start_array(std::size_t) override { return wrong_kind(); }
  bool end_array() override { return true; }
  bool parse_error(std::size_t, const std::string&,
                   const nlohmann::detail::exception& problem) override {
    broken = problem.what();
    return false;
  }

 private:
  bool stop(std::string why) {
    wrong = std::move(why);
    return false;
  }
  bool wrong_kind() {
    if (!is_open_) return stop("it is no object");
    return stop("the value of " + shown(key_) + " is of the wrong kind");
  }

  bool is_open_ = false;
  std::string key_;
};

std::optional<int> signal_called(std::string_view name) {
  if (name.starts_with("SIG")) name.remove_prefix(3);
  for (int number = 1; number <= kMostSignals; ++number) {
    const char* known = ::sigabbrev_np(number);
    if (known != nullptr && name == known) return number;
  }
  return std::nullopt;
}

Result<int> signal_of(const Members& members) {
  if (members.signal_number) {
    if (*members.signal_number >= 1 && *members.signal_number <= kMostSignals) {
      return static_cast<int>(*members.signal_number);
    }
    return refused("there is no signal " + std::to_string(*members.signal_number));
  }
  if (!members.signal_name) return refused("signal needs a member \"signal\"");
  if (const std::optional<int> number = signal_called(*members.signal_name)) return *number;
  return refused("there is no signal " + shown(*members.signal_name));
}

Result<Nanoseconds> ttl_of(const Members& members) {
  if (!members.ttl) return refused("extend needs a member \"ttl\", like \"10m\"");
  const Result<Nanoseconds> ttl = parse_duration(*members.ttl);
  if (!ttl) return refused("its ttl " + shown(*members.ttl) + " is no duration");
  if (*ttl <= Nanoseconds::zero()) return refused("its ttl is not above 0");
  return *ttl;
}

Result<ControlCommand> command_of(const Members& members) {
  if (!members.cmd) return refused("it has no member \"cmd\"");
  std::optional<ControlVerb> verb;
  for (const auto& [known, name] : kVerbs) {
    if (*members.cmd == name) verb = known;
  }
  if (!verb) return refused("there is no command " + shown(*members.cmd));
  ControlCommand command{.verb = *verb};
  if (*verb == ControlVerb::Signal) {
    command.signal = TRY(signal_of(members));
  } else if (members.signal_name || members.signal_number) {
    return refused(*members.cmd + " takes no member \"signal\"");
  }
  if (*verb == ControlVerb::Extend) {
    command.ttl = TRY(ttl_of(members));
  } else if (members.ttl) {
    return refused(*members.cmd + " takes no member \"ttl\"");
  }
  return command;
}

}  // namespace

std::string_view verb_name(ControlVerb verb) {
  return kVerbs[static_cast<std::size_t>(verb)].second;
}

Result<ControlCommand> parse_control(std::string_view line) {
  if (line.size() > kMostControlBytes) {
    return refused("it is longer than " + std::to_string(kMostControlBytes) + " bytes");
  }
  if (!is_utf8(line)) return refused("it is not UTF-8");
  Members members;
  try {
    if (!nlohmann::json::sax_parse(line, &members)) {
      return members.wrong.empty() ? not_json(members.broken) : refused(members.wrong);
    }
  } catch (const std::exception& problem) {
    return not_json(problem.what());
  }
  return command_of(members);
}

}  // namespace mayfly::spec
