// The settings that limit what of the machine a sandbox uses. Included once, by setting_table.hpp.
#pragma once

#include <cstdint>

#include "spec/limit_arguments.hpp"
#include "spec/setters.hpp"
#include "spec/units.hpp"

namespace mayfly::spec::setters {

inline constexpr const char* kLimits = "Time and limits";

inline constexpr Setting kLimitSettings[] = {
    {.name = "memory",
     .argument = "SIZE",
     .group = kLimits,
     .help = "most memory, of processes, files and kernel",
     .man = "The most memory that the sandbox may use: its processes, the layer and every tmpfs, "
            "and what the kernel keeps for it. What goes beyond ends the whole sandbox with the "
            "reason `memory_limit` and code 137. Without `--swap` nothing of it is swapped. "
            "Without a `--layer-size` the layer, together with each tmpfs that has no size of its "
            "own, is then at most half of it, so that a full one is an error to the command and "
            "not its end; sizes that are given must leave room below it. The default is no limit. "
            "Needs the memory controller, see LIMITS.",
     .form = Form::Number,
     .apply = set_size<&Limits::memory>,
     .text = size_text<&Limits::memory>},
    {.name = "swap",
     .argument = "SIZE",
     .group = kLimits,
     .help = "swap that may be used beside --memory (0)",
     .man = "How much swap may be used beside what `--memory` allows. The default is none.",
     .form = Form::Number,
     .apply = set_size<&Limits::swap>,
     .text = size_text<&Limits::swap>},
    {.name = "cpus",
     .argument = "N",
     .group = kLimits,
     .help = "most processors' time, like 2 or 0.5",
     .man = "How much processor time the sandbox may use, in processors: with `0.5` half of one, "
            "in each tenth of a second. The default is no limit. Needs the cpu controller, see "
            "LIMITS.",
     .form = Form::Number,
     .apply = [](Draft& d, Text v) -> Done {
       return set(d.spec.limits.cpu_thousandths, parse_cpus(v));
     },
     .text = [](const Spec& spec) { return written(spec.limits.cpu_thousandths, format_cpus); }},
    {.name = "pids",
     .argument = "N",
     .group = kLimits,
     .help = "most processes and threads at a time (512)",
     .man =
         "The most processes and threads that may exist in the sandbox at the same time. One "
         "more is refused with EAGAIN. The sandbox's init is one of them, so that the least is 2; "
         "only where a root caller has no pids controller, it is not counted. "
         "The default is 512.",
     .form = Form::Number,
     .apply = set_count<&Limits::pids, kLeastPids, kMostPids>,
     .text = count_text<&Limits::pids>},
    {.name = "io",
     .argument = "[PATH:]RATES",
     .group = kLimits,
     .help = "most of a disk's rates, like rbps=10M,wiops=100",
     .man = "Limits how fast the sandbox reads and writes a disk: `rbps` and `wbps` in bytes a "
            "second, `riops` and `wiops` in operations a second, split by commas. `PATH` is the "
            "disk's device node, or any file or directory on it; without it, the disk of the "
            "working directory is meant. What is in the page cache costs nothing. May be given "
            "several times. Needs the io controller, see LIMITS.",
     .form = Form::Strings,
     .apply = [](Draft& d, Text v) -> Done {
       return add(d.spec.limits.io, parse_io(d.working_dir, v));
     }},
    {.name = "layer-size",
     .argument = "SIZE",
     .group = kLimits,
     .help = "most bytes that can be written (512M)",
     .man = "How much the layer, which holds every write of the sandbox, can hold. Where it is in "
            "memory it counts as memory. A full layer answers ENOSPC. The default is 512M, or "
            "half of `--memory` if that is less.",
     .form = Form::Number,
     .apply = set_size<&Limits::layer_bytes>,
     .text = size_text<&Limits::layer_bytes>},
    {.name = "layer-inodes",
     .argument = "N",
     .group = kLimits,
     .help = "most files that can be made (100000)",
     .man =
         "How many files, directories and links the layer can hold. The default is 100000. Of a "
         "layer in memory user extended attributes take from it, not from the size: one for each "
         "KiB; so in all it can take the size and N KiB of memory, and for ACLs up to 4 KiB for "
         "each "
         "file and 8 for each directory, which no other limit counts.",
     .form = Form::Number,
     .apply = set_count<&Limits::layer_inodes, kLeastLayerInodes, kMostLayerInodes>,
     .text = count_text<&Limits::layer_inodes>},
    {.name = "layer",
     .argument = "auto|memory|disk",
     .group = kLimits,
     .help = "where the layer is (auto: memory if it can be)",
     .man =
         "Where the layer is. With `memory` it is a tmpfs, which goes with the sandbox, "
         "whatever ends it. Before Linux 6.6 a tmpfs cannot be one. With `disk` it is a "
         "directory below the cache directory (`$XDG_CACHE_HOME/mayfly` or `~/.cache/mayfly`; "
         "root's is `/var/cache/mayfly`, unless `/var/cache` belongs to another user, as in a user "
         "namespace), which is removed at the end and, where mayfly was "
         "killed, by mayfly-gc(1). Its size is then looked at several times a second: a "
         "sandbox that is found above it ends with the reason `layer_limit`. The default, "
         "`auto`, is memory where that works, else disk.",
     .apply = [](Draft& d, Text v) -> Done { return set(d.spec.limits.layer, parse_layer(v)); },
     .text = [](const Spec& spec) { return Written(format_layer(spec.limits.layer)); }},
    {.name = "rlimit",
     .argument = "NAME=SOFT[:HARD]",
     .group = kLimits,
     .help = "limit of each process, like nofile=1024",
     .man = "Sets a resource limit of setrlimit(2) for each process of the command: one of `as`, "
            "`cpu`, `data`, `fsize`, `memlock`, `msgqueue`, `nofile`, `rttime`, `sigpending` and "
            "`stack`. A value is a number, a size like `64M` where it counts bytes, or "
            "`unlimited`. With one value the hard limit is the same. It cannot be above the "
            "caller's own hard limit.",
     .form = Form::Pairs,
     .key = "rlimits",
     .apply = set_rlimit},
    {.name = "cgroup-parent",
     .argument = "DIR",
     .group = kLimits,
     .help = "make the sandbox's cgroup below this one",
     .man = "Makes the sandbox's cgroup in this directory of the cgroup v2 tree, which must be "
            "writable for the caller. Where limits need controllers, they are enabled in it as "
            "long as sandboxes use it; no process may live directly in it then. See LIMITS.",
     .apply = [](Draft& d, Text v) -> Done {
       return set(d.spec.limits.cgroup_parent, absolute_path(d.working_dir, v));
     },
     .text = text_text<&Limits::cgroup_parent>},
    {.name = "limits",
     .argument = "strict|best-effort",
     .group = kLimits,
     .help = "refuse limits that cannot be held here (strict)",
     .man = "What becomes of a limit that this host cannot hold. With `strict`, the default, the "
            "command is not started. With `best-effort` it is, and the result says of each limit "
            "whether it is enforced.",
     .apply = [](Draft& d, Text v) -> Done {
       return set(d.spec.limits.strictness, parse_strictness(v));
     },
     .text = [](const Spec& spec) { return Written(format_strictness(spec.limits.strictness)); }},
};

}  // namespace mayfly::spec::setters
