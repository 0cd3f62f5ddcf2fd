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
#include "spec/document.hpp"
#include "spec/json_problem.hpp"
#include "spec/number.hpp"
#include "spec/units.hpp"

namespace mayfly::spec {
namespace {

constexpr int kMostSignals = 64;

constexpr std::array<std::pair<ControlVerb, std::string_view>, 4> kVerbs = {{
    {ControlVerb::Cancel, "cancel"},
    {ControlVerb::Signal, "signal"},
    {ControlVerb::Extend, "extend"},
    {ControlVerb::StdinClose, "stdin-close"},
}};

constexpr const char* kCommandHint = "mayfly-control(7) lists the commands";
constexpr const char* kSignalHint =
    "a name in capitals, like TERM, USR1 or RTMIN+1, or a number from 1 to 64";
constexpr const char* kTtlHint =
    "a whole number of seconds above 0, or a text with a unit, like \"10m\" or \"1.5h\"";

Error refused(std::string why, std::string hint = kCommandHint) {
  return usage_error("read a control line: " + std::move(why), std::move(hint));
}

bool is_whole(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

// The members of one flat object. What is wrong with one of them is told once all are read, so that
// the answer can name the command.
class Members : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::optional<std::string> cmd, ttl, signal;
  std::string wrong;  // what is wrong with the members
  const char* hint = kCommandHint;
  std::string broken;      // why it is no JSON
  std::size_t offset = 0;  // … from which byte on

  void read(std::string_view line) {
    if (const std::optional<std::size_t> nul = nul_in_json(line)) {
      broken = kNulInJson.what;
      offset = *nul;
      return;
    }
    nlohmann::json::sax_parse(line, this);
  }

  bool start_object(std::size_t) override {
    if (is_open_) return stop("its values are texts and numbers, not objects");
    is_open_ = true;
    return true;
  }
  bool end_object() override { return true; }
  bool key(std::string& name) override {
    if (name != "cmd" && name != "ttl" && name != "signal") {
      note("it has an unknown member " + shown(name));
    }
    if ((name == "cmd" && cmd) || (name == "ttl" && ttl) || (name == "signal" && signal)) {
      return stop("it has " + shown(name) + " twice");
    }
    key_ = name;
    return true;
  }
  bool string(std::string& text) override {
    if (!is_open_) return stop("it is no object");
    if (key_ == "cmd") cmd = std::move(text);
    if (key_ == "ttl") ttl = std::move(text);
    if (key_ == "signal") signal = std::move(text);
    return true;
  }
  bool number_unsigned(number_unsigned_t number) override {
    return whole_number(std::to_string(number));
  }
  bool number_integer(number_integer_t) override { return wrong_kind(); }
  // What is too large for an integer comes here, too.
  bool number_float(number_float_t, const std::string& text) override {
    std::optional<std::string> plain = plain_number(text);
    return plain && is_whole(*plain) ? whole_number(*std::move(plain)) : wrong_kind();
  }
  bool boolean(bool) override { return wrong_kind(); }
  bool null() override { return wrong_kind(); }
  bool binary(binary_t&) override { return wrong_kind(); }
  bool start_array(std::size_t) override {
    wrong_kind();
    return false;
  }
  bool end_array() override { return true; }
  bool parse_error(std::size_t count, const std::string&,
                   const nlohmann::detail::exception& problem) override {
    broken = json_problem(problem.what()).what;
    offset = count == 0 ? 0 : count - 1;
    return false;
  }

 private:
  void note(std::string why, const char* what_to_do = kCommandHint) {
    if (!wrong.empty()) return;
    wrong = std::move(why);
    hint = what_to_do;
  }
  static const char* hint_for(std::string_view key) {
    if (key == "ttl") return kTtlHint;
    return key == "signal" ? kSignalHint : kCommandHint;
  }
  bool stop(std::string why) {
    note(std::move(why));
    return false;
  }
  bool whole_number(std::string digits) {
    if (!is_open_ || (key_ != "signal" && key_ != "ttl")) return wrong_kind();
    (key_ == "ttl" ? ttl : signal) = std::move(digits);
    return true;
  }
  bool wrong_kind() {
    if (!is_open_) return stop("it is no object");
    note("the value of " + shown(key_) + " is of the wrong kind", hint_for(key_));
    return true;
  }

  bool is_open_ = false;
  std::string key_;
};

// SIGRTMIN is what the C library leaves of the kernel's first.
std::optional<int> real_time_signal(std::string_view name) {
  if (name == "RTMAX") return SIGRTMAX;
  if (!name.starts_with("RTMIN")) return std::nullopt;
  name.remove_prefix(5);
  if (name.empty()) return SIGRTMIN;
  if (name[0] != '+' || !is_whole(name.substr(1))) return std::nullopt;
  const auto above = static_cast<std::uint64_t>(SIGRTMAX - SIGRTMIN);
  const Result<std::uint64_t> count = parse_count(name.substr(1), above);
  if (!count) return std::nullopt;
  return SIGRTMIN + static_cast<int>(*count);
}

std::optional<int> signal_called(std::string_view name) {
  if (is_whole(name)) {
    const Result<std::uint64_t> number = parse_count(name, kMostSignals);
    return number && *number > 0 ? std::optional(static_cast<int>(*number)) : std::nullopt;
  }
  if (name.starts_with("SIG")) name.remove_prefix(3);
  for (int number = 1; number <= kMostSignals; ++number) {
    const char* known = ::sigabbrev_np(number);
    if (known != nullptr && name == known) return number;
  }
  return real_time_signal(name);
}

Result<int> signal_of(const Members& members) {
  if (!members.signal) return refused("signal needs a member \"signal\"", kSignalHint);
  if (const std::optional<int> number = signal_called(*members.signal)) return *number;
  return refused("there is no signal " + shown(*members.signal), kSignalHint);
}

Result<Nanoseconds> ttl_of(const Members& members) {
  if (!members.ttl) return refused("extend needs a member \"ttl\"", kTtlHint);
  const Result<Nanoseconds> ttl = parse_duration(*members.ttl);
  if (!ttl) return refused("its ttl: " + describe(ttl.error()), ttl.error().hint);
  if (*ttl <= Nanoseconds::zero()) return refused("its ttl is not above 0", kTtlHint);
  return *ttl;
}

std::optional<ControlVerb> verb_of(const Members& members) {
  if (!members.cmd) return std::nullopt;
  for (const auto& [verb, name] : kVerbs) {
    if (*members.cmd == name) return verb;
  }
  return std::nullopt;
}

Result<ControlCommand> command_of(const Members& members, std::optional<ControlVerb> verb) {
  if (!members.wrong.empty()) return refused(members.wrong, members.hint);
  if (!members.cmd) return refused("it has no member \"cmd\"");
  if (!verb) return refused("there is no command " + shown(*members.cmd));
  ControlCommand command{.verb = *verb};
  if (*verb == ControlVerb::Signal) {
    command.signal = TRY(signal_of(members));
  } else if (members.signal) {
    return refused(*members.cmd + " takes no member \"signal\"");
  }
  if (*verb == ControlVerb::Extend) {
    command.ttl = TRY(ttl_of(members));
  } else if (members.ttl) {
    return refused(*members.cmd + " takes no member \"ttl\"");
  }
  return command;
}

Error not_json(std::string_view line, const Members& members) {
  return refused("it is not JSON: column " +
                 std::to_string(position_of(line, members.offset).column) + ": " + members.broken);
}

}  // namespace

std::string_view verb_name(ControlVerb verb) {
  return kVerbs[static_cast<std::size_t>(verb)].second;
}

ControlLine read_control(std::string_view line) {
  if (line.size() > kMostControlBytes) {
    return {{}, refused("it is longer than " + std::to_string(kMostControlBytes) + " bytes")};
  }
  if (!is_utf8(line)) return {{}, refused("it is not UTF-8")};
  Members members;
  members.read(line);
  if (!members.broken.empty()) return {{}, not_json(line, members)};
  const std::optional<ControlVerb> verb = verb_of(members);
  return {verb, command_of(members, verb)};
}

Result<ControlCommand> parse_control(std::string_view line) {
  return read_control(line).command;
}

}  // namespace mayfly::spec
