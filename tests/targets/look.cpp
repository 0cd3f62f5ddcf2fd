// What a task can see of itself.
#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "probe.hpp"

namespace probe {
namespace {

constexpr int kMostFds = 4096;

std::string link_text(const std::string& path) {
  char text[4096];
  const ssize_t n = ::readlink(path.c_str(), text, sizeof text);
  return n < 0 ? "?" : std::string(text, static_cast<std::size_t>(n));
}

void print_numbers(const char* key, const std::vector<int>& numbers) {
  std::printf("%s ", key);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    std::printf("%s%d", i == 0 ? "" : ",", numbers[i]);
  std::printf("%s\n", numbers.empty() ? "none" : "");
}

std::vector<int> members(const sigset_t& set) {
  std::vector<int> numbers;
  for (int signal = 1; signal < NSIG; ++signal)
    if (sigismember(&set, signal) == 1) numbers.push_back(signal);
  return numbers;
}

struct Limit {
  const char* name;
  __rlimit_resource_t resource;
};
constexpr Limit kLimits[] = {
    {"core", RLIMIT_CORE},       {"nofile", RLIMIT_NOFILE},         {"nproc", RLIMIT_NPROC},
    {"memlock", RLIMIT_MEMLOCK}, {"msgqueue", RLIMIT_MSGQUEUE},     {"nice", RLIMIT_NICE},
    {"rtprio", RLIMIT_RTPRIO},   {"sigpending", RLIMIT_SIGPENDING}, {"stack", RLIMIT_STACK},
};

}  // namespace

int ids(const Words&) {
  uid_t uid, euid, suid;
  gid_t gid, egid, sgid;
  ::getresuid(&uid, &euid, &suid);
  ::getresgid(&gid, &egid, &sgid);
  std::printf("uids %u %u %u\ngids %u %u %u\n", uid, euid, suid, gid, egid, sgid);
  gid_t groups[256];
  const int count = ::getgroups(256, groups);
  print_numbers("groups", std::vector<int>(groups, groups + std::max(count, 0)));
  return 0;
}

// By fcntl, not by listing /proc/self/fd, which may be missing and opens a descriptor of its own.
int fds(const Words&) {
  for (int fd = 0; fd < kMostFds; ++fd) {
    const int flags = ::fcntl(fd, F_GETFL);
    if (flags < 0) continue;
    const char* const access[] = {"r", "w", "rw", "?"};
    std::printf("%d %s %s\n", fd, access[flags & O_ACCMODE],
                link_text("/proc/self/fd/" + std::to_string(fd)).c_str());
  }
  return 0;
}

int namespaces(const Words&) {
  for (const char* name : {"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"}) {
    struct stat info;
    if (::stat(("/proc/self/ns/" + std::string(name)).c_str(), &info) == 0)
      std::printf("%s %lu\n", name, static_cast<unsigned long>(info.st_ino));
  }
  return 0;
}

int limits(const Words&) {
  for (const Limit& each : kLimits) {
    struct rlimit value;
    ::getrlimit(each.resource, &value);
    std::printf("%s %lld %lld\n", each.name, static_cast<long long>(value.rlim_cur),
                static_cast<long long>(value.rlim_max));
  }
  return 0;
}

int signals(const Words&) {
  std::vector<int> ignored, handled;
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action;
    if (::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN)
      ignored.push_back(signal);
  }
  sigset_t blocked, pending;
  ::sigprocmask(SIG_SETMASK, nullptr, &blocked);
  ::sigpending(&pending);
  print_numbers("ignored", ignored);
  print_numbers("blocked", members(blocked));
  print_numbers("pending", members(pending));
  return 0;
}

int processes(const Words&) {
  DIR* proc = ::opendir("/proc");
  if (proc == nullptr) return 1;
  while (const dirent* entry = ::readdir(proc)) {
    if (std::atoi(entry->d_name) <= 0) continue;
    FILE* stat = std::fopen(("/proc/" + std::string(entry->d_name) + "/stat").c_str(), "re");
    if (stat == nullptr) continue;
    int pid = 0;
    char name[64] = "", state = '?';
    if (std::fscanf(stat, "%d (%63[^)]) %c", &pid, name, &state) == 3)
      std::printf("%d %c %s\n", pid, state, name);
    std::fclose(stat);
  }
  ::closedir(proc);
  return 0;
}

}  // namespace probe
