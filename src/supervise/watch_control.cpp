// The lines of --control-fd: what each does to the sandbox, and what is answered.
#include <algorithm>
#include <string>

#include "spec/units.hpp"
#include "supervise/watch.hpp"

namespace mayfly::supervise {
namespace {

Error refusal(std::string action, std::string hint = {}) {
  return Error{.kind = ErrorKind::Usage,
               .sys_errno = 0,
               .action = std::move(action),
               .call = {},
               .hint = std::move(hint)};
}

std::string seconds(std::int64_t ns) {
  return std::to_string(ns / 1'000'000'000) + "." + std::to_string(ns / 100'000'000 % 10) + " s";
}

Error too_long() {
  return refusal("read a control line: it is longer than " +
                     std::to_string(spec::kMostControlBytes) + " bytes",
                 "mayfly-control(7) lists the commands");
}

}  // namespace

Result<void> Watch::take_control() {
  if (state_ == State::Killing) return {};
  Control& control = *request_.control;
  control.receive(polls_[kControl].revents, now_);
  while (state_ != State::Killing) {
    const std::optional<Control::Line> line = control.next();
    if (!line) break;
    TRY(obey(*line));
  }
  if (!control.ended()) return {};
  control_open_ = false;
  return handle(Event::CallerGone);
}

Result<void> Watch::obey(const Control::Line& line) {
  ControlAnswer answer{.line = line.number};
  if (line.too_long) {
    answer.error = too_long();
  } else {
    spec::ControlLine read = spec::read_control(line.text);
    answer.verb = read.verb;
    answer.error = read.command ? TRY(carry_out(*read.command)) : std::move(read.command).error();
  }
  if (answer.error) {
    request_.control->charge_for_rubbish();
  } else {
    active_at_ = now_;
  }
  if (request_.ttl_deadline) {
    answer.ttl_ns = *request_.ttl_deadline - request_.spawned;
    answer.left_ns = *request_.ttl_deadline - now_;
  }
  listener_.answered(answer);
  return {};
}

// The error, if it was refused; a failure of the loop itself as ever.
Result<std::optional<Error>> Watch::carry_out(const spec::ControlCommand& command) {
  switch (command.verb) {
    case spec::ControlVerb::Cancel:
      TRY(handle(ending_signals_++ == 0 ? Event::Cancel : Event::Again));
      break;
    case spec::ControlVerb::Signal: {
      bool sent = false;
      TRY(pass(command.signal, &sent));
      if (!sent)
        return std::optional(refusal("send the signal: too many wait already", "send it later"));
      break;
    }
    case spec::ControlVerb::Extend:
      return extend(command.ttl.count());
    case spec::ControlVerb::StdinClose:
      if (!request_.relay->end_input()) {
        return std::optional(
            refusal("close the task's stdin: the task has /dev/null, or the terminal itself",
                    "/dev/null has ended already; a terminal can be closed without --unsafe-tty"));
      }
      break;
  }
  return std::optional<Error>();
}

// Both keys: init's first, since without it the longer life would be a lie. It never shortens.
Result<std::optional<Error>> Watch::extend(std::int64_t ttl_ns) {
  const std::string action = "extend the time to live to " +
                             spec::format_duration(spec::Nanoseconds(ttl_ns)) + " from now";
  if (state_ >= State::Ending)
    return std::optional(
        refusal(action + ": the sandbox is ending", "send it before its time is over"));
  if (!request_.ttl_deadline) {
    return std::optional(refusal(action + ": it has no limit that could be extended",
                                 "nothing need be done: with --ttl 0 it lives until it ends"));
  }
  if (ttl_ns > kLongest)
    return std::optional(
        refusal(action + ": that is for ever", "choose a shorter time, or start it with --ttl 0"));
  const std::int64_t deadline = now_ + ttl_ns;
  if (deadline < *request_.ttl_deadline) {
    return std::optional(refusal(action + ": " + seconds(*request_.ttl_deadline - now_) +
                                     " are left, and extend never shortens",
                                 "the command cancel ends it at once"));
  }
  if (request_.ttl_max_deadline && deadline > *request_.ttl_max_deadline) {
    const std::int64_t most = std::max<std::int64_t>(0, *request_.ttl_max_deadline - now_);
    return std::optional(refusal(action + ": at most " + seconds(most) + " are allowed",
                                 "ttl-max sets how long it may live in all"));
  }
  const launch::Message message{.kind = launch::Kind::Deadline,
                                .value = ttl_ns + request_.init_key_margin_ns};
  bool sent = false;
  TRY(send(message, &sent));
  if (!sent) return std::optional(refusal(action + ": init does not take the message"));
  request_.ttl_deadline = deadline;
  return std::optional<Error>();
}

}  // namespace mayfly::supervise
