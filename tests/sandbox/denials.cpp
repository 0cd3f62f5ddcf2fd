// CASE 60: which system calls were refused is told, and can end the sandbox.
#include <doctest/doctest.h>
#include <fcntl.h>

#include <cstdint>

#include "harness/host.hpp"
#include "harness/sandbox.hpp"
#include "harness/suite.hpp"

using namespace harness;
using nlohmann::json;

namespace {

// Makes `call` as often as `count` says, with zeros, and prints the last errno.
Words calls(const std::string& number, int count) {
  const std::string script =
      "import ctypes\nl = ctypes.CDLL(None, use_errno=True)\n"
      "for i in range(" +
      std::to_string(count) + "): l.syscall(" + number +
      ", 0, 0, 0, 0, 0)\nprint(ctypes.get_errno(), flush=True)\n";
  return {"/usr/bin/python3", "-c", script};
}

constexpr const char* kMount = "165";
constexpr const char* kNewest = "999";  // no kernel has it yet

json denial_of(const Ended& ended, const std::string& name) {
  REQUIRE(ended.result["denials"].is_array());
  for (const json& denial : ended.result["denials"])
    if (denial["name"] == name) return denial;
  return {};
}

// The events of a run, told to a file, so that none is dropped.
std::vector<json> events_of(const Words& options, const Words& task) {
  const TempDir reports;
  const std::string path = reports.file("events", "");
  const Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  REQUIRE(file);
  Words words = {"--status-fd", "9"};
  words.insert(words.end(), options.begin(), options.end());
  Run work(words, task);
  work.command.fd(9, file.get());
  CHECK(work.end().code == 0);
  std::vector<json> events;
  for (const std::string& line : lines(read_file(path)))
    events.push_back(json::parse(line));
  return events;
}

}  // namespace

TEST_CASE("a refused call is named with its answer and its count, and fails as ever") {
  const Ended ended = run({"--explain-denials"}, calls(kMount, 25));
  CHECK(ended.code == 0);
  CHECK(ended.out == "1\n");
  const json denial = denial_of(ended, "mount");
  CHECK(denial["number"] == 165);
  CHECK(denial["answer"] == "EPERM");
  CHECK(denial["count"] == 25);
  CHECK(contains(ended.err, "refused system calls: mount (EPERM, 25 times)"));
}

TEST_CASE("what a foreign profile refuses is told with what the policy refuses") {
  const Run work({}, {});
  const std::string profile = work.project().file(
      "p.json",
      R"({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["getppid", "mount"],)"
      R"("action": "SCMP_ACT_ERRNO", "errnoRet": 95}]})");
  const Words options = {"--project", "none", "--explain-denials", "--seccomp", profile};
  const Ended ended = run(options, calls("110", 3));  // getppid
  CAPTURE(ended.err);
  CHECK(ended.out == "95\n");
  CHECK(denial_of(ended, "getppid")["answer"] == "EOPNOTSUPP");
  CHECK(denial_of(ended, "getppid")["count"] == 3);
  // Of two that refuse the profile's answer counts, as without the option.
  CHECK(run(options, calls(kMount, 1)).out == "95\n");
  const Ended other = run(options, calls("321", 1));  // bpf
  CHECK(other.out == "1\n");
  CHECK(denial_of(other, "bpf")["answer"] == "EPERM");
  const Ended containers =
      run({"--explain-denials", "--seccomp", "/usr/share/containers/seccomp.json"},
          calls("135", 1));  // personality
  CAPTURE(containers.err);
  CHECK(containers.code == 0);
  const Ended killed =
      run({"--project", "none", "--seccomp-action", "kill", "--seccomp", profile}, calls("110", 1));
  CHECK(killed.reason() == "syscall_denied");
}

TEST_CASE("a profile that init could not work under is kept, and that it is not told is said") {
  const Run work({}, {});
  const std::string profile = work.project().file(
      "p.json", R"({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["ppoll"],)"
                R"("action": "SCMP_ACT_ERRNO", "errnoRet": 95}]})");
  const Ended ended = run({"--project", "none", "--explain-denials", "--seccomp", profile},
                          calls("271", 1));  // ppoll
  CHECK(ended.out == "95\n");
  CHECK(ended.result["denials"] == json::array());
  CHECK(contains(ended.err, "is not told: it may refuse ppoll, which init needs"));
}

TEST_CASE("--seccomp-action kill is refused where a refused call would not be told") {
  const TempDir host;
  const std::string profile =
      host.file("p.json", R"({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["ppoll"],)"
                          R"("action": "SCMP_ACT_ERRNO", "errnoRet": 95}]})");
  const struct {
    Words options;
    std::string words;
  } cases[] = {
      {{"--seccomp", profile}, "the seccomp profile " + profile + " may refuse ppoll, which"},
      {{"--deny-syscalls", "polling"}, "the choice of groups of system calls may refuse "},
      {{"--deny-syscalls", "polling", "--seccomp", profile}, "the choice of groups"},
      {{"--deny-syscalls", "numa", "--seccomp", profile}, "the seccomp profile " + profile},
  };
  for (const auto& each : cases) {
    CAPTURE(joined(each.options));
    Words words = {mayfly_path(), "run", "--seccomp-action", "kill"};
    words.insert(words.end(), each.options.begin(), each.options.end());
    words.push_back("true");
    const Finished ran = Command(words).run();
    words.insert(words.begin() + 1, "explain");
    const Finished told = Command(words).run();
    CHECK(ran.code == 125);
    CHECK(contains(ran.err, each.words));
    CHECK(contains(ran.err, "or leave out --seccomp-action kill"));
    CHECK(told.code == 125);
    CHECK(told.err == ran.err);
  }
  const std::string policy = host.file("p.toml", "seccomp = './p.json'\nseccomp-action = 'kill'\n");
  CHECK(contains(sh("true", {"--policy", policy}).err, "(seccomp at " + policy + ":1:11)"));
}

TEST_CASE("a call that has no name is told by its number") {
  const Ended ended = run({"--explain-denials"}, calls(kNewest, 1));
  CHECK(ended.out == "38\n");
  CHECK(denial_of(ended, "call 999")["answer"] == "ENOSYS");
}

TEST_CASE("without the option nothing is told, and the result says so") {
  const Ended ended = run({}, calls(kMount, 3));
  CHECK(ended.out == "1\n");
  CHECK(ended.result["denials"].is_null());
  CHECK(contains(ended.result["denials_why"], "--explain-denials"));
  CHECK(ended.err.empty());
}

TEST_CASE("nothing refused is an empty list, and threads are no denial") {
  const Ended ended = run({"--explain-denials"},
                          {"/usr/bin/python3", "-c",
                           "import threading\nfor i in range(20):\n  t = threading.Thread()\n  "
                           "t.start()\n  t.join()\nprint('done')"});
  CHECK(ended.out == "done\n");
  CHECK(ended.result["denials"] == json::array());
  CHECK(ended.err.empty());
}

TEST_CASE("events are told of the first, the tenth and the hundredth time") {
  std::vector<std::uint64_t> counts;
  for (const json& event : events_of({"--explain-denials"}, calls(kMount, 250))) {
    if (event["ev"] != "denied") continue;
    CHECK(event["kind"] == "syscall");
    CHECK(event["name"] == "mount");
    CHECK(event["program"] == "python3");
    CHECK(event["args"].size() == 6);
    counts.push_back(event["count"]);
  }
  CHECK(counts == std::vector<std::uint64_t>{1, 10, 100});
}

TEST_CASE("a task that is refused without end is bounded in what it makes us say") {
  const std::string script =
      "import ctypes, time\nl = ctypes.CDLL(None)\nend = time.monotonic() + 1\n"
      "while time.monotonic() < end:\n  for n in range(400, 1100): l.syscall(n, -1, 0, 0, 0, 0)\n";
  std::size_t told = 0;
  bool ended = false;
  for (const json& event : events_of({"--explain-denials"}, {"/usr/bin/python3", "-c", script})) {
    told += event["ev"] == "denied" ? 1 : 0;
    ended = event["ev"] == "result" && event["reason"] == "exited";
  }
  CHECK(ended);
  CHECK(told > 500);
  CHECK(told < 700 * 6);
}

TEST_CASE("--seccomp-action kill ends the sandbox at the first refused call") {
  const Ended ended = run({"--seccomp-action", "kill"},
                          {"/bin/sh", "-c", "echo before; mount -t tmpfs none /tmp; echo after"});
  CHECK(ended.code == 159);
  CHECK(ended.out == "before\n");
  CHECK(ended.reason() == "syscall_denied");
  CHECK(ended.result["started"] == true);
  CHECK(ended.result["clean"] == true);
  CHECK(!ended.result["denials"].empty());
  CHECK(contains(ended.err, "syscall_denied (159)"));
}

TEST_CASE("--seccomp-action kill lets a program find out what the kernel lacks") {
  const Ended ended = run({"--seccomp-action", "kill"}, calls(kNewest, 3));
  CHECK(ended.code == 0);
  CHECK(ended.out == "38\n");
  CHECK(denial_of(ended, "call 999")["count"] == 3);
}

TEST_CASE("descendants are told of, too, and the listener is nobody's inside") {
  const Ended ended =
      run({"--explain-denials"}, {"/bin/sh", "-c",
                                  "(setsid sh -c 'mount -t tmpfs none /tmp' 2>/dev/null); "
                                  "ls -l /proc/self/fd | grep -c seccomp"});
  CHECK(ended.out == "0\n");
  CHECK(!ended.result["denials"].empty());
}

// Until the supervisor has heard of it, a call is like any that waits: a signal whose handler does
// not restart calls ends it with EINTR.
TEST_CASE("a refused call that a signal interrupts is made again and refused") {
  const std::string script =
      "import ctypes, signal, os\nl = ctypes.CDLL(None, use_errno=True)\n"
      "signal.signal(signal.SIGALRM, lambda *a: None)\n"
      "signal.siginterrupt(signal.SIGALRM, False)\n"
      "signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)\nbad = 0\n"
      "for i in range(500):\n  l.syscall(165, 0, 0, 0, 0, 0)\n  bad += ctypes.get_errno() != 1\n"
      "print(bad)";
  const Ended ended = run({"--explain-denials"}, {"/usr/bin/python3", "-c", script});
  CHECK(ended.out == "0\n");
  CHECK(denial_of(ended, "mount")["count"] >= 500);
}

TEST_CASE("an action that does not exist is refused with those that do") {
  const Ended ended = run({"--seccomp-action", "maim"}, {"true"});
  CHECK(ended.code == 125);
  CHECK(contains(ended.err, "maim"));
  CHECK(contains(ended.err, "errno or kill"));
}
