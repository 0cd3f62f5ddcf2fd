// The settings that make up the world of the command: its files, its environment.
// Included once, by setting_table.hpp.
#pragma once

#include "spec/setters.hpp"
#include "spec/units.hpp"

namespace mayfly::spec::setters {

inline constexpr const char* kFiles = "Files";
inline constexpr const char* kCommand = "The command's world";

inline constexpr Setting kWorldSettings[] = {
    {.name = "command",
     .argument = "WORD...",
     .group = kCommand,
     .help = "the command and its arguments",
     .man = "The command and its arguments. Words on the command line replace it.",
     .where = Where::SpecOnly,
     .form = Form::Strings,
     .apply = add_word},

    {.name = "root",
     .argument = "host|empty|DIR",
     .group = kFiles,
     .help = "what the root directory shows (host)",
     .man = "What the command sees as its root directory: a view of the host's programs and "
            "libraries (`host`, the default), none of the host's files (`empty`), or the tree "
            "below a directory; see THE ROOT DIRECTORY. A directory with one of those two names "
            "is written `./host` or `./empty`.",
     .apply = set_root,
     .text = root_text},
    {.name = "project",
     .argument = "cow|rw|ro|none[:DIR]",
     .group = kFiles,
     .help = "how the project is shown (cow)",
     .man = "How the project is shown, at its own path: `cow`, the default, on a copy on write, so "
            "that the project is unchanged afterwards; `rw`, live and writable; `ro`, read-only; "
            "`none`, not at all. Without `DIR` the project is found as described in THE PROJECT.",
     .apply = set_project,
     .text = project_text},
    {.name = "ro",
     .argument = "SRC[:DST]",
     .group = kFiles,
     .help = "show SRC read-only at DST",
     .man = "Show the host's file or directory `SRC` at `DST`, read-only with everything below it. "
            "Without `DST` it keeps its path. Sockets and FIFOs in a directory shown so lead "
            "nowhere; a FIFO by itself is refused. See SECURITY for a directory with other file "
            "systems mounted below it.",
     .form = Form::Item,
     .key = "mounts",
     .apply = add_tree<FsKind::Ro>},
    {.name = "rw",
     .argument = "SRC[:DST]",
     .group = kFiles,
     .help = "show SRC at DST, live and writable",
     .man = "Show `SRC` at `DST`, live: what the command writes is written to the host, with the "
            "rights that its user has there. Nothing but this and `--project rw` lets writes out. "
            "See SECURITY for sockets and setuid files in such a tree.",
     .form = Form::Item,
     .key = "mounts",
     .apply = add_tree<FsKind::Rw>},
    {.name = "cow",
     .argument = "SRC[:DST]",
     .group = kFiles,
     .help = "show SRC at DST, writes are thrown away",
     .man = "Show the directory `SRC` at `DST`, writable; the writes go to the layer and `SRC` is "
            "not changed. A single file is copied by `--file`.",
     .form = Form::Item,
     .key = "mounts",
     .apply = add_tree<FsKind::Cow>},
    {.name = "tmpfs",
     .argument = "DST[:size=SIZE,mode=MODE]",
     .group = kFiles,
     .help = "an empty file system of its own at DST",
     .man = "Mount an empty tmpfs at `DST`. `size` limits what it holds (default: the size of the "
            "layer); a full one answers ENOSPC. `mode` is that of its root directory "
            "(default 1777).",
     .form = Form::Item,
     .key = "mounts",
     .apply = [](Draft& d, Text v) -> Done { return add(d.spec.fs, parse_tmpfs(v)); }},
    {.name = "file",
     .argument = "DST[:MODE]=TEXT|@SRC",
     .group = kFiles,
     .help = "a file at DST with a text or a copy of SRC",
     .man =
         "Make a file at `DST` that holds `TEXT` as it is, with no newline added, or, after a "
         "`@`, a copy of the host's file `SRC`, which may be what is for `--env-file`. A text that "
         "begins with `@` is written with "
         "two. The default mode is 644; a file that is there already is written anew and keeps its "
         "mode, unless `MODE` is given. The text can be seen by every user of the host in the "
         "list of processes: pass secrets by `@`.",
     .form = Form::Item,
     .key = "mounts",
     .apply = [](Draft& d, Text v) -> Done {
       return add(d.spec.fs, parse_file(d.working_dir, v));
     }},
    {.name = "dir",
     .argument = "DST[:MODE]",
     .group = kFiles,
     .help = "an empty directory at DST",
     .man = "Make an empty directory at `DST`. The default mode is 755. One that is there already "
            "stays as it is, but for its mode where `MODE` is given.",
     .form = Form::Item,
     .key = "mounts",
     .apply = [](Draft& d, Text v) -> Done { return add(d.spec.fs, parse_dir(v)); }},
    {.name = "symlink",
     .argument = "DST=TARGET",
     .group = kFiles,
     .help = "a symbolic link at DST that points to TARGET",
     .man = "Make a symbolic link at `DST`, where nothing may be yet, that points to `TARGET`, "
            "which is taken as it is.",
     .form = Form::Item,
     .key = "mounts",
     .apply = [](Draft& d, Text v) -> Done { return add(d.spec.fs, parse_symlink(v)); }},
    {.name = "mask",
     .argument = "DST",
     .group = kFiles,
     .help = "hide what is at DST",
     .man = "Hide what is at `DST`: a directory looks empty and a file cannot be read. Nothing can "
            "be written there. If there is nothing at `DST`, nothing is done.",
     .form = Form::Item,
     .key = "mounts",
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
     .form = Form::Item,
     .key = "env",
     .item = "set",
     .apply = add_env},
    {.name = "pass-env",
     .argument = "PATTERN",
     .group = kCommand,
     .help = "pass the caller's variables that match",
     .man = "Pass all variables of the caller whose names match a shell pattern, as in "
            "`--pass-env 'CI_*'`. From `MAKEFLAGS` and `MFLAGS` goes what names make's job server, "
            "which is out of reach inside.",
     .form = Form::Item,
     .key = "env",
     .item = "pass",
     .apply = pass_env},
    {.name = "env-file",
     .argument = "FILE",
     .group = kCommand,
     .help = "set the variables that FILE lists",
     .man =
         "Set variables from a file with one `NAME=VALUE` on each line. Empty lines and lines "
         "that begin with `#` are skipped. Everything after the first `=` is the value: quotes "
         "and backslashes have no meaning. The file may be a pipe, as of a process substitution, "
         "which has to end within 30 seconds; a terminal or a FIFO that has a name is refused.",
     .form = Form::Item,
     .key = "env",
     .item = "file",
     .apply = add_env_file},
    {.name = "chdir",
     .letter = 'C',
     .argument = "DIR",
     .group = kCommand,
     .help = "start in this directory of the sandbox",
     .man = "Start the command in `DIR`, an absolute path in the sandbox. Without it the command "
            "starts where the caller is, if the sandbox shows that directory at its own path, as "
            "it does the project, or if `--dir`, `--tmpfs`, `--ro` or another option puts a "
            "directory exactly there. Otherwise it starts in its home directory: where a "
            "`--tmpfs`, a `--mask` or another tree lies above the caller's directory, and for `/`, "
            "`/tmp`, `/run`, `/dev` and `/proc`, which are the sandbox's own.",
     .apply = set_chdir,
     .text = text_text<&Spec::chdir>},
    {.name = "user",
     .letter = 'u',
     .argument = "USER[:GROUP]",
     .group = kCommand,
     .help = "run as this user of the sandbox",
     .man = "Run the command as a user of the sandbox. `USER` and `GROUP` are names from its own "
            "passwd and group files (with `--root DIR` from the host's system accounts, too: DIR's "
            "files are not read), or numbers. See USERS for who it is otherwise.",
     .apply = set_user,
     .text = text_text<&Spec::user>},
    {.name = "hostname",
     .argument = "NAME",
     .group = kCommand,
     .help = "host name inside (mayfly)",
     .man = "The host name that the command sees. The default is mayfly.",
     .apply = set_text<&Spec::hostname>,
     .text = text_text<&Spec::hostname>},
    {.name = "umask",
     .argument = "MODE",
     .group = kCommand,
     .help = "file mode creation mask (022)",
     .man = "The file mode creation mask of the command, in octal. The default is 022.",
     .apply = [](Draft& d, Text v) -> Done { return set(d.spec.umask, parse_mode(v)); },
     .text = umask_text},
    {.name = "stdin",
     .argument = "inherit|null|FILE",
     .group = kCommand,
     .help = "where standard input comes from (inherit)",
     .man = "Where the command's standard input comes from: the caller's (`inherit`, the default), "
            "nowhere (`null`), or a file of the host. A FIFO that nobody has open for writing yet "
            "is at "
            "its end; a redirection, `< FIFO`, waits for a writer. A terminal there is read for "
            "the command "
            "whether it reads or not: in `mayfly run -- make | less` keys that are meant for "
            "`less` can go astray. `null` leaves them alone.",
     .apply = set_stdin,
     .text = stdin_text},
    {.name = "tty",
     .argument = "auto|yes|no",
     .group = kCommand,
     .help = "whether it gets a terminal of its own (auto)",
     .man = "Whether the command gets a terminal: one of the sandbox's own, never the caller's. "
            "With `auto`, the default, it gets one if standard input and output are terminals. "
            "With `yes` it gets one anyway, as large as the terminal on standard output, or else "
            "on standard input or error, or, without any, 80 columns and 24 lines; the end of a "
            "standard input that is no terminal is then typed, as Ctrl-D. With `no` it gets "
            "pipes. See TERMINAL.",
     .apply = set_tty,
     .text = tty_text},
};

}  // namespace mayfly::spec::setters
