#include "supervise/words.hpp"

#include <array>
#include <cerrno>
#include <string>

#include "base/text.hpp"

namespace mayfly::supervise {
namespace {

struct Hint {
  int error;
  const char* text;
};

constexpr std::array kHints = {
    Hint{ENOEXEC, "it is neither a program for this machine nor a script that begins with #!"},
    Hint{E2BIG, "its arguments and environment are too large together"},
    Hint{ETXTBSY, "somebody has it open for writing"},
    Hint{ELOOP, "its path goes in circles of symbolic links, or scripts name each other"},
    Hint{ENOTDIR, "a part of its path is not a directory"},
    Hint{ENOMEM, "the memory limit may be too low"},
    Hint{EAGAIN,
         "the limit of processes is reached: raise --pids, or the caller's own (ulimit -u)"},
    Hint{EPERM,
         "the file system may be mounted nosuid or noexec, or a rule of the host forbids it"},
};

std::string hint_for(int error) {
  for (const Hint& hint : kHints) {
    if (hint.error == error) return hint.text;
  }
  return {};
}

// The candidate that was tried last, as execve got it.
std::string tried_path(const plan::Plan& plan, const launch::Message& failed) {
  if (failed.index < plan.program_paths.size()) return plan.program_paths[failed.index];
  return plan.argv.empty() ? std::string() : plan.argv.front();
}

}  // namespace

Error exec_error(const plan::Plan& plan, const launch::Message& failed) {
  Error error{.kind = ErrorKind::Setup,
              .sys_errno = failed.error,
              .action = "run " + shown(plan.argv.empty() ? "" : plan.argv.front()),
              .call = "execve(" + shown(tried_path(plan, failed)) + ")",
              .hint = hint_for(failed.error)};
  const std::string interpreter = failed.text;
  if (!interpreter.empty()) {
    error.action += ": its interpreter " + shown(interpreter) + " is missing inside the sandbox";
    error.hint =
        interpreter.ends_with('\r')
            ? "its lines end as on DOS, in CR LF: take the CRs away, as by sed -i 's/\\r$//'"
            : "install it, or show it to the sandbox with --ro";
  } else if (failed.error == 0) {
    error.action +=
        ": it was killed by signal " + std::to_string(failed.value) + " while the kernel loaded it";
    error.hint = "the file may be damaged, or too large for the limits";
  }
  return error;
}

}  // namespace mayfly::supervise
