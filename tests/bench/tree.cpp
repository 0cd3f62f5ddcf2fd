#include "tree.hpp"

#include <dirent.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

namespace mayfly::bench {
namespace {

// "PID (comm) S PPID …"; comm may hold anything, so its end is the last ')'.
bool parse_stat(const std::string& line, Process& process) {
  const std::size_t open = line.find('('), close = line.rfind(')');
  if (open == std::string::npos || close == std::string::npos) return false;
  process.name = line.substr(open + 1, close - open - 1);
  return sscanf(line.c_str(), "%d", &process.pid) == 1 &&
         sscanf(line.c_str() + close + 1, " %*c %d", &process.parent) == 1;
}

std::vector<Process> all_processes() {
  std::vector<Process> processes;
  DIR* proc = opendir("/proc");
  if (proc == nullptr) return processes;
  while (const dirent* entry = readdir(proc)) {
    if (entry->d_name[0] < '0' || entry->d_name[0] > '9') continue;
    std::ifstream stat(std::string("/proc/") + entry->d_name + "/stat");
    std::string line;
    Process process;
    if (std::getline(stat, line) && parse_stat(line, process)) processes.push_back(process);
  }
  closedir(proc);
  return processes;
}

std::vector<Process> below(const std::vector<pid_t>& tops) {
  const std::vector<Process> all = all_processes();
  std::set<pid_t> inside(tops.begin(), tops.end());
  std::vector<Process> found;
  // A child's pid may be smaller than its parent's, so go over the list until nothing is added.
  for (std::size_t before = 0; before != inside.size();) {
    before = inside.size();
    for (const Process& process : all)
      if (inside.count(process.parent) != 0 && inside.insert(process.pid).second)
        found.push_back(process);
  }
  return found;
}

}  // namespace

std::vector<Process> descendants(pid_t top) {
  return below({top});
}

bool wait_for(const std::vector<pid_t>& tops, const std::string& name, std::size_t count) {
  // Each look at a thousand of them takes an emulated machine a while itself.
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + std::chrono::minutes(5);
  for (unsigned pause_us = 50'000; Clock::now() < end; pause_us = 500'000) {
    std::size_t found = 0;
    for (const Process& process : below(tops))
      found += process.name == name;
    if (found >= count) return true;
    usleep(pause_us);
  }
  return false;
}

long private_dirty_kib(pid_t pid) {
  std::ifstream rollup("/proc/" + std::to_string(pid) + "/smaps_rollup");
  for (std::string line; std::getline(rollup, line);)
    if (line.rfind("Private_Dirty:", 0) == 0) return atol(line.c_str() + 14);
  return -1;
}

}  // namespace mayfly::bench
