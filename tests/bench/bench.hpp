// The benchmark's parts: variants (what to start), measure (one start, many starts), loads (what
// happens under load), report (tables, goals). Results are one JSON value that report reads, so a
// saved file gives the same tables and checks as a fresh run.
#pragma once

#include <sys/types.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace mayfly::bench {

using Json = nlohmann::ordered_json;
using Argv = std::vector<std::string>;

// One thing to start. `wrap` is put before a command; empty for a plain start.
struct Variant {
  std::string name = {};
  Argv wrap = {};
  std::string missing = {};    // why it cannot run here; empty if it can
  bool fixed_command = false;  // wrap is the whole command (an OCI bundle names its own)
  int mount_ns = -1;           // started in this mount namespace, if any
  std::string note = {};       // what a reader must know to compare
  Argv with(const Argv& command) const;
};

struct Options {
  std::string floor, mayfly;  // programs; may not exist
  std::string work_dir;       // scratch directory of ours, the working directory of every start
  int runs = 200;
  bool quick = false;
  std::vector<int> live;           // how many other sandboxes live, in rising order
  std::vector<std::string> extra;  // NAME=COMMAND…: more variants, split at spaces
  std::vector<std::string> only;   // names of the variants to start; empty: all
};

// --- variants.cpp
// Every variant, each tried once: one that does not exit 0 is reported as missing, never dropped.
std::vector<Variant> find_variants(const Options& options);
const Variant* find(const std::vector<Variant>& variants, const std::string& name);
std::string program_path(const std::string& name);  // in PATH; empty if there is none

// --- measure.cpp
struct Run {
  double ms = 0;      // from just before the spawn to wait4's return
  double cpu_ms = 0;  // user and system time of the same processes as faults
  long faults = 0;    // of the process, its descendants, and what outlived it
  int outlived = 0;   // processes that were still there after it, seen as their subreaper
  int code = 0;       // exit code, 128 + signal
};
// Into another mount namespace (-1: none) for the time of a spawn, and back to where we were.
class MountNamespace {
 public:
  explicit MountNamespace(int fd);
  ~MountNamespace();
  MountNamespace(const MountNamespace&) = delete;
  MountNamespace& operator=(const MountNamespace&) = delete;

 private:
  int home_ = -1, directory_ = -1;
};
double now_ms();
pid_t spawn(const Argv& argv, int err = -1);  // stdin, stdout: /dev/null; err: stderr, or /dev/null
// Waits for the process, which is killed after 30 s; with Await, as a subreaper without other
// children, also for what outlived it.
enum class Orphans { Ignore, Await };
Run run_once(const Variant& variant, const Argv& command, Orphans orphans = Orphans::Ignore);
int wait_code(pid_t pid);
// p-th quantile (0..1) of unsorted values, by the nearest rank. Empty: 0.
double quantile(std::vector<double> values, double p);
// All variants interleaved in a new random order each round.
Json measure_starts(const std::vector<Variant>& variants, int rounds);

// --- loads.cpp: each returns its part of the results
Json measure_throughput(const std::vector<Variant>& variants, double seconds);
Json measure_memory(const std::vector<Variant>& variants);
Json measure_lateness(const Variant& mayfly, int sandboxes);
Json measure_teardown(const std::vector<Variant>& variants, int processes);
Json measure_growth(const std::vector<Variant>& variants, const std::vector<int>& live, int starts);

// --- report.cpp
void print_tables(const Json& results);
void print_readme(const Json& results);
// Prints each goal and whether it is met; false if one is missed or was not measured.
bool check_goals(const Json& results);

}  // namespace mayfly::bench
