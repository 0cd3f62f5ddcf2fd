#include "spec/spec.hpp"

#include <climits>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "spec/env_file.hpp"
#include "spec/units.hpp"

namespace mayfly::spec {
namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

constexpr std::size_t kMostNameBytes = 64;
constexpr std::size_t kMostLabelBytes = 1024;
constexpr std::size_t kMostHostnameBytes = 64;    // HOST_NAME_MAX
constexpr std::uint64_t kMostId = 4'294'967'294;  // the number above it means "no id"
// Remedies that several messages share.
constexpr std::string_view kNoNul = "no path, name or value can hold one";
constexpr std::string_view kShorter = "the kernel takes no longer one: choose a shorter path";
// A bound for what is planned and mounted one by one, far above any use.
constexpr std::size_t kMostFsEntries = 1000;

Error refused(std::string_view what, std::string_view value, std::string_view why,
              std::string hint = {}) {
  return usage_error("use " + shown(value) + " as " + std::string(what) + ": " + std::string(why),
                     std::move(hint));
}

bool only(std::string_view text, std::string_view first, std::string_view second,
          std::string_view third = {}) {
  for (char c : text) {
    const auto has = [c](std::string_view set) { return set.find(c) != std::string_view::npos; };
    if (!has(first) && !has(second) && !has(third)) return false;
  }
  return true;
}

bool has_nul(std::string_view text) {
  return text.find('\0') != std::string_view::npos;
}

bool has_dot_dot(std::string_view path) {
  for (std::string_view piece : split(path, '/')) {
    if (piece == "..") return true;
  }
  return false;
}

// A path that the kernel could take and that means the same wherever it is looked at from.
Result<void> check_path(std::string_view what, std::string_view path) {
  if (path.empty()) return refused(what, path, "it is empty", "write it from / on");
  if (has_nul(path)) return refused(what, path, "it has a NUL byte", std::string(kNoNul));
  if (path[0] != '/') return refused(what, path, "it is not absolute", "write it from / on");
  if (has_dot_dot(path)) return refused(what, path, "it has a '..'", "write the path without it");
  if (path != normal_path(path)) {
    return refused(what, path, "it is not in its normal form", "write it " + normal_path(path));
  }
  if (path.size() >= PATH_MAX) {
    return refused(what, path, "it is longer than 4095 bytes", std::string(kShorter));
  }
  for (std::string_view piece : split(path, '/')) {
    if (piece.size() > NAME_MAX) {
      return refused(what, path, "a name in it is longer than 255 bytes", std::string(kShorter));
    }
  }
  return {};
}

bool needs_source(FsKind kind) {
  return kind == FsKind::Ro || kind == FsKind::Rw || kind == FsKind::Cow || kind == FsKind::Device;
}

// Where the kernel's ban of user namespaces is written to, in the sandbox's own /proc.
constexpr std::string_view kBanFile = "/proc/sys/user/max_user_namespaces";

// The sandbox has a /proc of its own, which must stay where it is; the host's tells about the host.
Result<void> check_proc(const FsEntry& entry) {
  const std::string placed = shown(entry.target) + " (" + std::string(option_of(entry.kind)) + ")";
  // Below it there are links that lead elsewhere: /proc/self/fd/3.
  if (needs_source(entry.kind) && entry.kind != FsKind::Device && entry.source == "/proc") {
    return usage_error(
        "show " + shown(entry.source) + " inside: it belongs to a file system of the kernel (proc)",
        "the sandbox has its own /proc; copy what the task is to read with --file");
  }
  if (is_node(entry.kind) && is_within(entry.target, "/proc")) {
    return usage_error("make " + placed + ": /proc is the kernel's, which takes no entries",
                       "choose a target outside of /proc");
  }
  if (!is_within(kBanFile, entry.target)) return {};
  return usage_error("use " + placed +
                         " as a target: the sandbox needs its own /proc, to forbid user namespaces "
                         "inside",
                     "choose another one; --mask hides single entries of /proc");
}

// No program gains rights in a sandbox, so a bit that is to give some would be kept by nothing.
Result<void> check_mode(const FsEntry& entry) {
  const unsigned mode = entry.mode.value_or(0);
  if (mode > 07777) {
    return refused("a path inside", entry.target, "its mode is more than 07777",
                   "octal permission bits, like 644 or 0700");
  }
  const bool is_file = entry.kind == FsKind::File;
  if (!is_file && entry.kind != FsKind::Dir && entry.kind != FsKind::Tmpfs) return {};
  if ((mode & 06000) != 0) {
    return refused("a mode", format_mode(mode),
                   "nothing in a sandbox is setuid or setgid (for " + shown(entry.target) + ")",
                   "write it " + format_mode(mode & 01777));
  }
  if (is_file && (mode & 01000) != 0) {
    return refused("a mode", format_mode(mode),
                   "only a directory can be sticky (for " + shown(entry.target) + ")",
                   "write it " + format_mode(mode & 0777));
  }
  return {};
}

Result<void> check_entry(const FsEntry& entry) {
  TRY(check_path("a path inside", entry.target));
  if (entry.target == "/") {
    return refused("a path inside", entry.target, "it is the root itself",
                   "--root chooses what the root is");
  }
  if (needs_source(entry.kind) || !entry.source.empty()) {
    TRY(check_path("a path on the host", entry.source));
  }
  TRY(check_proc(entry));
  if (entry.kind == FsKind::File && !entry.source.empty() && !entry.data.empty()) {
    return refused("a file", entry.target, "it has both a text and a source", "give one of them");
  }
  if (entry.kind == FsKind::Symlink) {
    if (entry.data.empty()) {
      return refused("a link", entry.target, "it points nowhere", "write it DST=TARGET");
    }
    if (has_nul(entry.data)) {
      return refused("where a link points", entry.data, "it has a NUL byte", std::string(kNoNul));
    }
    if (entry.data.size() >= PATH_MAX) {
      return refused("where a link points", entry.data, "it is longer than 4095 bytes",
                     std::string(kShorter));
    }
  }
  return check_mode(entry);
}

Result<void> check_env(const EnvRule& rule) {
  const std::string_view what =
      rule.kind == EnvKind::PassPattern ? "an environment pattern" : "an environment name";
  if (rule.name.empty()) {
    return refused(what, rule.name, "it is empty", "write NAME=VALUE, or NAME for the caller's");
  }
  if (has_nul(rule.name)) {
    return refused(what, rule.name, "it has a NUL byte", std::string(kNoNul));
  }
  if (rule.name.find('=') != std::string::npos) {
    return refused(what, rule.name, "it has a '='", "the value comes after the first '='");
  }
  if (rule.kind != EnvKind::PassPattern && !is_variable_name(rule.name)) {
    return refused(what, rule.name, "no variable is called so", std::string(kVariableNames));
  }
  if (has_nul(rule.value)) {
    return refused(what, rule.name, "its value has a NUL byte", std::string(kNoNul));
  }
  return {};
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

bool is_node(FsKind kind) {
  return kind == FsKind::File || kind == FsKind::Dir || kind == FsKind::Symlink;
}

std::string_view option_of(FsKind kind) {
  switch (kind) {
    case FsKind::Ro:
      return "--ro";
    case FsKind::Rw:
      return "--rw";
    case FsKind::Cow:
      return "--cow";
    case FsKind::Tmpfs:
      return "--tmpfs";
    case FsKind::File:
      return "--file";
    case FsKind::Dir:
      return "--dir";
    case FsKind::Symlink:
      return "--symlink";
    case FsKind::Mask:
      return "--mask";
    case FsKind::Device:
      return "--device";
  }
  return "";
}

Result<void> validate(const Spec& spec) {
  TRY(check_command(spec));
  if (spec.root == RootKind::Directory) TRY(check_root(spec.root_dir));
  if (!spec.project_dir.empty()) TRY(check_path("a project directory", spec.project_dir));
  if (spec.fs.size() > kMostFsEntries) {
    return usage_error("lay out " + std::to_string(spec.fs.size()) + " paths inside",
                       "at most " + std::to_string(kMostFsEntries) +
                           " of --ro, --rw, --cow, --file and their like: show a directory that "
                           "holds them");
  }
  for (const FsEntry& entry : spec.fs)
    TRY(check_entry(entry));
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
