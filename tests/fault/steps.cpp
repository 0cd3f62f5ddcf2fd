// Every step of the child half made to fail, one after the other, after it was done: the task never
// starts, the message names the step, and nothing is left.
#include <doctest/doctest.h>

#include <iterator>
#include <set>

#include "harness/hooked.hpp"
#include "harness/host.hpp"
#include "harness/suite.hpp"

using namespace harness;

namespace {

struct Case {
  Step step;
  const char* words;  // of the message
};

constexpr Case kSteps[] = {
    {Step::ParentDeath, "tie the sandbox's life to the supervisor's: prctl(PR_SET_PDEATHSIG)"},
    {Step::Clone, "make a user namespace and the sandbox's other namespaces"},
    {Step::IdMap, "map the sandbox's ids"},
    {Step::User, "become the sandbox's user"},
    {Step::Layer, "make the layer"},
    {Step::LayerXattr, "keep the layer in memory"},
    {Step::Mount, "make the root on the layer"},
    {Step::UserNamespaceBan, "forbid user namespaces inside"},
    {Step::UserNamespaceProof, "prove that user namespaces inside are forbidden"},
    {Step::Seal, "make the root on the layer"},
    {Step::PivotRoot, "enter the new root: pivot_root"},
    {Step::Marker, "prove that the new root was entered"},
    {Step::Ready, "hand the layer over"},
    {Step::Hostname, "set the host name mayfly"},
    {Step::Loopback, "bring up the loopback device"},
    {Step::Rlimit, "set resource limits"},
    {Step::Capabilities, "drop capabilities"},
    {Step::NoNewPrivs, "set no_new_privs"},
    {Step::Landlock, "confine the sandbox to its root with Landlock"},
    {Step::Descriptors, "close the caller's descriptors"},
    {Step::ExecInit, "execute init: execveat(memfd)"},
};

}  // namespace

TEST_CASE("a failure of each step of the start: 125, the step is named, nothing is left") {
  const std::size_t mounts = mount_count();
  for (const Case& each : kSteps) {
    CAPTURE(each.words);
    const std::string marker = new_marker();
    Hooked start({}, {"/bin/sh", "-c", "echo the task ran", marker});
    const Ended ended = start.failing(each.step).end();
    CAPTURE(ended.err);
    CHECK_FALSE(ended.timed_out);
    CHECK(ended.exited_after < paced(15'000));  // not by the set-up's deadline
    CHECK(ended.code == 125);
    CHECK(ended.out.empty());
    CHECK(ended.err.starts_with("mayfly: cannot "));
    CHECK(contains(ended.err, each.words));
    CHECK(contains(ended.err, "Input/output error (EIO)"));
    REQUIRE(ended.result.is_object());
    CHECK_FALSE(ended.result.value("started", true));
    CHECK(ended.result["error"]["errno_name"] == "EIO");
    CHECK((ended.reason() == "setup_failed" || ended.reason() == "host_unsupported"));
    CHECK(processes_with(marker).empty());
    CHECK(leftovers_of(ended.id()).empty());
  }
  CHECK(mount_count() == mounts);
}

TEST_CASE("a failure to make a terminal: 125, the step is named") {
  Hooked start({"--tty", "yes"}, {"/bin/sh", "-c", "echo the task ran"});
  const Ended ended = start.failing(Step::Terminal).end();
  CHECK(ended.code == 125);
  CHECK(ended.out.empty());
  CHECK(contains(ended.err, "make a terminal of the sandbox's own: open(/dev/pts/ptmx)"));
  CHECK(contains(ended.err, "--tty no runs the command without one"));
}

TEST_CASE("the hooked program does what mayfly does where no hook is set") {
  const Ended ended = Hooked({}, {"/bin/sh", "-c", "echo the task ran; exit 3"}).end();
  CHECK(ended.code == 3);
  CHECK(ended.out == "the task ran\n");
  CHECK(ended.reason() == "exited");
}
