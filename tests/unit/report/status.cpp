#include "report/status.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "../supervise/support.hpp"
#include "base/text.hpp"
#include "sys/event.hpp"

using namespace mayfly;
using namespace mayfly::test;
using nlohmann::json;

namespace {

std::string drained(int fd) {
  std::string text;
  char buffer[4096];
  for (ssize_t got; (got = ::read(fd, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(got));
  return text;
}

// A whole life, as the supervisor tells it.
void tell(report::Reporter& reporter, const plan::Plan& plan) {
  supervise::Outcome outcome;
  outcome.id = "abc";
  outcome.labels = {{"job", "17"}};
  reporter.created(outcome, plan);
  reporter.started(2);
  reporter.ending(supervise::Reason::Exited);
  outcome.reason = supervise::Reason::Exited;
  outcome.code = 0;
  reporter.ended(outcome);
}

std::string refusal(int fd) {
  report::Reporter reporter;
  const Result<void> opened = reporter.open({.status_fd = fd, .result_file = {}});
  return opened ? "opened" : describe(opened.error()) + " | " + opened.error().hint;
}

// A descriptor as it is after an execve: one that is closed by that cannot be the caller's.
int inherited(const Fd& fd) {
  REQUIRE(::fcntl(fd.get(), F_SETFD, 0) == 0);
  return fd.get();
}

}  // namespace

TEST_CASE("status: hello first, one result last, one line each") {
  sys::Pipe pipe = sys::pipe().value();
  const int before = ::fcntl(pipe.write_end.get(), F_GETFL);
  {
    report::Reporter reporter;
    REQUIRE(reporter.open({.status_fd = inherited(pipe.write_end), .result_file = {}}));
    plan::Plan plan;
    plan.argv = {"make", "te\nst"};
    tell(reporter, plan);
  }
  CHECK(::fcntl(pipe.write_end.get(), F_GETFL) == before);
  pipe.write_end.reset();
  std::istringstream lines(drained(pipe.read_end.get()));
  std::string events;
  std::vector<json> all;
  for (std::string line; std::getline(lines, line);) {
    all.push_back(json::parse(line));
    CHECK(all.back()["v"] == 1);
    events += all.back()["ev"].get<std::string>() + " ";
  }
  CHECK(events == "hello created started ending result ");
  REQUIRE(all.size() == 5);
  CHECK(all[0]["program"] == "mayfly");
  CHECK(all[0]["pid"] == ::getpid());
  CHECK(all[1]["id"] == "abc");
  CHECK(all[1]["labels"] == json{{"job", "17"}});
  CHECK(all[1]["command"] == json::array({"make", "te\nst"}));
  CHECK(all[2]["pid_inside"] == 2);
  CHECK(all[3]["reason"] == "exited");
  CHECK(all[4]["code"] == 0);
}

TEST_CASE("status: without a descriptor nothing is written anywhere") {
  report::Reporter reporter;
  REQUIRE(reporter.open({}));
  tell(reporter, {});
  CHECK_FALSE(reporter.failure());
}

TEST_CASE("status: descriptors that cannot serve") {
  const std::string hint = " | use a free number, as in: --status-fd 3 3>status.jsonl";
  for (const int fd : {0, 1, 2}) {
    CHECK(refusal(fd) == "cannot write the status to descriptor " + std::to_string(fd) +
                             ": 0-2 are the task's own" + hint);
  }
  CHECK(refusal(987) ==
        "cannot write the status to descriptor 987: fcntl(987, F_GETFL): Bad file "
        "descriptor (EBADF)" +
            hint);
  const Fd read_only(::open("/dev/null", O_RDONLY));
  const Fd handle(::open("/dev/null", O_PATH));
  for (const int fd : {read_only.get(), handle.get()}) {
    CHECK(refusal(fd) == "cannot write the status to descriptor " + std::to_string(fd) +
                             ": it is not open for writing" + hint);
  }
}

TEST_CASE("status: the descriptor does not reach the task") {
  const Fd file(::open("/dev/null", O_WRONLY));
  REQUIRE(::fcntl(file.get(), F_GETFD) == 0);
  report::Reporter reporter;
  REQUIRE(reporter.open({.status_fd = inherited(file), .result_file = {}}));
  CHECK(::fcntl(file.get(), F_GETFD) == FD_CLOEXEC);
}

TEST_CASE("status: a reader that stops reading is waited for only at the end, and not for ever") {
  for (const bool socket : {false, true}) {
    CAPTURE(socket);
    sys::Pipe pipe = sys::pipe().value();
    if (socket) {
      int ends[2];
      REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
      pipe = {.read_end = Fd(ends[0]), .write_end = Fd(ends[1])};
    }
    plan::Plan plan;
    plan.argv.assign(3000, std::string(100, 'x'));  // an event of 300 KB
    report::Reporter reporter;
    REQUIRE(reporter.open({.status_fd = inherited(pipe.write_end), .result_file = {}}));
    const std::int64_t began = sys::boottime_ns();
    for (int i = 0; i < 10; ++i)
      reporter.created({}, plan);
    CHECK(sys::boottime_ns() - began < 1'500'000'000);
    reporter.ended({});
    const std::int64_t took = sys::boottime_ns() - began;
    CHECK(took >= 2'000'000'000);
    CHECK(took < 10'000'000'000);
    CHECK_FALSE(reporter.failure());
    REQUIRE(reporter.unread());
    CHECK(describe(*reporter.unread()).ends_with(": its reader took nothing for two seconds"));
  }
}

TEST_CASE("status: a slow reader gets the result") {
  sys::Pipe pipe = sys::pipe().value();
  std::string text;
  std::thread reader([&, fd = pipe.read_end.get()] {
    sleep_ms(300);
    text = drained(fd);
  });
  {
    plan::Plan plan;
    plan.argv.assign(3000, std::string(100, 'x'));
    report::Reporter reporter;
    REQUIRE(reporter.open({.status_fd = inherited(pipe.write_end), .result_file = {}}));
    tell(reporter, plan);
  }
  pipe.write_end.reset();
  reader.join();
  const std::size_t last = text.rfind('\n', text.size() - 2);
  CHECK(json::parse(text.substr(last + 1))["ev"] == "result");
  CHECK(std::count(text.begin(), text.end(), '\n') == 5);
}

TEST_CASE("status: a place that takes nothing is a failure with a remedy") {
  const Fd full(::open("/dev/full", O_WRONLY));
  report::Reporter reporter;
  REQUIRE(reporter.open({.status_fd = inherited(full), .result_file = {}}));
  tell(reporter, {});
  REQUIRE(reporter.failure());
  CHECK(describe(*reporter.failure()) == "cannot write the result to descriptor " +
                                             std::to_string(full.get()) +
                                             ": write: No space left on device (ENOSPC)");
  CHECK(reporter.failure()->hint.starts_with("there is no space left"));
}

TEST_CASE("status: a reader that is gone kills nobody") {
  CHECK(in_child([] {
          sys::Pipe pipe = sys::pipe().value();
          report::Reporter reporter;
          if (!reporter.open({.status_fd = inherited(pipe.write_end), .result_file = {}})) {
            return std::string("refused");
          }
          pipe.read_end.reset();
          tell(reporter, {});
          if (reporter.failure() || !reporter.unread()) return std::string("not told");
          return describe(*reporter.unread()).ends_with(": its reader is gone")
                     ? std::string("alive")
                     : describe(*reporter.unread());
        }) == "alive");
}

TEST_CASE("status: a result file that cannot be written any more is a failure to tell") {
  const TempDir dir;
  REQUIRE(::mkdir((dir / "out").c_str(), 0700) == 0);
  report::Reporter reporter;
  REQUIRE(reporter.open({.status_fd = -1, .result_file = dir / "out/result"}));
  REQUIRE(::rmdir((dir / "out").c_str()) == 0);
  tell(reporter, {});
  REQUIRE(reporter.failure());
  CHECK(describe(*reporter.failure())
            .rfind("cannot write the result to " + (dir / "out/result"), 0) == 0);
}
