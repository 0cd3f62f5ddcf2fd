// The exit code, the reason and the one result, whatever the end was.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <csignal>

#include "harness/sandbox.hpp"
#include "harness/suite.hpp"

using namespace harness;

namespace {

struct End {
  const char* script;
  int code;
  const char* reason;
};

}  // namespace

TEST_CASE("the exit code is the task's own, and the result says how it ended") {
  const End ends[] = {{"true", 0, "exited"},
                      {"false", 1, "exited"},
                      {"exit 7", 7, "exited"},
                      {"kill -9 $$", 128 + SIGKILL, "signaled"},
                      {"kill -TERM $$", 128 + SIGTERM, "signaled"},
                      {"kill -SEGV $$", 128 + SIGSEGV, "signaled"}};
  for (const End& each : ends) {
    CAPTURE(each.script);
    const Ended ended = sh(each.script);
    CAPTURE(ended.err);
    CHECK(ended.code == each.code);
    CHECK(ended.reason() == each.reason);
    CHECK(ended.result.value("code", -1) == each.code);
    CHECK(ended.result.value("started", false));
    CHECK(ended.result.value("clean", false));
    CHECK(ended.out.empty());
  }
}

TEST_CASE("the result names the signal that killed the task, and no signal otherwise") {
  CHECK(sh("kill -9 $$").result.at("signal") == SIGKILL);
  CHECK(sh("exit 137").result.at("signal").is_null());
}

TEST_CASE("a task that exits with one of our codes is told apart from us by the result") {
  for (const int code : {124, 125, 126, 127, 137, 143, 159}) {
    CAPTURE(code);
    const Ended ended = sh("exit " + std::to_string(code));
    CHECK(ended.code == code);
    CHECK(ended.reason() == "exited");
    CHECK(ended.result.value("started", false));
    CHECK(ended.err.empty());
  }
}

TEST_CASE("a command that does not exist: 127, one line on stderr, nothing on stdout") {
  for (const std::string name : {"no-such-command", "/no/such/command", "./no-such-command"}) {
    CAPTURE(name);
    const Ended ended = run({}, {name});
    CHECK(ended.code == 127);
    CHECK(ended.reason() == "exec_failed");
    CHECK_FALSE(ended.result.value("started", true));
    CHECK(ended.out.empty());
    CHECK(ended.err.starts_with("mayfly: cannot "));
    CHECK(contains(ended.err, name));
    CHECK(contains(ended.err, "ENOENT"));
    // People and programs are told the same.
    const std::string hint = ended.result.at("error").at("hint");
    CHECK_FALSE(hint.empty());
    CHECK(contains(ended.err, "\nhint: " + hint + "\n"));
  }
}

TEST_CASE("what is there but cannot be executed: 126") {
  SUBCASE("a directory") {
    const Ended ended = run({}, {"/usr"});
    CHECK(ended.code == 126);
    CHECK(ended.reason() == "exec_failed");
    CHECK(contains(ended.err, "/usr"));
  }
  SUBCASE("a file without the executable bit") {
    Run plain({}, {"./plain"});
    plain.project().file("plain", "#!/bin/sh\n", 0644);
    const Ended ended = plain.end();
    CHECK(ended.code == 126);
    CHECK(ended.reason() == "exec_failed");
    CHECK(contains(ended.err, "EACCES"));
  }
  SUBCASE("a file that is no program") {
    Run rubbish({}, {"./rubbish"});
    rubbish.project().file("rubbish", std::string("\x7f", 1) + "rubbish", 0755);
    const Ended ended = rubbish.end();
    CHECK(ended.code == 126);
    CHECK(contains(ended.err, "ENOEXEC"));
  }
}

TEST_CASE("a script with the line ends of DOS: 127, and the hint takes them away") {
  const Run script({}, {"./script"});
  script.project().file("script", "#!/bin/sh\r\necho ran\r\n", 0755);
  const Ended ended = script.end();
  CHECK(ended.code == 127);
  CHECK_MESSAGE(contains(ended.err, "sed -i 's/\\r$//'"), ended.err);
}

TEST_CASE("a script whose interpreter is missing: 127, and the message names the interpreter") {
  Run script({}, {"./script"});
  script.project().file("script", "#!/no/such/interpreter -x\n", 0755);
  const Ended ended = script.end();
  CHECK(ended.code == 127);
  CHECK(ended.reason() == "exec_failed");
  CHECK(contains(ended.err, "/no/such/interpreter"));
  CHECK(ended.out.empty());
}

TEST_CASE("a bad option: 125, the message names it, the task does not start") {
  Run bad({"--no-such-option"}, {"/bin/sh", "-c", "echo started"});
  const Ended ended = bad.end();
  CHECK(ended.code == 125);
  CHECK(ended.out.empty());
  CHECK(contains(ended.err, "--no-such-option"));
}

TEST_CASE("a bad value of an option: 125, the message shows a right one") {
  for (const Words& options : {Words{"--ttl", "soon"}, Words{"--pids", "-1"},
                               Words{"--layer-size", "lots"}, Words{"--tmpfs", "relative"}}) {
    CAPTURE(options[0]);
    const Ended ended = sh("echo started", options);
    CHECK(ended.code == 125);
    CHECK(ended.out.empty());
    CHECK(contains(ended.err, options[1]));
    CHECK(contains(ended.err, "hint: "));
  }
}

TEST_CASE("a command without output returns at once") {
  const Ended ended = run({}, {"/bin/true"});
  CHECK(ended.code == 0);
  CHECK(ended.exited_after < paced(1000));
  CHECK(ended.eof_after < paced(1000));
}

TEST_CASE("--quiet: no word of ours on stderr, the code and the result stay") {
  const Ended ended = run({"--quiet"}, {"no-such-command"});
  CHECK(ended.code == 127);
  CHECK(ended.reason() == "exec_failed");
  CHECK(ended.err.empty());
}

TEST_CASE("a command whose output is lost has not succeeded") {
  const TempDir host;
  const Fd full(::open("/dev/full", O_RDWR | O_CLOEXEC));
  for (const Words& options : {Words{}, Words{"--max-output", "1M"}}) {
    CAPTURE(joined(options));
    Run lost(options, {"/bin/sh", "-c", "/bin/echo said; exit 0"});
    lost.command.fd(1, full.get());
    const Ended ended = lost.end();
    CAPTURE(ended.err);
    CAPTURE(ended.result.dump());
    CHECK(ended.code == 125);
  }
}

TEST_CASE("the status descriptor carries one result, and it is the last line") {
  for (const char* script : {"true", "kill -9 $$", "exec /no/such/program"}) {
    CAPTURE(script);
    Pipe status = make_pipe();
    Run reported({"--status-fd", "9"}, {"/bin/sh", "-c", script});
    reported.command.fd(9, status.write.get());
    Process process = reported.command.start();
    status.write.reset();
    const Ended ended = reported.end(std::move(process));
    std::string text(65536, '\0');
    const ssize_t size = ::read(status.read.get(), text.data(), text.size());
    REQUIRE(size > 0);
    text.resize(static_cast<std::size_t>(size));
    int results = 0;
    std::string last;
    for (const std::string& line : lines(text)) {
      const nlohmann::json event = nlohmann::json::parse(line);
      CHECK(event.at("v") == 1);
      last = event.at("ev");
      results += last == "result";
    }
    CHECK(results == 1);
    CHECK(last == "result");
  }
}

TEST_CASE("a status descriptor that takes nothing is a failure, a reader that is gone is told") {
  const Fd nowhere(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  for (const int code : {0, 3}) {
    Run full({"--status-fd", "9"}, {"/bin/sh", "-c", "exit " + std::to_string(code)});
    full.command.fd(9, nowhere.get());
    const Ended failed = full.end();
    CHECK(failed.code == 125);
    CHECK(failed.result.at("code") == code);
    CHECK(contains(failed.err, "cannot write the result to descriptor 9: write: No space left"));
    CHECK(contains(failed.err, "hint: there is no space left"));
  }

  for (const bool quiet : {false, true}) {
    CAPTURE(quiet);
    Pipe status = make_pipe();
    Run unread(quiet ? Words{"--status-fd", "9", "--quiet"} : Words{"--status-fd", "9"},
               {"/bin/true"});
    unread.command.fd(9, status.write.get());
    status.read.reset();
    const Ended ended = unread.end();
    CHECK(ended.code == 0);
    CHECK(contains(ended.err, "its reader is gone") == !quiet);
  }
}
