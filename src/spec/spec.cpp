#include "spec/spec.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "spec/checks.hpp"
#include "spec/entries.hpp"
#include "spec/units.hpp"

namespace mayfly::spec {
namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

constexpr std::size_t kMostNameBytes = 64;
constexpr std::size_t kMostLabelBytes = 1024;
constexpr std::size_t kMostHostnameBytes = 64;    // HOST_NAME_MAX
constexpr std::uint64_t kMostId = 4'294'967'294;  // the number above it means "no id"

bool only(std::string_view text, std::string_view first, std::string_view second,
          std::string_view third = {}) {
  for (char c : text) {
    const auto has = [c](std::string_view set) { return set.find(c) != std::string_view::npos; };
    if (!has(first) && !has(second) && !has(third)) return false;
  }
  return true;
}

// Whether the sandbox has such a user or group is for the plan to find out.
Result<void> check_user(std::string_view user) {
  constexpr std::string_view kWhat = "a user";
  constexpr const char* kHint = "USER or USER:GROUP, each a name or a number, like 1000:1000";
  if (user.empty()) return {};
  const auto pieces = split(user, ':');
  if (pieces.size() > 2) return refused(kWhat, user, "it has more than one ':'", kHint);
  for (std::string_view piece : pieces) {
    if (piece.empty()) return refused(kWhat, user, "a name in it is empty", kHint);
    if (has_nul(piece)) return refused(kWhat, user, "it has a NUL byte", kHint);
    if (only(piece, kDigits, {}) && !parse_count(piece, kMostId)) {
      return refused(kWhat, user, shown(piece) + " is more than 4294967294", kHint);
    }
  }
  return {};
}

Result<void> check_hostname(std::string_view name) {
  constexpr std::string_view kWhat = "a host name";
  const auto refuse = [&](std::string_view why) {
    return refused(kWhat, name, why,
                   "at most 64 letters, digits, '-' and '.', the first a letter or digit");
  };
  if (name.empty()) return refuse("it is empty");
  if (name.size() > kMostHostnameBytes) return refuse("it is longer than 64 bytes");
  if (!only(name, kLetters, kDigits, "-.")) {
    return refuse("only letters, digits, '-' and '.' are allowed");
  }
  if (name.front() == '-' || name.front() == '.') {
    return refuse("it does not start with a letter or digit");
  }
  return {};
}

Result<void> check_name(std::string_view name) {
  constexpr std::string_view kWhat = "a sandbox name";
  if (name.empty()) return {};
  const auto refuse = [&](std::string_view why) {
    return refused(kWhat, name, why,
                   "at most 64 letters, digits, '_', '.' and '-', the first a letter or digit");
  };
  if (name.size() > kMostNameBytes) return refuse("it is longer than 64 bytes");
  if (!only(name, kLetters, kDigits, "_.-")) {
    return refuse("only letters, digits, '_', '.' and '-' are allowed");
  }
  if (!only(name.substr(0, 1), kLetters, kDigits)) {
    return refuse("it does not start with a letter or digit");
  }
  return {};
}

Result<void> check_labels(const Spec& spec) {
  if (spec.labels.size() > kMostLabels) {
    return usage_error("use more than " + std::to_string(kMostLabels) + " labels",
                       "leave some out, or put more into one value");
  }
  for (std::size_t i = 0; i < spec.labels.size(); ++i) {
    const auto& [key, value] = spec.labels[i];
    const auto refuse = [&name = key](std::string_view why, std::string_view hint) {
      return refused("a label", name, why, std::string(hint));
    };
    if (key.empty()) return refuse("its name is empty", "write it KEY=VALUE");
    if (key.size() > kMostNameBytes || !only(key, kLetters, kDigits, "_.-/")) {
      return refuse("its name may have at most 64 letters, digits, '_', '.', '-' and '/'",
                    "choose another name");
    }
    // Labels come back in JSON, which has no way to hold other bytes.
    if (!is_utf8(value)) return refuse("its value is not UTF-8", "encode it, as in base64");
    if (has_nul(value)) return refuse("its value has a NUL byte", kNoNul);
    if (value.size() > kMostLabelBytes) {
      return refuse("its value is longer than 1024 bytes", "put it into a file and name that");
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (spec.labels[j].first == key) return refuse("it is there twice", "leave one out");
    }
  }
  return {};
}

Result<void> check_root(const std::string& dir) {
  TRY(check_path("a root directory", dir));
  if (dir != "/proc") return {};
  return refused("a root directory", dir, "it belongs to a file system of the kernel (proc)",
                 "unpack an image or archive into a directory, and name that");
}

Result<void> check_command(const Spec& spec) {
  if (spec.argv.empty()) {
    return usage_error("run nothing: no command was given",
                       "write the command after the options: mayfly run [OPTION...] COMMAND");
  }
  for (const std::string& word : spec.argv) {
    if (has_nul(word)) {
      return refused("a word of the command", word, "it has a NUL byte", std::string(kNoNul));
    }
  }
  if (spec.argv[0].empty()) {
    return refused("a command", spec.argv[0], "its name is empty",
                   "name a program; a variable in its place may be unset");
  }
  if (spec.stdin_kind == StdinKind::File) TRY(check_path("standard input", spec.stdin_file));
  if (!spec.chdir.empty()) TRY(check_path("a working directory inside", spec.chdir));
  if (spec.umask > 0777) {
    return usage_error("use a umask of more than 0777", "octal permission bits, like 022");
  }
  return {};
}

Result<void> check_times(const Spec& spec) {
  if (spec.ttl && *spec.ttl <= Nanoseconds::zero()) {
    return usage_error("use a time to live that is not above 0", "--ttl 0 means no limit");
  }
  if (spec.ttl_max && (!spec.ttl || *spec.ttl > *spec.ttl_max)) {
    const std::string ttl = spec.ttl ? "of " + format_duration(*spec.ttl) : "without end";
    return usage_error(
        "use a time to live " + ttl + ": --ttl-max allows " + format_duration(*spec.ttl_max),
        "give --ttl a time that is not above that (without the option it is 1h)");
  }
  for (const auto& [limit, name] :
       {std::pair{&spec.idle, "an idle time"}, std::pair{&spec.cpu_time, "a limit of cpu time"}}) {
    if (*limit && **limit <= Nanoseconds::zero()) {
      return usage_error("use " + std::string(name) + " that is not above 0",
                         "leave the option out for no limit");
    }
  }
  if (spec.grace < Nanoseconds::zero()) {
    return usage_error("use a grace time below 0", "with --grace 0 there is none");
  }
  return {};
}

// Whoever holds the caller's terminal writes to it unseen, and one screen has one writer.
Result<void> check_terminal(const Spec& spec) {
  const bool own = spec.tty == TtyMode::Yes;
  if (spec.unsafe.unsafe_tty && own) {
    return usage_error("give the command the caller's terminal (--unsafe-tty) and one of its own",
                       "leave out --unsafe-tty or --tty");
  }
  if (spec.unsafe.unsafe_tty && (spec.idle || spec.max_output || spec.progress)) {
    return usage_error("watch the output of a command that holds the caller's terminal",
                       "leave out --unsafe-tty, or --idle, --max-output and --progress");
  }
  if (spec.progress && own) {
    return usage_error("show progress on a screen that is the command's own",
                       "leave out --progress or --tty; with --progress alone, output is piped");
  }
  return {};
}

Result<void> check_reports(const Spec& spec) {
  if (spec.status_fd != -1 && spec.status_fd < 3) {
    return refused("a status descriptor", std::to_string(spec.status_fd),
                   "0, 1 and 2 belong to the command, which could forge what is read there",
                   "use 3 or more, and open it: mayfly run --status-fd 3 ... 3>FILE");
  }
  if (spec.control_fd != -1 && spec.control_fd < 3) {
    return refused("a control descriptor", std::to_string(spec.control_fd),
                   "0, 1 and 2 belong to the command",
                   "use 3 or more, and open it: mayfly run --control-fd 4 ... 4<FIFO");
  }
  if (!spec.result_file.empty()) TRY(check_path("a result file", spec.result_file));
  TRY(check_name(spec.name));
  return check_labels(spec);
}

}  // namespace

Result<void> validate(const Spec& spec) {
  TRY(check_command(spec));
  if (spec.root == RootKind::Directory) TRY(check_root(spec.root_dir));
  if (!spec.project_dir.empty()) TRY(check_path("a project directory", spec.project_dir));
  TRY(check_entries(spec.fs));
  for (const EnvRule& rule : spec.env)
    TRY(check_env(rule));
  TRY(check_user(spec.user));
  TRY(check_hostname(spec.hostname));
  TRY(check_times(spec));
  TRY(check_limits(spec));
  if (!spec.limits.cgroup_parent.empty()) {
    TRY(check_path("a parent cgroup", spec.limits.cgroup_parent));
  }
  for (const IoLimit& limit : spec.limits.io)
    TRY(check_path("the path of --io", limit.path));
  TRY(check_terminal(spec));
  return check_reports(spec);
}

}  // namespace mayfly::spec
