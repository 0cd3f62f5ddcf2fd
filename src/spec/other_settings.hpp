// The settings other than those of the command's world: limits, reports, what weakens the
// isolation. Included once, by setting_table.hpp.
#pragma once

#include "spec/limit_settings.hpp"
#include "spec/setters.hpp"
#include "spec/units.hpp"

namespace mayfly::spec::setters {

inline constexpr const char* kCalls = "System calls";
inline constexpr const char* kReports = "Reports";
inline constexpr const char* kUnsafe = "Unsafe: each of these weakens the isolation";

inline constexpr Setting kOtherSettings[] = {
    {.name = "ttl",
     .argument = "DURATION",
     .group = kLimits,
     .help = "end the command after this time (1h, 0: never)",
     .man = "Time to live: end the command and everything it started after this time, with exit "
            "code 124. The default is 1h; `0` means no limit. See TIME TO LIVE.",
     .form = Form::Number,
     .apply = set_limit<&Spec::ttl>,
     .text = limit_text<&Spec::ttl>},
    {.name = "ttl-max",
     .argument = "DURATION",
     .group = kLimits,
     .help = "how far the ttl can be extended (0: any)",
     .man = "The longest time to live in all, counted from the start, that the command `extend` of "
            "the control descriptor can reach. `--ttl` must not be above it. Without it there is "
            "no such bound.",
     .form = Form::Number,
     .apply = set_limit<&Spec::ttl_max>,
     .text = limit_text<&Spec::ttl_max>},
    {.name = "idle",
     .argument = "DURATION",
     .group = kLimits,
     .help = "end the command after so long without output",
     .man = "End the command, with exit code 124 and the reason `idle`, when for this time it has "
            "written nothing to standard output or error and no command came on the control "
            "descriptor. Its output is then relayed, so that it can be seen. What is typed does "
            "not count; its echo is output. `0` means no limit.",
     .form = Form::Number,
     .apply = set_limit<&Spec::idle>,
     .text = limit_text<&Spec::idle>},
    {.name = "cpu-time",
     .argument = "DURATION",
     .group = kLimits,
     .help = "end the command after this time of work",
     .man =
         "End the command, with exit code 124 and the reason `cpu_limit`, when it and everything "
         "it started have used this much processor time together. Sleeping is not charged. "
         "Where the sandbox has no cgroup the time is approximated from those of its processes: "
         "the last moments of a process that nobody waits for are then missing, and the result "
         "says so. `0` means no limit.",
     .form = Form::Number,
     .apply = set_limit<&Spec::cpu_time>,
     .text = limit_text<&Spec::cpu_time>},
    {.name = "max-output",
     .argument = "SIZE",
     .group = kLimits,
     .help = "end the command after this much output",
     .man =
         "End the command, with exit code 124 and the reason `output_limit`, when it writes more "
         "than this to standard output and error together. Exactly so many bytes are delivered. "
         "Its output is then relayed. `0` means no limit.",
     .form = Form::Number,
     .apply = set_limit<&Spec::max_output>,
     .text = limit_text<&Spec::max_output>},
    {.name = "grace",
     .argument = "DURATION",
     .group = kLimits,
     .help = "time between TERM and KILL (2s, 0: none)",
     .man = "How long the command has, after it was told to end by a TERM signal, before it is "
            "killed. The default is 2s. With `0` it is killed at once.",
     .form = Form::Number,
     .apply = set_duration<&Spec::grace>,
     .text = duration_text<&Spec::grace>},
    {.name = "linger",
     .group = kLimits,
     .help = "wait for background processes, too",
     .man = "When the command has ended, wait for the processes that it left in the background, "
            "up to the time to live. Where that cuts them short the reason is `ttl`, whatever the "
            "command's own code was. Without this option they are killed.",
     .form = Form::Switch,
     .apply = set_switch<&Spec::linger>,
     .text = switch_text<&Spec::linger>},
    {.name = "keep-running",
     .group = kLimits,
     .help = "go on when the calling process ends",
     .man = "Go on when the process that started mayfly ends. Without this option the sandbox ends "
            "with it.",
     .form = Form::Switch,
     .apply = set_switch<&Spec::keep_running>,
     .text = switch_text<&Spec::keep_running>},

    {.name = "deny-syscalls",
     .argument = "GROUP[,GROUP...]",
     .group = kCalls,
     .help = "refuse groups of system calls",
     .man = "Refuse groups of system calls that the policy allows. mayfly-policy(5) lists the "
            "groups.",
     .form = Form::Strings,
     .key = "syscalls",
     .item = "deny",
     .apply = add_syscall_rules<Stand::Deny>},
    {.name = "seccomp",
     .argument = "FILE",
     .group = kCalls,
     .help = "also apply an OCI seccomp profile",
     .man = "Apply a seccomp profile in the JSON form of OCI runtimes and Docker, as it is. It "
            "comes on top of the policy's groups: what either refuses is refused. See "
            "SECCOMP PROFILES in mayfly-policy(5).",
     .apply = [](Draft& d, Text v) -> Done {
       return set(d.spec.seccomp_file, absolute_path(d.working_dir, v));
     },
     .text = text_text<&Spec::seccomp_file>},
    {.name = "seccomp-action",
     .argument = "errno|kill",
     .group = kCalls,
     .help = "what a refused system call does (errno)",
     .man = "What happens when the command makes a system call that the policy refuses. With "
            "`errno`, the default, the call fails. With `kill` the sandbox ends at once, with the "
            "reason `syscall_denied` and exit code 159; so that programs can still find out what "
            "there is, a call that is answered ENOSYS, as by an older kernel, only fails. It is "
            "refused where a profile, or a denied group, may refuse what the sandbox's init "
            "needs: such refusals cannot be told. See SECCOMP PROFILES in mayfly-policy(5).",
     .apply = set_seccomp_action,
     .text = seccomp_action_text},
    {.name = "explain-denials",
     .group = kCalls,
     .help = "tell which system calls were refused",
     .man =
         "Tell which system calls the policy, or a profile of `--seccomp`, refused: on standard "
         "error at the end, in the "
         "result, and as events, each call when it is refused for the first, the 10th, the "
         "100th time and so on. A refused call takes some ten microseconds longer, and a signal "
         "can end it with EINTR before. What `clone3` is answered, which every thread asks for, is "
         "not told. The line of `--progress` counts them.",
     .form = Form::Switch,
     .apply = set_switch<&Spec::explain_denials>,
     .text = switch_text<&Spec::explain_denials>},

    {.name = "name",
     .argument = "NAME",
     .group = kReports,
     .help = "name of the sandbox in reports",
     .man =
         "A name for the sandbox: at most 64 letters, digits, dots, dashes and underscores, of "
         "which the first is a letter or digit. It is the sandbox's id, so that no two that run at "
         "the same time can have the same. Without it the id is random.",
     .where = Where::NotInPolicy,
     .pattern = "^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$",
     .apply = set_name,
     .text = text_text<&Spec::name>},
    {.name = "label",
     .argument = "KEY=VALUE",
     .group = kReports,
     .help = "put a label into the event created and the result",
     .man = "A label that appears in the event `created` and in the result. The same key given "
            "twice keeps the last value. A "
            "key has at most 64 letters, digits, underscores, dots, dashes and slashes, a value at "
            "most 1024 bytes of UTF-8; there may be 100 labels.",
     .form = Form::Pairs,
     .key = "labels",
     .pattern = "^[A-Za-z0-9_./-]{1,64}$",
     .most = kMostLabels,
     .most_characters = 1024,
     .apply = set_label},
    {.name = "status-fd",
     .argument = "N",
     .group = kReports,
     .help = "write events to descriptor N as JSON lines",
     .man = "Write events to the open descriptor `N` while the sandbox lives, one JSON object on "
            "each line. The last line is the result, see mayfly-result(5). `N` is at least 3, "
            "since the command has 0, 1 and 2 and could forge what is read there; for the same "
            "reason a file or FIFO in a tree that the command has live is refused.",
     .where = Where::NotInPolicy,
     .form = Form::Number,
     .apply = set_descriptor<&Spec::status_fd>,
     .text = descriptor_text<&Spec::status_fd>},
    {.name = "control-fd",
     .argument = "N",
     .group = kReports,
     .help = "read commands from descriptor N as JSON lines",
     .man = "Read commands from the open descriptor `N`, one JSON object on each line: to cancel, "
            "to send a signal, to extend the time to live, to close standard input; see "
            "mayfly-control(7). Its end of file cancels. `N` is at least 3, and may be that of "
            "`--status-fd` if it is a socket. Standard input is then relayed, so that it can be "
            "closed.",
     .where = Where::NotInPolicy,
     .form = Form::Number,
     .apply = set_descriptor<&Spec::control_fd>,
     .text = descriptor_text<&Spec::control_fd>},
    {.name = "progress",
     .group = kReports,
     .help = "show a live line of state on a terminal",
     .man =
         "While the command runs, show on a line of its own on standard error, if that is a "
         "terminal, "
         "how long it has run, its processor time, its memory and, with `--explain-denials`, how "
         "many calls were refused. The line makes way for output, and is not shown "
         "behind an unfinished line of it. Where standard output is a pipe or socket, which may "
         "lead "
         "to the same screen, it is at the right end of the cursor's line. There is one screen, so "
         "the command gets no terminal "
         "of its own: `--tty auto` then means `no`, and `--tty yes` is refused.",
     .where = Where::NotInPolicy,
     .form = Form::Switch,
     .apply = set_switch<&Spec::progress>,
     .text = switch_text<&Spec::progress>},
    {.name = "result",
     .argument = "FILE",
     .group = kReports,
     .help = "write the result to FILE as JSON",
     .man =
         "Write the result to `FILE` when the sandbox is gone. The file appears complete, by "
         "rename(2), or not at all, in the directory that held it at the start; a link at its "
         "place is replaced. What is no regular file is refused, and so is a file in a tree that "
         "the command has live (`--rw`, `--project rw`). Standard output is the command's: `-` is "
         "refused, and a file of that name is written `./-`. See mayfly-result(5).",
     .where = Where::NotInPolicy,
     .apply = set_result,
     .text = text_text<&Spec::result_file>},
    {.name = "quiet",
     .letter = 'q',
     .group = kReports,
     .help = "print nothing to people",
     .man = "Print nothing of our own on standard error, failures included: the exit code, the "
            "result and the events say the same. Errors in the command line are still printed.",
     .where = Where::NotInPolicy,
     .form = Form::Switch,
     .apply = set_switch<&Spec::quiet>,
     .text = switch_text<&Spec::quiet>},

    {.name = "allow-syscalls",
     .argument = "GROUP[,GROUP...]",
     .group = kUnsafe,
     .help = "allow groups of system calls",
     .man = "Allow groups of system calls that the policy refuses. mayfly-policy(5) lists the "
            "groups and why they are refused.",
     .isolation = Isolation::Weakened,
     .form = Form::Strings,
     .key = "syscalls",
     .item = "allow",
     .apply = add_syscall_rules<Stand::Allow>},
    {.name = "device",
     .argument = "NODE",
     .group = kUnsafe,
     .help = "let the command use a device of the host",
     .man = "Show the host's device node `NODE` at its own path. What can be done with it is up to "
            "its driver.",
     .isolation = Isolation::Weakened,
     .form = Form::Item,
     .key = "mounts",
     .apply = add_device},
    {.name = "keep-caps",
     .group = kUnsafe,
     .help = "keep capabilities inside the sandbox",
     .man = "Keep the capabilities that the command's user has within the sandbox's own "
            "namespaces. They give no rights on the host, but reach parts of the kernel that are "
            "otherwise out of reach.",
     .isolation = Isolation::Weakened,
     .form = Form::Switch,
     .apply = set_switch<&Unsafe::unsafe_keep_caps>,
     .text = switch_text<&Unsafe::unsafe_keep_caps>},
    {.name = "unsafe-ids",
     .argument = "host",
     .group = kUnsafe,
     .help = "keep the caller's user id, root's too",
     .man =
         "With `host`, the only choice: the command keeps the caller's own user id on the host, "
         "even if that is root, instead of one that is nobody's. The "
         "processes of root are then limited only by a pids controller, which `--pids` asks for.",
     .isolation = Isolation::Weakened,
     .apply = set_unsafe_ids,
     .text = unsafe_ids_text},
    {.name = "unsafe-nesting",
     .group = kUnsafe,
     .help = "allow user namespaces and mounts inside",
     .man = "Allow the command to make user namespaces, and mounts in them, as a sandbox in the "
            "sandbox needs. For that `/proc` has nothing masked or read-only, and Landlock is off. "
            "Two sandboxes fit into one another with the host's programs: the "
            "kernel stacks no more overlays.",
     .isolation = Isolation::Weakened,
     .form = Form::Switch,
     .apply = set_switch<&Unsafe::unsafe_nesting>,
     .text = switch_text<&Unsafe::unsafe_nesting>},
    {.name = "unsafe-sockets",
     .group = kUnsafe,
     .help = "allow --rw of directories with sockets",
     .man = "Start even if a tree of `--rw` or `--project rw` holds sockets, which the command "
            "could connect to, or may hold some where they cannot be looked for.",
     .isolation = Isolation::Weakened,
     .form = Form::Switch,
     .apply = set_switch<&Unsafe::unsafe_sockets>,
     .text = switch_text<&Unsafe::unsafe_sockets>},
    {.name = "unsafe-tty",
     .group = kUnsafe,
     .help = "let the command hold the caller's terminal",
     .man =
         "Pass a terminal on standard input, output or error as it is. The command can read "
         "what is typed, change the terminal's settings and write any sequence to it. The settings "
         "are put back at the end. It is not the command's controlling terminal: a shell on it has "
         "no job control, which one of `--tty` has.",
     .isolation = Isolation::Weakened,
     .form = Form::Switch,
     .apply = set_switch<&Unsafe::unsafe_tty>,
     .text = switch_text<&Unsafe::unsafe_tty>},
};

}  // namespace mayfly::spec::setters
