// The process tree as /proc shows it: to find what runs inside a sandbox from the outside.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace mayfly::bench {

struct Process {
  pid_t pid = 0, parent = 0;
  std::string name;  // comm
};

// Every process below `top` (itself excluded), in any pid namespace below ours.
std::vector<Process> descendants(pid_t top);

// Waits up to five minutes until `count` processes called `name` are below the given ones; true if
// so.
bool wait_for(const std::vector<pid_t>& tops, const std::string& name, std::size_t count);

// Private_Dirty of one process in KiB, or -1 if it cannot be read.
long private_dirty_kib(pid_t pid);

}  // namespace mayfly::bench
