#include "cli/ending.hpp"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/text.hpp"
#include "cli/say.hpp"

namespace mayfly::cli {
namespace {

using supervise::Outcome;
using supervise::Reason;

// Where the host would find the command, or nothing.
std::string host_program(const std::string& command, const HostView& host) {
  if (command.find('/') != std::string::npos) {
    if (command[0] != '/' && host.working_dir.empty()) return {};
    const std::string path =
        normal_path(command[0] == '/' ? command : host.working_dir + "/" + command);
    return host.is_program(path) ? path : std::string();
  }
  for (std::string_view dir : split(host.search_path, ':')) {
    if (dir.substr(0, 1) != "/") continue;
    const std::string path = normal_path(std::string(dir) + "/" + command);
    if (host.is_program(path)) return path;
  }
  return {};
}

std::string exec_hint(const spec::Spec& spec, const Error& error, const HostView& host) {
  const std::string& command = spec.argv[0];
  if (error.sys_errno == EACCES) {
    return "it must be a file that the sandbox's user may execute (chmod +x), on a path that the "
           "user may search";
  }
  if (error.sys_errno != ENOENT) return {};
  const bool by_path = command.find('/') != std::string::npos;
  const std::string path = host_program(command, host);
  if (path.empty()) {
    return by_path ? "the path is looked up inside the sandbox"
                   : "it is in no directory of the sandbox's PATH: check the spelling, or write "
                     "its path";
  }
  const std::string found = shown(path) + " is on the host, outside of the sandbox's ";
  const std::string show = "--ro " + shown(path.substr(0, path.rfind('/')));
  if (by_path) return found + "view: show it with " + show;
  return found + "PATH: write this path, with " + show + " if the sandbox does not show it";
}

std::string reason_text(const Outcome& outcome) {
  std::string text(supervise::reason_name(outcome.reason));
  if (outcome.reason != Reason::Cancelled || !outcome.signal) return text;
  const char* name = ::sigabbrev_np(*outcome.signal);
  return text + (name != nullptr ? " by SIG" + std::string(name)
                                 : " by signal " + std::to_string(*outcome.signal));
}

std::string ended_by_us(const Outcome& outcome) {
  std::string text = "mayfly: ended";
  if (outcome.usage.wall_ns.value) text += " after " + time_text(*outcome.usage.wall_ns.value);
  return text + ": " + reason_text(outcome) + " (" + std::to_string(outcome.code) + ")\n";
}

std::string main_line(const spec::Spec& spec, const Outcome& outcome, const HostView& host) {
  if (outcome.reason == Reason::Exited || outcome.reason == Reason::Signaled) return {};
  if (!outcome.error) return ended_by_us(outcome);
  Error error = *outcome.error;
  if (outcome.reason == Reason::ExecFailed && error.hint.empty()) {
    error.hint = exec_hint(spec, error, host);
    if (error.sys_errno == ENOENT) {
      // The call names the last directory of PATH only, which would mislead.
      error.action += " in the sandbox";
      error.call.clear();
    }
  }
  return complaint(error);
}

}  // namespace

std::string ending_text(const spec::Spec& spec, const Outcome& outcome, const HostView& host) {
  std::string text = main_line(spec, outcome, host);
  if (!outcome.clean) text += "mayfly: something is left of it: " + outcome.unclean_why + "\n";
  return text;
}

std::string time_text(std::uint64_t nanoseconds) {
  const auto two = [](std::uint64_t n) { return (n < 10 ? "0" : "") + std::to_string(n); };
  const std::uint64_t tenths = nanoseconds / 100'000'000;
  const std::uint64_t seconds = tenths / 10;
  if (seconds < 60) return std::to_string(seconds) + "." + std::to_string(tenths % 10) + "s";
  if (seconds < 3600) return std::to_string(seconds / 60) + "m" + two(seconds % 60) + "s";
  return std::to_string(seconds / 3600) + "h" + two(seconds / 60 % 60) + "m";
}

}  // namespace mayfly::cli
