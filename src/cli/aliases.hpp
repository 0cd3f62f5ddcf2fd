// What people type who know other tools: names of options that `mayfly run` does not have.
#pragma once

#include <string_view>

namespace mayfly::cli {

struct Alias {
  std::string_view typed;   // without the dashes
  std::string_view option;  // the one that does it, without the dashes; empty: none does
  std::string_view hint;
};

inline constexpr std::string_view kNoNetwork =
    "there is no network inside but the sandbox's own loopback, and no option for more";
inline constexpr std::string_view kMemory = "a limit of memory is --memory SIZE";
inline constexpr std::string_view kBinds =
    "--ro SRC:DST shows a directory read-only, --rw live, --cow on a copy";

inline constexpr Alias kAliases[] = {
    {"timeout", "ttl", "a time limit is --ttl DURATION"},
    {"time", "ttl", "a time limit is --ttl DURATION"},
    {"time-limit", "ttl", "a time limit is --ttl DURATION"},
    {"net", {}, kNoNetwork},
    {"network", {}, kNoNetwork},
    {"share-net", {}, kNoNetwork},
    {"mem", "memory", kMemory},
    {"m", "memory", kMemory},
    {"memory-max", "memory", kMemory},
    {"cpu", "cpus", "a limit of processors is --cpus N"},
    {"ulimit", "rlimit", "a resource limit is --rlimit NAME=SOFT[:HARD]"},
    {"cwd", "chdir", "the directory to start in is --chdir DIR"},
    {"workdir", "chdir", "the directory to start in is --chdir DIR"},
    {"w", "chdir", "the directory to start in is --chdir DIR"},
    {"bind", "rw", kBinds},
    {"mount", "rw", kBinds},
    {"volume", "rw", kBinds},
    {"v", {}, "`mayfly version` prints the version; --ro and --rw show directories"},
    {"ro-bind", "ro", kBinds},
    {"setenv", "env", "a variable is set by --env NAME=VALUE"},
    {"uid", "user", "the command's user is --user USER[:GROUP]"},
    {"pids-limit", "pids", "the limit of processes is --pids N"},
    {"json",
     {},
     "before run it is an option of explain: mayfly explain --json run make; --status-fd and "
     "--result tell of a run as JSON"},
    {"dry-run", {}, "mayfly explain run tells what would be done"},
    {"output", "result", "the result goes to a file by --result FILE"},
};

}  // namespace mayfly::cli
