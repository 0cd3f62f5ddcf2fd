// What one start does not show: many workers, memory, deadlines, teardown, many live sandboxes.
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <initializer_list>
#include <map>

#include "bench.hpp"
#include "tree.hpp"

namespace mayfly::bench {
namespace {

const Argv kTrue = {"/usr/bin/true"};
const Argv kSleep = {"/usr/bin/sleep", "120"};

Json missing(const std::string& why) {
  return {{"value", nullptr}, {"why_not", why}};
}

int open_pidfd(pid_t pid) {
  return static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
}

// Starts per second of `workers` processes, each of which starts one command after the other.
double starts_per_second(const Variant& variant, int workers, double seconds) {
  void* memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  long* counts = static_cast<long*>(memory);
  const double start = now_ms(), deadline = start + seconds * 1e3;
  std::vector<pid_t> pids;
  for (int worker = 0; worker < workers; ++worker) {
    const pid_t pid = fork();
    if (pid == 0) {
      while (now_ms() < deadline) {
        if (run_once(variant, kTrue).code != 0) _exit(1);
        ++counts[worker];
      }
      _exit(0);
    }
    pids.push_back(pid);
  }
  bool good = true;
  for (const pid_t pid : pids)
    good &= wait_code(pid) == 0;
  const double elapsed = now_ms() - start;  // the last starts end after the deadline
  long total = 0;
  for (int worker = 0; worker < workers; ++worker)
    total += counts[worker];
  munmap(memory, 4096);
  return good ? static_cast<double>(total) / (elapsed / 1e3) : 0;
}

// A floor that was killed leaves its empty cgroup, as a killed mayfly may; nobody else removes it.
void remove_cgroup_of_floor(pid_t top) {
  std::ifstream file("/proc/self/cgroup");
  std::string own;
  while (std::getline(file, own) && own.rfind("0::", 0) != 0) {
  }
  if (own.rfind("0::", 0) != 0) return;
  const std::string name = own.substr(3) + "/floor-" + std::to_string(top);
  for (const char* mounted : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"})
    for (int tries = 0; tries < 100; ++tries) {
      if (rmdir((mounted + name).c_str()) == 0 || errno != EBUSY) break;
      usleep(10'000);
    }
}

// Ends sandboxes and waits for them. mayfly is asked first, so that it leaves nothing; the floor
// listens to no signal.
void end_all(const Variant& variant, const std::vector<pid_t>& tops) {
  const bool listens = variant.name.rfind("mayfly", 0) == 0;
  for (const pid_t pid : tops)
    kill(pid, listens ? SIGTERM : SIGKILL);
  for (const pid_t pid : tops) {
    if (const int fd = listens ? open_pidfd(pid) : -1; fd >= 0) {
      pollfd end = {.fd = fd, .events = POLLIN, .revents = 0};
      if (poll(&end, 1, 10'000) == 0) kill(pid, SIGKILL);
      close(fd);
    }
    wait_code(pid);
    remove_cgroup_of_floor(pid);
  }
}

// Milliseconds until every descriptor is readable, counted from `start`; -1 after 10 s.
double wait_readable(std::vector<pollfd> waiting, double start) {
  while (!waiting.empty()) {
    const double left = start + 10'000 - now_ms();
    if (left <= 0 || poll(waiting.data(), waiting.size(), static_cast<int>(left)) <= 0) return -1;
    std::erase_if(waiting, [](const pollfd& fd) { return fd.revents != 0; });
  }
  return now_ms() - start;
}

Json teardown_once(const Variant& variant, int processes) {
  const std::string script = "i=0; while [ $i -lt " + std::to_string(processes) +
                             " ]; do /usr/bin/sleep 60 & i=$((i+1)); done; wait";
  const bool plain = variant.wrap.empty();
  // Without a sandbox the shell leads a process group of its own, which killpg ends.
  const Argv command = {"/bin/sh", "-c", script};
  const pid_t top =
      spawn(plain ? Argv{"/usr/bin/setsid", "/bin/sh", "-c", script} : variant.with(command));
  if (!wait_for({top}, "sleep", static_cast<std::size_t>(processes))) {
    end_all(variant, {top});
    return missing("the processes did not start");
  }
  std::vector<pollfd> ends;
  for (const Process& process : descendants(top))
    if (const int fd = open_pidfd(process.pid); fd >= 0)
      ends.push_back({.fd = fd, .events = POLLIN, .revents = 0});
  const double start = now_ms();
  kill(plain ? -top : top, SIGKILL);
  const double elapsed = wait_readable(ends, start);
  wait_code(top);
  for (const pollfd& end : ends) {
    if (elapsed < 0) syscall(SYS_pidfd_send_signal, end.fd, SIGKILL, nullptr, 0);
    close(end.fd);
  }
  remove_cgroup_of_floor(top);
  if (elapsed < 0) return missing("processes survived the SIGKILL of their sandbox for 10 s");
  return {{"value", elapsed}};
}

std::vector<const Variant*> those_of(const std::vector<Variant>& variants,
                                     std::initializer_list<const char*> names) {
  std::vector<const Variant*> found;
  for (const char* name : names)
    if (const Variant* variant = find(variants, name)) found.push_back(variant);
  return found;
}

std::vector<const Variant*> sandboxes(const std::vector<Variant>& variants) {
  return those_of(variants, {"floor", "mayfly", "bwrap"});
}

std::vector<const Variant*> plain_and_sandboxes(const std::vector<Variant>& variants) {
  return those_of(variants, {"plain", "floor", "mayfly", "bwrap"});
}

}  // namespace

Json measure_throughput(const std::vector<Variant>& variants, double seconds) {
  const std::vector<const Variant*> chosen = plain_and_sandboxes(variants);
  std::map<std::string, std::map<int, std::vector<double>>> rates;
  for (int pass = 0; pass < 3; ++pass)
    for (const int workers : {2, 8})
      for (const Variant* variant : chosen)
        rates[variant->name][workers].push_back(starts_per_second(*variant, workers, seconds / 3));
  Json rows = Json::array();
  for (const Variant* variant : chosen)
    rows.push_back({{"name", variant->name},
                    {"per_second_2", quantile(rates[variant->name][2], 0.5)},
                    {"per_second_8", quantile(rates[variant->name][8], 0.5)}});
  return rows;
}

Json measure_memory(const std::vector<Variant>& variants) {
  Json rows = Json::array();
  for (const Variant* variant : sandboxes(variants)) {
    const pid_t top = spawn(variant->with(kSleep));
    Json row = {{"name", variant->name}};
    long sum = private_dirty_kib(top);
    int processes = 1;
    if (!wait_for({top}, "sleep", 1)) sum = -1;
    if (sum >= 0) sum = private_dirty_kib(top);
    for (const Process& process : descendants(top)) {
      if (process.name == "sleep" || sum < 0) continue;
      const long kib = private_dirty_kib(process.pid);
      sum = kib < 0 ? -1 : sum + kib;
      ++processes;
    }
    row["processes"] = processes;
    row["private_dirty_kib"] =
        sum < 0 ? missing("smaps_rollup of a process of the sandbox is not readable")
                : Json{{"value", sum}};
    rows.push_back(row);
    end_all(*variant, {top});
  }
  return rows;
}

// All live at once, started 10 ms apart; the start is part of what a caller sees.
Json measure_lateness(const Variant& mayfly, int sandboxes) {
  Argv argv = mayfly.wrap;
  argv.pop_back();  // "--"
  for (const char* word : {"--ttl", "1s", "--", "/usr/bin/sleep", "60"})
    argv.push_back(word);
  std::map<int, std::pair<pid_t, double>> live;  // by pidfd: pid and start
  std::vector<double> late;
  int wrong_codes = 0, started = 0;
  const double begin = now_ms();
  while ((started < sandboxes || !live.empty()) && now_ms() < begin + 30'000) {
    if (started < sandboxes && now_ms() >= begin + 10.0 * started) {
      const double start = now_ms();
      const pid_t pid = spawn(argv);
      live[open_pidfd(pid)] = {pid, start};
      ++started;
    }
    std::vector<pollfd> fds;
    for (const auto& [fd, unused] : live)
      fds.push_back({.fd = fd, .events = POLLIN, .revents = 0});
    const double next = started < sandboxes ? begin + 10.0 * started - now_ms() : 1000;
    poll(fds.data(), fds.size(), static_cast<int>(std::max(next, 0.0)));
    const double now = now_ms();
    for (const pollfd& fd : fds) {
      if (fd.revents == 0) continue;
      late.push_back(now - live[fd.fd].second - 1000);
      wrong_codes += wait_code(live[fd.fd].first) != 124;
      close(fd.fd);
      live.erase(fd.fd);
    }
  }
  const std::size_t overdue = live.size();
  for (const auto& [fd, entry] : live) {
    end_all(mayfly, {entry.first});
    close(fd);
  }
  return {{"n", late.size()},
          {"p50_ms", quantile(late, 0.5)},
          {"p90_ms", quantile(late, 0.9)},
          {"max_ms", quantile(late, 1)},
          {"exit_code_not_124", wrong_codes},
          {"never_ended", overdue}};
}

Json measure_teardown(const std::vector<Variant>& variants, int processes) {
  const std::vector<const Variant*> chosen = plain_and_sandboxes(variants);
  Json rows = Json::array();
  for (const Variant* variant : chosen)
    rows.push_back({{"name", variant->wrap.empty() ? "killpg" : variant->name},
                    {"processes", processes},
                    {"ms", teardown_once(*variant, processes)}});
  return rows;
}

Json measure_growth(const std::vector<Variant>& variants, const std::vector<int>& live,
                    int starts) {
  Json rows = Json::array();
  for (const Variant* variant : sandboxes(variants)) {
    std::vector<pid_t> tops;
    for (const int wanted : live) {
      while (tops.size() < static_cast<std::size_t>(wanted))
        tops.push_back(spawn(variant->with(kSleep)));
      Json row = {{"name", variant->name}, {"live", wanted}};
      if (wait_for(tops, "sleep", tops.size())) {
        std::vector<double> ms;
        for (int i = 0; i < starts; ++i)
          ms.push_back(run_once(*variant, kTrue).ms);
        row["p50_ms"] = quantile(ms, 0.5);
      } else {
        row["p50_ms"] = nullptr;
        row["why_not"] = "not all live sandboxes started";
      }
      rows.push_back(row);
    }
    end_all(*variant, tops);
  }
  return rows;
}

}  // namespace mayfly::bench
