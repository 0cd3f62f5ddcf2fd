#include "cli/not_found.hpp"

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "base/text.hpp"
#include "spec/env_file.hpp"

namespace mayfly::cli {
namespace {

using supervise::Outcome;

// Words that a shell understands by itself, and that are no programs on most systems.
constexpr std::string_view kBuiltins[] = {
    ".",     "alias",  "bg",   "cd",   "command", "declare", "eval",    "exec",  "exit",   "export",
    "fg",    "hash",   "jobs", "let",  "local",   "popd",    "pushd",   "read",  "return", "set",
    "shopt", "source", "trap", "type", "ulimit",  "umask",   "unalias", "unset", "wait"};

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

// What was meant by a word that is no program anywhere, or nothing.
std::string slip(const std::vector<std::string>& argv) {
  const std::string& word = argv[0];
  if (word[0] == '-') return "what follows -- is the command: options of mayfly stand before it";
  const std::size_t equals = word.find('=');
  if (equals != std::string::npos &&
      spec::is_variable_name(std::string_view(word).substr(0, equals))) {
    return "a variable is set by an option before the command: --env " + shown(word);
  }
  if (std::find(std::begin(kBuiltins), std::end(kBuiltins), word) != std::end(kBuiltins)) {
    return word + " is a builtin of the shell: sh -c '" + word + " ...' runs a line of shell";
  }
  constexpr std::size_t kMostShown = 200;
  if (argv.size() == 1 && word.size() <= kMostShown && word.find(' ') != std::string::npos) {
    return "it is one word with blanks in it: write it without the quotes, or, for a line of "
           "shell, sh -c " +
           shell_word(word);
  }
  return {};
}

// Why the sandbox has no project though the caller stands in a directory, or nothing.
std::string why_no_project(const Outcome& outcome) {
  constexpr std::string_view kNone = "no project";
  for (const plan::Note& note : outcome.notes) {
    if (note.what == "project" && note.how.substr(0, kNone.size()) == kNone) return note.how;
  }
  return {};
}

// `path`: where the host has the program.
std::string hidden_hint(const spec::Spec& spec, const Outcome& outcome, const HostView& host,
                        const std::string& path) {
  if (spec.root == spec::RootKind::Empty) {
    return "the root is empty: show the program with --ro " + shown(path) +
           " and the libraries that it needs, if it is not static, with --ro, too";
  }
  if (spec.root == spec::RootKind::Directory) {
    return "the root is " + shown(spec.root_dir) +
           ", which does not have it: put it there, or "
           "show that of the host with --ro " +
           shown(path);
  }
  const std::string found = shown(path) + " is on the host, outside of the sandbox's ";
  const std::string show = "--ro " + shown(path);
  if (spec.argv[0].find('/') == std::string::npos) {
    return found + "PATH: write this path, with " + show + " if the sandbox does not show it";
  }
  const std::string reason = why_no_project(outcome);
  if (!reason.empty() && !host.working_dir.empty() && is_within(path, host.working_dir)) {
    return found + "view: " + reason;
  }
  return found + "view: show it with " + show;
}

std::string missing_hint(const spec::Spec& spec, const Outcome& outcome, const HostView& host) {
  const std::string& command = spec.argv[0];
  const std::string path = host_program(command, host);
  if (!path.empty()) return hidden_hint(spec, outcome, host, path);
  std::string meant = slip(spec.argv);
  if (!meant.empty()) return meant;
  return command.find('/') != std::string::npos
             ? "the path is looked up inside the sandbox"
             : "it is in no directory of the sandbox's PATH: check the spelling, or write its path";
}

// Where the host has what is shown at a path inside; the path itself where nothing else is known.
std::string shown_from(const spec::Spec& spec, const std::string& path) {
  const auto shows = [&](const spec::FsEntry& entry) {
    return !entry.source.empty() && is_within(path, entry.target);
  };
  const auto entry = std::find_if(spec.fs.rbegin(), spec.fs.rend(), shows);
  if (entry == spec.fs.rend()) return path;
  return normal_path(entry->source + path.substr(entry->target.size()));
}

std::string forbidden_hint(const spec::Spec& spec, const HostView& host) {
  const std::string& command = spec.argv[0];
  const std::string path = command[0] == '/' ? shown_from(spec, command) : std::string();
  if (!path.empty() && host.is_on_noexec(path)) {
    return shown(path) + " of the host is on a file system that is mounted noexec, from which " +
           "nothing is executed: copy it inside by --file " + shown(command) + ":755=@" +
           shown(path) + ", or show it from another place";
  }
  return "it must be a file that the sandbox's user may execute (chmod +x), on a path that the "
         "user may search";
}

}  // namespace

void explain_exec(const spec::Spec& spec, const HostView& host, Outcome& outcome) {
  if (outcome.reason != supervise::Reason::ExecFailed || !outcome.error) return;
  Error& error = *outcome.error;
  if (!error.hint.empty()) return;
  if (error.sys_errno == EACCES) {
    error.hint = forbidden_hint(spec, host);
  } else if (error.sys_errno == ENOENT) {
    error.hint = missing_hint(spec, outcome, host);
    // The call names the last directory of PATH only, which would mislead.
    error.action += " in the sandbox";
    error.call.clear();
  }
}

}  // namespace mayfly::cli
