// SIGKILL at system calls: of the supervisor, of the child half and init, of the caller, at the
// entry and the exit of every call that they make between their execve and their end. Whatever they
// were doing, no process, mount, file or layer stays, and what else may stay is gone after gc.
//
// MAYFLY_FAULT_STRIDE=1 goes through all stops, one after the other; otherwise every 5th is tried.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "fault/tracer.hpp"
#include "harness/hooked.hpp"
#include "harness/host.hpp"
#include "harness/sandbox.hpp"
#include "harness/suite.hpp"

using namespace harness;
using fault::Ending;
using fault::Kill;
using fault::Role;

namespace {

// Writes to the layer and to the project, leaves a child behind that would stay, lives a little.
constexpr const char* kTask =
    "head -c 16777216 /dev/zero > /tmp/big; echo x > made; "
    "/targets/probe hold \"$1\" > /dev/null & sleep 0.02; exit 7";
constexpr int kTaskCode = 7;
constexpr std::size_t kLayerKilobytes = 16 << 10;

unsigned stride() {
  const char* text = std::getenv("MAYFLY_FAULT_STRIDE");
  const int number = text == nullptr ? 5 : std::atoi(text);
  return static_cast<unsigned>(std::max(number, 1));
}

// Pages of all tmpfs mounts and of shared memory, in KiB.
std::size_t shared_memory() {
  for (const std::string& line : lines(read_file("/proc/meminfo")))
    if (line.starts_with("Shmem:")) return std::stoul(line.substr(6));
  FAIL("no Shmem in /proc/meminfo");
  return 0;
}

// Registry entries and cgroups of this user's sandboxes: other tests may run some right now.
std::set<std::string> remains() {
  std::set<std::string> found;
  for (const std::string& entry : registry_entries())
    if (!entry.starts_with('.')) found.insert(entry);
  for (const std::string& cgroup : leftovers_of("mayfly-")) {
    struct stat info = {};
    if (::stat(cgroup.c_str(), &info) == 0 && info.st_uid == ::geteuid()) found.insert(cgroup);
  }
  return found;
}

// What was not there before is gone after some rounds of gc, and with it what other tests had.
void check_collected(const std::set<std::string>& before) {
  std::set<std::string> left;
  for (const std::string& each : remains())
    if (before.count(each) == 0) left.insert(each);
  const bool gone = within(paced(30'000), [&] {
    static_cast<void>(Command({mayfly_path(), "gc"}).run());
    const std::set<std::string> now = remains();
    for (auto each = left.begin(); each != left.end();)
      each = now.count(*each) == 0 ? left.erase(each) : std::next(each);
    if (!left.empty()) std::this_thread::sleep_for(paced(300));
    return left.empty();
  });
  CHECK_MESSAGE(
      gone, left.size() << " are left after gc, such as " << (left.empty() ? "" : *left.begin()));
}

// One run, killed. Returns what became of it; the ends that every kill must have are checked here.
Ending kill_one(const Kill& kill) {
  const std::string marker = new_marker();
  const TempDir project, reports;
  Words words = {mayfly_path(), "run",
                 "--ttl",       paced_text(20'000),
                 "--grace",     "0",
                 "--ro",        targets_path() + ":/targets",
                 "--result",    reports / "result.json"};
  // A run with a name is in the registry from the start, another one only later.
  if (kill.stop % 4 < 2) words.insert(words.end(), {"--name", marker});
  words.insert(words.end(), {"--", "/bin/sh", "-c", kTask, "sh", marker});
  const Ending ending = fault::run_and_kill(
      {.argv = words, .directory = project.path(), .out = reports / "out", .err = reports / "err"},
      kill);
  CAPTURE(kill.stop);
  CAPTURE(ending.where);
  CAPTURE(read_file(reports / "err"));
  CHECK(ending.survivors == "");
  CHECK(processes_with(marker).empty());
  CHECK_FALSE(exists(project / "made"));

  nlohmann::json result;
  if (exists(reports / "result.json"))  // written by rename: there is a whole one or none
    result = nlohmann::json::parse(read_file(reports / "result.json"));
  if (kill.victim == Role::Supervisor && ending.reached) return ending;
  REQUIRE(result.is_object());
  CHECK(WIFEXITED(ending.supervisor_status));
  CHECK(result.at("code") == WEXITSTATUS(ending.supervisor_status));
  CHECK(result.at("clean") == true);
  const std::string reason = result.at("reason");
  CAPTURE(reason);
  if (result.at("code") == kTaskCode) {
    CHECK(reason == "exited");
  } else if (kill.victim == Role::Init) {
    CHECK(result.at("code") == 125);
    // Once the task may run, nobody can tell that it does not but init: then nothing is claimed.
    const bool unsure =
        contains(read_file(reports / "err"), "cannot tell whether the task was started");
    CHECK(reason == (result.at("started") == true || unsure ? "supervisor_lost" : "setup_failed"));
  } else {
    CHECK(result.at("code") == 143);
    CHECK(reason == "cancelled");
  }
  return ending;
}

// Kills at every stride-th stop, until the run is over before the stop comes.
void kill_at_each(Role counted, Role victim, unsigned least_stops) {
  const std::size_t mounts = mount_count();
  const std::size_t memory = shared_memory();
  const std::set<std::string> before = remains();
  unsigned kills = 0, after_exec = 0, stop = 1;
  milliseconds slowest{0};
  for (;; stop += stride()) {
    const Ending ending = kill_one({.counted = counted, .victim = victim, .stop = stop});
    if (!ending.reached) break;
    ++kills;
    after_exec += ending.after_exec;
    slowest = std::max(slowest, ending.gone_after);
  }
  std::printf("killed at %u of about %u stops, at %u of them after an execve; slowest end %d ms\n",
              kills, stop, after_exec, static_cast<int>(slowest.count()));
  CHECK(stop > least_stops);  // fewer: a stop was not seen
  CHECK(kills >= least_stops / stride());
  CHECK(after_exec > 0);
  CHECK(mount_count() == mounts);
  // Four layers that were not freed would show; what other tests hold meanwhile does not.
  CHECK(within(paced(20'000), [&] { return shared_memory() < memory + 4 * kLayerKilobytes; }));
  check_collected(before);
}

}  // namespace

TEST_CASE("SIGKILL of the supervisor at its system calls leaves nothing") {
  kill_at_each(Role::Supervisor, Role::Supervisor, 200);
}

TEST_CASE("SIGKILL of the child half and of init at their system calls: a result, nothing left") {
  kill_at_each(Role::Init, Role::Init, 300);
}

TEST_CASE("SIGKILL of the caller at the supervisor's system calls: cancelled, nothing left") {
  kill_at_each(Role::Supervisor, Role::Caller, 200);
}

TEST_CASE(
    "a set-up that stands still ends with its caller and by a signal and not at its deadline") {
  struct Case {
    Role victim;
    int signal;
  };
  for (const Case& each : {Case{Role::Caller, SIGKILL}, {Role::Supervisor, SIGTERM}}) {
    CAPTURE(each.signal);
    const TempDir reports;
    const Ending ending = fault::run_and_kill(
        {.argv = {mayfly_path(), "run", "--result", reports / "result.json", "--", "/bin/true"},
         .directory = reports.path(),
         .out = reports / "out",
         .err = reports / "err"},
        {.counted = Role::Init,
         .victim = each.victim,
         .stop = 100,
         .signal = each.signal,
         .hold = true});
    CAPTURE(ending.where);
    CAPTURE(read_file(reports / "err"));
    REQUIRE(ending.reached);
    CHECK_FALSE(ending.after_exec);
    CHECK(ending.survivors == "");
    CHECK(ending.gone_after < milliseconds(20'000));  // of 30 s
    const auto result = nlohmann::json::parse(read_file(reports / "result.json"));
    CHECK(result.at("reason") == "cancelled");
    CHECK(result.at("code") == 143);
    CHECK(result.at("cancelled_by") == (each.victim == Role::Caller ? "caller" : "signal"));
    CHECK(result.at("clean") == true);
  }
}

TEST_CASE("a child half or an init that cannot run dies of its supervisor's death") {
  // Held at a stop of ptrace it reads no socket and looks at no pidfd: only the kernel ends it.
  const auto survivors = [](const Words& program, unsigned stop) {
    const TempDir reports;
    Words words = program;
    words.insert(words.end(), {"run", "--ttl", paced_text(20'000), "--", "/bin/sleep", "0.2"});
    return fault::run_and_kill(
        {.argv = words,
         .directory = reports.path(),
         .out = reports / "out",
         .err = reports / "err"},
        {.counted = Role::Init, .victim = Role::Supervisor, .stop = stop, .hold = true});
  };
  unsigned after_exec = 0, unprotected = 0;
  for (unsigned stop = 100;; stop += 50) {
    CAPTURE(stop);
    const Ending ending = survivors({mayfly_path()}, stop);
    if (!ending.reached) break;
    CAPTURE(ending.where);
    // An id change clears the signal: until it is asked for again, only running on would end it.
    const bool in_between = is_root() && !ending.after_exec && ending.survivors == "init ";
    if (in_between)
      ++unprotected;
    else
      CHECK(ending.survivors == "");
    after_exec += ending.after_exec;
  }
  CHECK(after_exec > 0);
  CHECK(unprotected <= 2);  // there are two such moments, far shorter than this test's stride

  const std::string left_out =
      "MAYFLY_TEST_WITHOUT=" + std::to_string(static_cast<unsigned>(Step::ParentDeath));
  const Ending ending =
      survivors({"/usr/bin/env", left_out, targets_path() + "/mayfly-hooked"}, 200);
  CHECK(ending.reached);
  CHECK_FALSE(ending.after_exec);
  CHECK(contains(ending.survivors, "init"));
}
