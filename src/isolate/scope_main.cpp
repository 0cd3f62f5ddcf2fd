// mayfly-scope user|system UNIT PID: asks the systemd manager for a transient scope with
// Delegate=yes that holds the process, and exits with 0 once it is in it. Otherwise one line on
// standard error.
//
// A program of its own, since libsystemd is a shared library and mayfly is static. See scope.hpp.
#include <sys/prctl.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

constexpr const char* kService = "org.freedesktop.systemd1";
constexpr const char* kPath = "/org/freedesktop/systemd1";
constexpr const char* kManager = "org.freedesktop.systemd1.Manager";
constexpr std::uint64_t kPatienceUs = 15'000'000;

int complain(const char* what, int error) {
  std::fprintf(stderr, "%s: %s\n", what, std::strerror(error < 0 ? -error : error));
  return 1;
}

// What is waited for, and what was heard of it. The signal may come before the answer that names
// the job: so it is known by the unit.
struct Job {
  std::string unit;
  std::string result;  // empty: not over yet
};

int job_removed(sd_bus_message* message, void* data, sd_bus_error*) {
  Job& job = *static_cast<Job*>(data);
  std::uint32_t id = 0;
  const char *path = nullptr, *unit = nullptr, *result = nullptr;
  if (sd_bus_message_read(message, "uoss", &id, &path, &unit, &result) < 0) return 0;
  if (job.unit == unit) job.result = result;
  return 0;
}

int add_properties(sd_bus_message* call, std::uint32_t pid) {
  int error = sd_bus_message_open_container(call, 'a', "(sv)");
  if (error < 0) return error;
  error = sd_bus_message_append(call, "(sv)(sv)(sv)(sv)", "Description", "s",
                                "The cgroup of a mayfly sandbox", "Delegate", "b", 1, "CollectMode",
                                "s", "inactive-or-failed", "PIDs", "au", 1, pid);
  if (error < 0) return error;
  error = sd_bus_message_close_container(call);
  return error < 0 ? error : sd_bus_message_append(call, "a(sa(sv))", 0);
}

int ask(sd_bus* bus, const Job& job, std::uint32_t pid) {
  sd_bus_message* call = nullptr;
  sd_bus_error why = {};
  int error =
      sd_bus_message_new_method_call(bus, &call, kService, kPath, kManager, "StartTransientUnit");
  if (error >= 0) error = sd_bus_message_append(call, "ss", job.unit.c_str(), "fail");
  if (error >= 0) error = add_properties(call, pid);
  if (error >= 0) error = sd_bus_call(bus, call, kPatienceUs, &why, nullptr);
  if (error < 0) {
    std::fprintf(stderr, "StartTransientUnit: %s\n",
                 why.message != nullptr ? why.message : std::strerror(-error));
  }
  sd_bus_error_free(&why);
  sd_bus_message_unref(call);
  return error;
}

int wait_for(sd_bus* bus, const Job& job) {
  while (job.result.empty()) {
    int moved = sd_bus_process(bus, nullptr);
    if (moved == 0) moved = sd_bus_wait(bus, kPatienceUs);
    if (moved < 0) return complain("waiting for systemd", moved);
    if (moved == 0) return complain("waiting for systemd", ETIMEDOUT);
  }
  if (job.result == "done") return 0;
  std::fprintf(stderr, "systemd did not start the scope: %s\n", job.result.c_str());
  return 1;
}

// Where the user's bus is, for callers without a login's environment.
void find_user_bus() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  const std::string bus = std::string(runtime != nullptr ? runtime : "") + "/bus";
  if (std::getenv("DBUS_SESSION_BUS_ADDRESS") != nullptr || ::access(bus.c_str(), W_OK) == 0)
    return;
  const std::string usual = "/run/user/" + std::to_string(::getuid());
  ::setenv("XDG_RUNTIME_DIR", usual.c_str(), 1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: mayfly-scope user|system UNIT PID\n", stderr);
    return 2;
  }
  // Nobody else waits for the answer.
  const auto asker = static_cast<std::uint32_t>(std::strtoul(argv[3], nullptr, 10));
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return complain("prctl(PR_SET_PDEATHSIG)", errno);
  if (static_cast<std::uint32_t>(::getppid()) != asker) return complain("who asks", ESRCH);
  const bool user = std::strcmp(argv[1], "user") == 0;
  if (user) find_user_bus();
  sd_bus* bus = nullptr;
  const int opened = user ? sd_bus_open_user(&bus) : sd_bus_open_system(&bus);
  if (opened < 0) return complain(user ? "the user's bus" : "the system bus", opened);
  Job job{.unit = argv[2], .result = {}};
  int error =
      sd_bus_match_signal(bus, nullptr, kService, kPath, kManager, "JobRemoved", job_removed, &job);
  if (error >= 0) {
    error = sd_bus_call_method(bus, kService, kPath, kManager, "Subscribe", nullptr, nullptr, "");
  }
  if (error < 0) {
    complain("subscribing at systemd", error);
  } else {
    error = ask(bus, job, asker);
  }
  const int code = error < 0 ? 1 : wait_for(bus, job);
  sd_bus_flush_close_unref(bus);
  return code;
}
