// One start and many: spawn by vfork (posix_spawn) to the exit that wait4 shows.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <numeric>
#include <random>

#include "bench.hpp"

extern char** environ;

namespace mayfly::bench {
namespace {

const Argv kTask = {"/usr/bin/true"};
constexpr unsigned kPatienceSeconds = 30;
volatile sig_atomic_t watched_pid = 0;

void kill_watched(int) {
  if (watched_pid > 0) kill(watched_pid, SIGKILL);
}

int code_of(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void add_usage(Run& run, const rusage& usage) {
  const auto ms = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) / 1e3;
  };
  run.cpu_ms += ms(usage.ru_utime) + ms(usage.ru_stime);
  run.faults += usage.ru_minflt + usage.ru_majflt;
}

struct Series {
  std::vector<double> ms, cpu_ms, faults, outlived;
};

// strace counts every call of the tree once; the timing is worthless, the number is not.
Json count_syscalls(const Variant& variant) {
  const std::string strace = program_path("strace");
  if (strace.empty()) return {{"value", nullptr}, {"why_not", "strace is not installed"}};
  char file[] = "/tmp/mayfly-bench-strace-XXXXXX";
  const int fd = mkstemp(file);
  if (fd < 0) return {{"value", nullptr}, {"why_not", "no temporary file"}};
  Variant traced = variant;
  traced.wrap.insert(traced.wrap.begin(), {strace, "-f", "-c", "-o", file});
  const Run run = run_once(traced, kTask);
  FILE* text = fdopen(fd, "r");
  char line[512];
  long calls = -1;
  while (text != nullptr && fgets(line, sizeof line, text) != nullptr) {
    // "100.00    0.001234           5       234        12 total"
    long usecs = 0, count = 0;
    if (std::string(line).find(" total") != std::string::npos &&
        sscanf(line, "%*f %*f %ld %ld", &usecs, &count) == 2)
      calls = count;
  }
  if (text != nullptr) fclose(text);
  unlink(file);
  if (run.code != 0 || calls < 0)
    return {{"value", nullptr},
            {"why_not", "it exits " + std::to_string(run.code) + " under strace"}};
  return {{"value", calls}};
}

}  // namespace

MountNamespace::MountNamespace(int fd) {
  if (fd < 0) return;
  home_ = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
  directory_ = open(".", O_PATH | O_CLOEXEC);
  if (setns(fd, CLONE_NEWNS) != 0) perror("bench: setns");
}

MountNamespace::~MountNamespace() {
  if (home_ < 0) return;
  if (setns(home_, CLONE_NEWNS) != 0 || fchdir(directory_) != 0) perror("bench: setns back");
  close(home_);
  close(directory_);
}

double now_ms() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

pid_t spawn(const Argv& argv, int err) {
  std::vector<char*> pointers;
  for (const std::string& word : argv)
    pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&files, err < 0 ? 1 : err, 2);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, argv[0].c_str(), &files, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) {
    fprintf(stderr, "bench: cannot start %s: errno %d\n", argv[0].c_str(), error);
    exit(1);
  }
  return pid;
}

int wait_code(pid_t pid) {
  int status = 0;
  return waitpid(pid, &status, 0) == pid ? code_of(status) : -1;
}

Run run_once(const Variant& variant, const Argv& command, Orphans orphans) {
  struct sigaction on_alarm {};
  on_alarm.sa_handler = kill_watched;
  on_alarm.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &on_alarm, nullptr);
  const Argv argv = variant.with(command);
  rusage usage{};
  int status = 0;
  double start = 0;
  {
    const MountNamespace there(variant.mount_ns);
    start = now_ms();
    watched_pid = spawn(argv);
  }
  alarm(kPatienceSeconds);
  while (wait4(watched_pid, &status, 0, &usage) < 0) {
  }
  Run run = {.ms = now_ms() - start, .code = code_of(status)};
  add_usage(run, usage);
  // A tool may end before its sandbox does; its page faults count too.
  if (orphans == Orphans::Await)
    for (; wait4(-1, &status, 0, &usage) > 0; ++run.outlived)
      add_usage(run, usage);
  watched_pid = 0;
  alarm(0);
  return run;
}

double quantile(std::vector<double> values, double p) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double rank = std::ceil(p * static_cast<double>(values.size())) - 1;
  return values[static_cast<std::size_t>(std::max(rank, 0.0))];
}

Json measure_starts(const std::vector<Variant>& variants, int rounds) {
  std::map<std::string, Series> series;
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  std::mt19937 random(1);  // the same order in every run of the benchmark
  std::vector<std::size_t> order(variants.size());
  std::iota(order.begin(), order.end(), 0);
  for (int round = -1; round < rounds; ++round) {  // round -1 warms caches
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t which : order) {
      const Variant& variant = variants[which];
      if (!variant.missing.empty()) continue;
      const Run run = run_once(variant, kTask, Orphans::Await);
      if (run.code != 0) {
        fprintf(stderr, "bench: %s: exit code %d\n", variant.name.c_str(), run.code);
        exit(1);
      }
      if (round < 0) continue;
      series[variant.name].ms.push_back(run.ms);
      series[variant.name].cpu_ms.push_back(run.cpu_ms);
      series[variant.name].faults.push_back(static_cast<double>(run.faults));
      series[variant.name].outlived.push_back(run.outlived);
    }
  }
  prctl(PR_SET_CHILD_SUBREAPER, 0);
  Json table = Json::array();
  for (const Variant& variant : variants) {
    Json row = {{"name", variant.name}};
    if (!variant.missing.empty()) {
      row["missing"] = variant.missing;
    } else {
      const Series& measured = series[variant.name];
      row["n"] = measured.ms.size();
      row["p10_ms"] = quantile(measured.ms, 0.1);
      row["p50_ms"] = quantile(measured.ms, 0.5);
      row["p90_ms"] = quantile(measured.ms, 0.9);
      row["cpu_p50_ms"] = quantile(measured.cpu_ms, 0.5);
      row["page_faults"] = static_cast<long>(quantile(measured.faults, 0.5));
      row["outlived"] = static_cast<long>(quantile(measured.outlived, 0.5));
      if (!variant.note.empty()) row["note"] = variant.note;
      row["syscalls"] = count_syscalls(variant);
    }
    table.push_back(row);
  }
  return table;
}

}  // namespace mayfly::bench
