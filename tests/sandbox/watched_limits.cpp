// The limits that the supervisor watches over: output, idle time, cpu time.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include "harness/host.hpp"
#include "harness/sandbox.hpp"
#include "harness/suite.hpp"

using namespace harness;

TEST_CASE("--max-output stops at the cap, delivers exactly so much and says so") {
  const Ended ended = run({"--max-output", "64K"}, {"yes"});
  CHECK(ended.code == 124);
  CHECK(ended.reason() == "output_limit");
  CHECK(ended.out.size() == 65'536);
  CHECK(ended.result["usage"]["stdout_bytes"] == 65'536);
  CHECK(ended.result.value("clean", false));
  CHECK(contains(ended.err, "output_limit (124)"));
}

TEST_CASE("--max-output counts standard output and error together, and allows exactly the cap") {
  const Ended both = sh("echo 12345; echo 12345 >&2; sleep 0.2; echo 6; sleep 20",
                        {"--max-output", "12", "--grace", "0", "--quiet"});
  CHECK(both.code == 124);
  CHECK(both.out + both.err == "12345\n12345\n");
  const Ended exact = sh("printf 12345; exit 6", {"--max-output", "5"});
  CHECK(exact.out == "12345");
  CHECK(exact.code == 6);
  CHECK(exact.reason() == "exited");
  // Written and gone before anybody could read it: a cut is never taken for an end.
  const Ended quick = sh("printf 123456; exit 6", {"--max-output", "5"});
  CHECK(quick.out == "12345");
  CHECK(quick.code == 124);
  CHECK(quick.reason() == "output_limit");
}

TEST_CASE("--max-output holds where the output is a file, /dev/null or a terminal of its own") {
  const TempDir host;
  Run file({"--max-output", "1000"}, {"yes"});
  const Fd out(::open(host.file("out", "").c_str(), O_WRONLY | O_CLOEXEC));
  file.command.fd(1, out.get());
  CHECK(file.end().reason() == "output_limit");
  CHECK(read_file(host / "out").size() == 1000);
  Run null({"--max-output", "10M"}, {"yes"});
  const Fd nothing(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  null.command.fd(1, nothing.get());
  const Ended ended = null.end();
  CHECK(ended.reason() == "output_limit");
  CHECK(ended.result["usage"]["stdout_bytes"] == 10u << 20);
  CHECK(run({"--tty", "yes", "--max-output", "1000"}, {"yes"}).out.size() == 1000);
}

TEST_CASE("output is not counted where it is passed on as it is, and the result says so") {
  const Ended ended = sh("echo hi");
  CHECK(ended.result["usage"]["stdout_bytes"].is_null());
  CHECK(contains(ended.result["usage"].value("stdout_bytes_why", ""), "passed"));
}

TEST_CASE("--idle ends what says nothing, and leaves alone what does") {
  const Ended silent = run({"--idle", "500ms"}, {"sleep", "30"});
  CHECK(silent.code == 124);
  CHECK(silent.reason() == "idle");
  CHECK(silent.exited_after >= milliseconds(500));
  CHECK(silent.exited_after < milliseconds(15'000));
  const Ended busy =
      sh("for i in 1 2 3 4 5 6 7 8 9; do sleep 0.5; echo $i >&2; done; exit 9", {"--idle", "3s"});
  CAPTURE(busy.err);
  CHECK(busy.code == 9);
  CHECK(busy.reason() == "exited");
}

namespace {

// A second of processor time can take long on a machine that has others to serve.
Ended patiently(const std::string& script, const Words& options) {
  Run run(options, {"/bin/sh", "-c", script});
  run.command.deadline(milliseconds(240'000));
  return run.end();
}

}  // namespace

TEST_CASE("--cpu-time charges the work of all processes together, and not sleep") {
  const Ended worked = patiently("for i in 1 2 3 4; do (while :; do :; done) & done; wait",
                                 {"--cpu-time", "400ms", "--ttl", "230s"});
  CHECK(worked.code == 124);
  CHECK(worked.reason() == "cpu_limit");
  const nlohmann::json& usage = worked.result["usage"];
  // Without a cgroup it leaves out what was killed.
  if (!usage["user_ns"].is_null() && !usage.contains("user_ns_why")) {
    const double used = usage["user_ns"].get<double>() + usage["system_ns"].get<double>();
    CHECK(used >= 0.38e9);
    CHECK(used < 2e9);
  }
  const std::string pace = std::to_string(slowness());  // its start costs more where all is slow
  const Ended slept = sh("sleep " + pace + "; exit 5", {"--cpu-time", pace + "00ms"});
  CHECK(slept.code == 5);
}

TEST_CASE("--cpu-time sees the work of children that came and went") {
  // No process lives long; each is waited for.
  const Ended ended =
      patiently("while :; do /bin/sh -c 'i=0; while [ $i -lt 9000 ]; do i=$((i+1)); done'; done",
                {"--cpu-time", "300ms", "--ttl", "230s"});
  CHECK(ended.reason() == "cpu_limit");
}

TEST_CASE("limits that make no sense are refused") {
  const auto refused = [](const Words& options, const std::string& words) {
    const Ended ended = run(options, {"true"});
    CAPTURE(ended.err);
    CHECK(ended.code == 125);
    CHECK(contains(ended.err, words));
  };
  refused({"--ttl-max", "1m"}, "--ttl-max allows 1m");  // the default is above it
  refused({"--ttl", "0", "--ttl-max", "1m"}, "--ttl-max allows 1m");
  refused({"--idle", "soon"}, "soon");
  refused({"--tty", "maybe"}, "maybe");
  refused({"--unsafe-tty", "--tty", "yes"}, "one of its own");
  refused({"--unsafe-tty", "--idle", "1m"}, "--unsafe-tty");
  refused({"--control-fd", "2"}, "belong to the command");
  refused({"--control-fd", "77"}, "descriptor 77");
}
