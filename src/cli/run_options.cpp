// The options of `mayfly run`: the one place where they are listed. Each row sets a field of the
// spec; what a value looks like is in arguments.hpp and units.hpp, what it means is the plan's.
#include <climits>
#include <iterator>
#include <utility>

#include "cli/arguments.hpp"
#include "cli/env_file.hpp"
#include "cli/verbs.hpp"
#include "spec/units.hpp"

namespace mayfly::cli {
namespace {

using spec::FsEntry;
using spec::FsKind;
using Text = std::string_view;
using Done = Result<void>;

constexpr const char* kFiles = "Files";
constexpr const char* kCommand = "The command's world";
constexpr const char* kLimits = "Time and limits";
constexpr const char* kReports = "Reports";
constexpr const char* kUnsafe = "Unsafe: each of these weakens the isolation";

template <class Field, class Value>
Done set(Field& field, Result<Value> value) {
  field = TRY(std::move(value));
  return {};
}

template <class List, class Value>
Done add(List& list, Result<Value> value) {
  list.push_back(TRY(std::move(value)));
  return {};
}

Done set_true(bool& field) {
  field = true;
  return {};
}

Done set_text(std::string& field, Text value) {
  field = std::string(value);
  return {};
}

Done set_root(Request& request, Text value) {
  request.spec.root_dir.clear();
  if (value == "host" || value == "empty") {
    request.spec.root = value == "host" ? spec::RootKind::Host : spec::RootKind::Empty;
    return {};
  }
  request.spec.root = spec::RootKind::Directory;
  return set(request.spec.root_dir, absolute_path(request.working_dir, value));
}

Done set_project(Request& request, Text value) {
  Project project = TRY(parse_project(request.working_dir, value));
  request.spec.project = project.mode;
  request.spec.project_is_asked = true;
  request.spec.project_dir = std::move(project.dir);
  return {};
}

Done set_stdin(Request& request, Text value) {
  request.spec.stdin_file.clear();
  if (value == "inherit" || value == "null") {
    request.spec.stdin_kind = value == "null" ? spec::StdinKind::Null : spec::StdinKind::Inherit;
    return {};
  }
  request.spec.stdin_kind = spec::StdinKind::File;
  return set(request.spec.stdin_file, absolute_path(request.working_dir, value));
}

Done add_env_file(Request& request, Text value) {
  const std::string path = TRY(absolute_path(request.working_dir, value));
  std::vector<spec::EnvRule> rules = TRY(read_env_file(path));
  std::move(rules.begin(), rules.end(), std::back_inserter(request.spec.env));
  return {};
}

Done set_ttl(Request& request, Text value) {
  const spec::Nanoseconds ttl = TRY(spec::parse_duration(value));
  request.spec.ttl = ttl == spec::Nanoseconds::zero() ? std::nullopt : std::optional(ttl);
  return {};
}

Done set_label(Request& request, Text value) {
  auto label = TRY(parse_label(value));
  for (auto& [name, old] : request.spec.labels) {
    if (name == label.first) return set_text(old, label.second);
  }
  // One too many is enough for validate() to refuse them, however many there are.
  if (request.spec.labels.size() <= spec::kMostLabels) {
    request.spec.labels.push_back(std::move(label));
  }
  return {};
}

Done set_status_fd(Request& request, Text value) {
  request.spec.status_fd = static_cast<int>(TRY(spec::parse_count(value, INT_MAX)));
  return {};
}

Done set_unsafe_ids(Request& request, Text value) {
  if (value != "host") {
    return usage_error("read " + std::string(value) + ": the only choice is host",
                       "write --unsafe-ids=host");
  }
  return set_true(request.spec.unsafe.unsafe_host_ids);
}

template <FsKind kKind>
Done add_tree(Request& request, Text value) {
  return add(request.spec.fs, parse_tree(kKind, request.working_dir, value));
}

// --mask and --device: one path, which needs no escapes.
Done add_mask(Request& request, Text value) {
  FsEntry entry;
  entry.kind = FsKind::Mask;
  entry.target = path_inside(value);
  request.spec.fs.push_back(std::move(entry));
  return {};
}

Done add_device(Request& request, Text value) {
  FsEntry entry;
  entry.kind = FsKind::Device;
  entry.source = path_inside(value);
  entry.target = entry.source;
  request.spec.fs.push_back(std::move(entry));
  return {};
}

constexpr Option kOptions[] = {
    {.name = "root",
     .argument = "host|empty|DIR",
     .group = kFiles,
     .help = "what the root directory shows (host)",
     .man = "What the command sees as its root directory: a view of the host's programs and "
            "libraries (`host`, the default), none of the host's files (`empty`), or the tree "
            "below a directory; see THE ROOT DIRECTORY. A directory with one of those two names "
            "is written `./host` or `./empty`.",
     .apply = set_root},
    {.name = "project",
     .argument = "MODE[:DIR]",
     .group = kFiles,
     .help = "show the project: cow, rw, ro or none (cow)",
     .man = "How the project is shown, at its own path: `cow`, the default, on a copy on write, so "
            "that the project is unchanged afterwards; `rw`, live and writable; `ro`, read-only; "
            "`none`, not at all. Without `DIR` the project is found as described in THE PROJECT.",
     .apply = set_project},
    {.name = "ro",
     .argument = "SRC[:DST]",
     .group = kFiles,
     .help = "show SRC read-only at DST",
     .man = "Show the host's file or directory `SRC` at `DST`, read-only with everything below it. "
            "Without `DST` it keeps its path. Sockets and FIFOs in a directory shown so cannot be "
            "connected to.",
     .apply = add_tree<FsKind::Ro>},
    {.name = "rw",
     .argument = "SRC[:DST]",
     .group = kFiles,
     .help = "show SRC at DST, live and writable",
     .man = "Show `SRC` at `DST`, live: what the command writes is written to the host, with the "
            "rights that its user has there. Nothing but this and `--project rw` lets writes out. "
            "See SECURITY for sockets and setuid files in such a tree.",
     .apply = add_tree<FsKind::Rw>},
    {.name = "cow",
     .argument = "SRC[:DST]",
     .group = kFiles,
     .help = "show SRC at DST, writes are thrown away",
     .man = "Show the directory `SRC` at `DST`, writable; the writes go to the layer and `SRC` is "
            "not changed. A single file is copied by `--file`.",
     .apply = add_tree<FsKind::Cow>},
    {.name = "tmpfs",
     .argument = "DST[:size=SIZE,mode=MODE]",
     .group = kFiles,
     .help = "an empty file system of its own at DST",
     .man = "Mount an empty tmpfs at `DST`. `size` limits what it holds (default: the size of the "
            "layer); a full one answers ENOSPC. `mode` is that of its root directory "
            "(default 1777).",
     .apply = [](Request& r, Text v) -> Done { return add(r.spec.fs, parse_tmpfs(v)); }},
    {.name = "file",
     .argument = "DST[:MODE]=TEXT|@SRC",
     .group = kFiles,
     .help = "a file at DST with a text or a copy of SRC",
     .man = "Make a file at `DST` that holds `TEXT` as it is, with no newline added, or, after a "
            "`@`, a copy of the host's file `SRC`. A text that begins with `@` is written with "
            "two. The default mode is 644. The text can be seen by every user of the host in the "
            "list of processes: pass secrets by `@`.",
     .apply = [](Request& r, Text v) -> Done {
       return add(r.spec.fs, parse_file(r.working_dir, v));
     }},
    {.name = "dir",
     .argument = "DST[:MODE]",
     .group = kFiles,
     .help = "an empty directory at DST",
     .man = "Make an empty directory at `DST`. The default mode is 755.",
     .apply = [](Request& r, Text v) -> Done { return add(r.spec.fs, parse_dir(v)); }},
    {.name = "symlink",
     .argument = "DST=TARGET",
     .group = kFiles,
     .help = "a symbolic link at DST that points to TARGET",
     .man = "Make a symbolic link at `DST` that points to `TARGET`, which is taken as it is.",
     .apply = [](Request& r, Text v) -> Done { return add(r.spec.fs, parse_symlink(v)); }},
    {.name = "mask",
     .argument = "DST",
     .group = kFiles,
     .help = "hide what is at DST",
     .man = "Hide what is at `DST`: a directory looks empty and a file cannot be read. Nothing can "
            "be written there. If there is nothing at `DST`, nothing is done.",
     .apply = add_mask},

    {.name = "env",
     .letter = 'e',
     .argument = "NAME[=VALUE]",
     .group = kCommand,
     .help = "set a variable, or pass the caller's",
     .man = "Set a variable of the command's environment. Without a `=` the caller's value is "
            "passed; if it has none, nothing is set. The variables that are there without being "
            "asked for are listed in ENVIRONMENT. Where rules name a variable twice, the last one "
            "wins.",
     .apply = [](Request& r, Text v) -> Done {
       r.spec.env.push_back(parse_env(v));
       return {};
     }},
    {.name = "pass-env",
     .argument = "PATTERN",
     .group = kCommand,
     .help = "pass the caller's variables that match",
     .man = "Pass all variables of the caller whose names match a shell pattern, as in "
            "`--pass-env 'CI_*'`.",
     .apply = [](Request& r, Text v) -> Done {
       r.spec.env.push_back(
           {.kind = spec::EnvKind::PassPattern, .name = std::string(v), .value = {}});
       return {};
     }},
    {.name = "env-file",
     .argument = "FILE",
     .group = kCommand,
     .help = "set the variables that FILE lists",
     .man = "Set variables from a file with one `NAME=VALUE` on each line. Empty lines and lines "
            "that begin with `#` are skipped. Everything after the first `=` is the value: quotes "
            "and backslashes have no meaning. The file may be a pipe.",
     .apply = add_env_file},
    {.name = "chdir",
     .letter = 'C',
     .argument = "DIR",
     .group = kCommand,
     .help = "start in this directory of the sandbox",
     .man = "Start the command in `DIR`, an absolute path in the sandbox. Without it the command "
            "starts where the caller is, if that directory exists in the sandbox, otherwise in "
            "its home directory.",
     .apply = [](Request& r, Text v) -> Done { return set_text(r.spec.chdir, path_inside(v)); }},
    {.name = "user",
     .letter = 'u',
     .argument = "USER[:GROUP]",
     .group = kCommand,
     .help = "run as this user of the sandbox",
     .man = "Run the command as a user of the sandbox. `USER` and `GROUP` are names from its own "
            "passwd and group files, or numbers. See USERS for who it is otherwise.",
     .apply = [](Request& r, Text v) -> Done { return set_text(r.spec.user, v); }},
    {.name = "hostname",
     .argument = "NAME",
     .group = kCommand,
     .help = "host name inside (mayfly)",
     .man = "The host name that the command sees. The default is mayfly.",
     .apply = [](Request& r, Text v) -> Done { return set_text(r.spec.hostname, v); }},
    {.name = "umask",
     .argument = "MODE",
     .group = kCommand,
     .help = "file mode creation mask (022)",
     .man = "The file mode creation mask of the command, in octal. The default is 022.",
     .apply = [](Request& r, Text v) -> Done { return set(r.spec.umask, spec::parse_mode(v)); }},
    {.name = "stdin",
     .argument = "inherit|null|FILE",
     .group = kCommand,
     .help = "where standard input comes from (inherit)",
     .man = "Where the command's standard input comes from: the caller's (`inherit`, the default), "
            "nowhere (`null`), or a file of the host.",
     .apply = set_stdin},

    {.name = "ttl",
     .argument = "DURATION",
     .group = kLimits,
     .help = "end the command after this time (1h, 0: never)",
     .man = "Time to live: end the command and everything it started after this time, with exit "
            "code 124. The default is 1h; `0` means no limit. See TIME TO LIVE.",
     .apply = set_ttl},
    {.name = "grace",
     .argument = "DURATION",
     .group = kLimits,
     .help = "time between TERM and KILL (2s, 0: none)",
     .man = "How long the command has, after it was told to end by a TERM signal, before it is "
            "killed. The default is 2s. With `0` it is killed at once.",
     .apply = [](Request& r, Text v) -> Done {
       return set(r.spec.grace, spec::parse_duration(v));
     }},
    {.name = "linger",
     .group = kLimits,
     .help = "wait for background processes, too",
     .man = "When the command has ended, wait for the processes that it left in the background, "
            "up to the time to live. Where that cuts them short the reason is `ttl`, whatever the "
            "command's own code was. Without this option they are killed.",
     .apply = [](Request& r, Text) -> Done { return set_true(r.spec.linger); }},
    {.name = "keep-running",
     .group = kLimits,
     .help = "go on when the calling process ends",
     .man = "Go on when the process that started mayfly ends. Without this option the sandbox ends "
            "with it.",
     .apply = [](Request& r, Text) -> Done { return set_true(r.spec.keep_running); }},
    {.name = "pids",
     .argument = "N",
     .group = kLimits,
     .help = "most processes and threads at a time (512)",
     .man = "The most processes and threads that may exist in the sandbox at the same time. One "
            "more is refused with EAGAIN. The default is 512.",
     .apply = [](Request& r, Text v) -> Done {
       return set(r.spec.pids, spec::parse_count(v, INT_MAX));
     }},
    {.name = "layer-size",
     .argument = "SIZE",
     .group = kLimits,
     .help = "most bytes that can be written (512M)",
     .man = "How much the layer, which holds every write of the sandbox, can hold. It is memory, "
            "and counts as such. A full layer answers ENOSPC. The default is 512M.",
     .apply = [](Request& r, Text v) -> Done {
       return set(r.spec.layer_bytes, spec::parse_size(v));
     }},
    {.name = "layer-inodes",
     .argument = "N",
     .group = kLimits,
     .help = "most files that can be made (100000)",
     .man = "How many files, directories and links the layer can hold. The default is 100000.",
     .apply = [](Request& r, Text v) -> Done {
       return set(r.spec.layer_inodes, spec::parse_count(v, INT64_MAX));
     }},

    {.name = "name",
     .argument = "NAME",
     .group = kReports,
     .help = "name of the sandbox in reports",
     .man =
         "A name for the sandbox: at most 64 letters, digits, dots, dashes and underscores. It is "
         "the sandbox's id, so that no two that run at the same time can have the same. Without "
         "it the id is random.",
     .apply = [](Request& r, Text v) -> Done { return set_text(r.spec.name, v); }},
    {.name = "label",
     .argument = "KEY=VALUE",
     .group = kReports,
     .help = "put a label into events and result",
     .man = "A label that appears in the result. The same key given twice keeps the last value.",
     .apply = set_label},
    {.name = "status-fd",
     .argument = "N",
     .group = kReports,
     .help = "write events to descriptor N as JSON lines",
     .man = "Write events to the open descriptor `N` while the sandbox lives, one JSON object on "
            "each line. The last line is the result, see mayfly-result(5). `N` is at least 3, "
            "since the command has 0, 1 and 2 and could forge what is read there.",
     .apply = set_status_fd},
    {.name = "result",
     .argument = "FILE",
     .group = kReports,
     .help = "write the result to FILE as JSON",
     .man = "Write the result to `FILE` when the sandbox is gone. The file appears complete, by "
            "rename(2), or not at all, in the directory that held it at the start; a link at its "
            "place is replaced. What is no regular file is refused. See mayfly-result(5).",
     .apply = [](Request& r, Text v) -> Done {
       return set(r.spec.result_file, absolute_path(r.working_dir, v));
     }},
    {.name = "quiet",
     .letter = 'q',
     .group = kReports,
     .help = "print nothing to people",
     .man = "Print nothing of our own on standard error, failures included: the exit code, the "
            "result and the events say the same. Errors in the command line are still printed.",
     .apply = [](Request& r, Text) -> Done { return set_true(r.spec.quiet); }},

    {.name = "device",
     .argument = "NODE",
     .group = kUnsafe,
     .help = "let the command use a device of the host",
     .man = "Show the host's device node `NODE` at its own path. What can be done with it is up to "
            "its driver.",
     .isolation = Isolation::Weakened,
     .apply = add_device},
    {.name = "keep-caps",
     .group = kUnsafe,
     .help = "keep capabilities inside the sandbox",
     .man = "Keep the capabilities that the command's user has within the sandbox's own "
            "namespaces. They give no rights on the host, but reach parts of the kernel that are "
            "otherwise out of reach.",
     .isolation = Isolation::Weakened,
     .apply = [](Request& r, Text) -> Done { return set_true(r.spec.unsafe.unsafe_keep_caps); }},
    {.name = "unsafe-ids",
     .argument = "host",
     .group = kUnsafe,
     .help = "keep the caller's user id, root's too",
     .man = "With `host`, the only choice: the command keeps the caller's own user id on the host, "
            "even if that is root, instead of one that is nobody's.",
     .isolation = Isolation::Weakened,
     .apply = set_unsafe_ids},
    {.name = "unsafe-nesting",
     .group = kUnsafe,
     .help = "allow user namespaces and mounts inside",
     .man = "Allow the command to make user namespaces, and mounts in them, as a sandbox in the "
            "sandbox needs.",
     .isolation = Isolation::Weakened,
     .apply = [](Request& r, Text) -> Done { return set_true(r.spec.unsafe.unsafe_nesting); }},
    {.name = "unsafe-sockets",
     .group = kUnsafe,
     .help = "allow --rw of directories with sockets",
     .man = "Start even if a tree of `--rw` or `--project rw` holds sockets, which the command "
            "could connect to.",
     .isolation = Isolation::Weakened,
     .apply = [](Request& r, Text) -> Done { return set_true(r.spec.unsafe.unsafe_sockets); }},
    {.name = "unsafe-tty",
     .group = kUnsafe,
     .help = "let the command hold the caller's terminal",
     .man = "Pass a terminal on standard input, output or error as it is. The command can read "
            "what is typed, change the terminal's settings and write any sequence to it.",
     .isolation = Isolation::Weakened,
     .apply = [](Request& r, Text) -> Done { return set_true(r.spec.unsafe.unsafe_tty); }},

    kHelpOption,
};

}  // namespace

constinit const Verb kRunVerb = {
    .name = "run",
    .synopsis = "[OPTION...] [--] COMMAND [ARGUMENT...]",
    .summary = "run one command in a sandbox that is gone when it ends",
    .words = Words::Command,
    .options = kOptions,
};

}  // namespace mayfly::cli
