// The host around a sandbox, as seen by a bystander: what is alive, mounted, left over.
#pragma once

#include <sys/types.h>

#include <string>
#include <thread>
#include <vector>

#include "harness/process.hpp"

namespace harness {

// Processes, zombies excluded, that have `word` in their command line.
[[nodiscard]] std::vector<pid_t> processes_with(const std::string& word);
// Waits until `count` of them live; the test fails if they do not appear in 10 seconds.
std::vector<pid_t> await_processes(const std::string& word, std::size_t count);

// The children of a process, and theirs, zombies included.
[[nodiscard]] std::vector<pid_t> descendants(pid_t pid);
// "S", "T", "Z" … of /proc/PID/stat; '\0' if there is no such process.
[[nodiscard]] char state_of(pid_t pid);

// The directory of a process's cgroup in the v2 tree; "" where there is none.
[[nodiscard]] std::string cgroup_of(pid_t pid);

// Whether this kernel's version is below major.minor.
[[nodiscard]] bool kernel_is_older_than(int major, int minor);

// Lines of our own mount table.
[[nodiscard]] std::size_t mount_count();
// Open descriptors of our own.
[[nodiscard]] std::size_t descriptor_count();
// Network namespaces that the kernel holds memory for; 0 where only root may know.
[[nodiscard]] std::size_t net_namespace_count();
// What a sandbox may leave only until the next start: cgroup directories and registry entries that
// carry its id.
[[nodiscard]] std::vector<std::string> leftovers_of(const std::string& id);
// All entries of the registry of this user.
[[nodiscard]] std::vector<std::string> registry_entries();

// True as soon as the condition holds; false if it does not within `limit`.
template <class Condition>
[[nodiscard]] bool within(milliseconds limit, Condition condition) {
  const auto end = Clock::now() + limit;
  while (!condition()) {
    if (Clock::now() > end) return false;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return true;
}

}  // namespace harness
