#include "supervise/words.hpp"

#include <doctest/doctest.h>
#include <signal.h>

#include <cerrno>
#include <cstring>

#include "launch/launch.hpp"

using namespace mayfly;

namespace {

plan::Plan plan_of(const std::string& command) {
  plan::Plan plan;
  plan.argv = {command, "argument"};
  plan.program_paths = {"/usr/local/bin/" + command, "/usr/bin/" + command};
  return plan;
}

launch::Message failed(int error, std::uint32_t index = 0, const char* interpreter = "") {
  launch::Message message{.kind = launch::Kind::ExecFailed, .step = launch::Step::TaskExec};
  message.error = error;
  message.index = index;
  std::strncpy(message.text, interpreter, sizeof message.text - 1);
  return message;
}

}  // namespace

TEST_CASE("words: a command that cannot be executed") {
  const Error missing = supervise::exec_error(plan_of("tool"), failed(ENOENT, 1));
  CHECK(describe(missing) ==
        "cannot run tool: execve(/usr/bin/tool): No such file or directory (ENOENT)");
  CHECK(missing.hint.empty());  // the command line knows the host's PATH and says more

  const Error script = supervise::exec_error(plan_of("x.sh"), failed(ENOENT, 0, "/opt/no\nsh"));
  CHECK(describe(script) ==
        "cannot run x.sh: its interpreter /opt/no\\x0ash is missing inside the sandbox: "
        "execve(/usr/local/bin/x.sh): No such file or directory (ENOENT)");
  CHECK(script.hint == "install it, or show it to the sandbox with --ro");

  CHECK(supervise::exec_error(plan_of("x"), failed(ENOEXEC)).hint ==
        "it is neither a program for this machine nor a script that begins with #!");

  launch::Message killed = failed(0);
  killed.value = 11;
  CHECK(describe(supervise::exec_error(plan_of("x"), killed)) ==
        "cannot run x: it was killed by signal 11 while the kernel loaded it: "
        "execve(/usr/local/bin/x)");
}

TEST_CASE("words: an index that init got wrong, an empty plan") {
  CHECK(describe(supervise::exec_error(plan_of("x"), failed(EACCES, 99))) ==
        "cannot run x: execve(x): Permission denied (EACCES)");
  CHECK(describe(supervise::exec_error({}, failed(EACCES))) ==
        "cannot run '': execve(''): Permission denied (EACCES)");
}

TEST_CASE("words: a child that was killed on its way to the execve is told as that") {
  for (const launch::Step step : {launch::Step::None, launch::Step::TaskStdio}) {
    const Error error = launch::step_error(
        {}, {.kind = launch::Kind::ExecFailed, .step = step, .error = 0, .value = SIGINT});
    CHECK(describe(error) ==
          "cannot start the task: its process was killed by SIGINT before its command ran");
    CHECK_FALSE(error.hint.empty());
  }
}
