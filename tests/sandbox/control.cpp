// --control-fd: commands while it runs, answered on --status-fd.
#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <iterator>
#include <optional>
#include <thread>

#include "harness/host.hpp"
#include "harness/sandbox.hpp"
#include "harness/suite.hpp"

using namespace harness;

namespace {

// A run whose caller holds the other end of one socket for commands and answers.
class Controlled {
 public:
  Controlled(Words options, const Words& task) : run_(with_descriptors(std::move(options)), task) {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    ours_ = Fd(ends[0]);
    const Fd theirs(ends[1]);
    run_.command.fd(5, theirs.get()).deadline(milliseconds(120'000));
    process_.emplace(run_.command.start());
  }

  void say(const std::string& text) const {
    REQUIRE(::send(ours_.get(), text.data(), text.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(text.size()));
  }
  // False: not all of it is taken now.
  [[nodiscard]] bool try_say(const std::string& text) const {
    return ::send(ours_.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
           static_cast<ssize_t>(text.size());
  }
  // The next event of this kind.
  nlohmann::json expect(const std::string& kind) {
    for (;;) {
      const std::size_t end = text_.find('\n');
      if (end == std::string::npos) {
        char buffer[4096];
        const ssize_t got = ::read(ours_.get(), buffer, sizeof buffer);
        if (got <= 0) FAIL("no event " << kind);
        text_.append(buffer, static_cast<std::size_t>(got));
        continue;
      }
      const nlohmann::json event = nlohmann::json::parse(text_.substr(0, end));
      text_.erase(0, end + 1);
      if (event.value("ev", "") == kind) return event;
    }
  }
  void hang_up() { ours_.reset(); }
  void stop_writing() const { ::shutdown(ours_.get(), SHUT_WR); }
  [[nodiscard]] Process& process() { return *process_; }
  [[nodiscard]] Ended end() { return run_.end(std::move(*process_)); }

 private:
  static Words with_descriptors(Words options) {
    options.insert(options.end(), {"--status-fd", "5", "--control-fd", "5"});
    return options;
  }
  Run run_;
  Fd ours_;
  std::string text_;
  std::optional<Process> process_;
};

const std::string kCancel = "{\"cmd\":\"cancel\"}\n";

std::string extend(const std::string& ttl) {
  return "{\"cmd\":\"extend\",\"ttl\":\"" + ttl + "\"}\n";
}

}  // namespace

TEST_CASE("cancel ends the sandbox: cancelled, 143, no signal, and a second one at once") {
  Controlled run({}, {"sleep", "100"});
  run.expect("started");
  run.say(kCancel);
  CHECK(run.expect("control")["cmd"] == "cancel");
  const Ended ended = run.end();
  CHECK(ended.code == 143);
  CHECK(ended.reason() == "cancelled");
  CHECK(ended.result.at("cancelled_by") == "control");
  CHECK(ended.result["signal"].is_null());

  Controlled stubborn({"--grace", "100s"}, {"sh", "-c", "trap '' TERM; echo ready; sleep 100"});
  stubborn.process().await_output("ready");
  stubborn.say(kCancel);
  stubborn.expect("control");
  stubborn.say(kCancel);
  const Ended killed = stubborn.end();
  CHECK(killed.code == 143);
  CHECK(killed.exited_after < milliseconds(20'000));
}

TEST_CASE("the end of the commands cancels: closed, shut down, or its holder dead") {
  Controlled closed({}, {"sleep", "100"});
  closed.expect("started");
  closed.hang_up();
  CHECK(closed.end().reason() == "cancelled");
  Controlled shut({}, {"sleep", "100"});
  shut.expect("started");
  shut.stop_writing();
  CHECK(shut.end().code == 143);

  Run piped({"--control-fd", "7"}, {"sleep", "100"});
  Pipe commands = make_pipe();
  piped.command.fd(7, commands.read.get());
  Process process = piped.command.start();
  commands.write.reset();
  CHECK(piped.end(std::move(process)).reason() == "cancelled");
}

TEST_CASE("signal reaches the command, by name and by number") {
  Controlled run({}, {"sh", "-c",
                      "trap 'echo one' USR1; trap 'echo two; exit 4' USR2; echo ready;"
                      " while :; do sleep 0.1; done"});
  run.process().await_output("ready");
  run.say("{\"cmd\":\"signal\",\"signal\":\"SIGUSR1\"}\n");
  run.process().await_output("one");
  run.say("{\"cmd\":\"signal\",\"signal\":12}\n");
  const Ended ended = run.end();
  CHECK(contains(ended.out, "two"));
  CHECK(ended.code == 4);
}

TEST_CASE("labels are in the event that tells of the sandbox") {
  Controlled run({"--label", "job=17", "--label", "step=2"}, {"true"});
  const nlohmann::json wanted = {{"job", "17"}, {"step", "2"}};
  CHECK(run.expect("created")["labels"] == wanted);
  CHECK(run.expect("result")["labels"] == wanted);
  CHECK(run.end().code == 0);
}

TEST_CASE("extend: a number of seconds may have a point, if it is whole") {
  Controlled run({"--ttl", "10s", "--grace", "0"}, {"sh", "-c", "sleep 100"});
  run.expect("started");
  run.say("{\"cmd\":\"extend\",\"ttl\":20.0}\n");
  CHECK(run.expect("control")["left_ns"] == 20'000'000'000);
  run.say(kCancel);
  CHECK(run.end().reason() == "cancelled");
}

TEST_CASE("extend: a later one wins, none shortens, none goes past the maximum") {
  Controlled run({"--ttl", "10s", "--ttl-max", "60s", "--grace", "0"}, {"sh", "-c", "sleep 100"});
  run.expect("started");
  run.say(extend("20s"));
  const nlohmann::json longer = run.expect("control");
  CHECK(longer["left_ns"] == 20'000'000'000);
  CHECK(longer["ttl_ns"] >= 20'000'000'000);
  run.say(extend("5s"));
  CHECK(contains(run.expect("control_error").value("error", ""), "extend never shortens"));
  run.say(extend("100s"));
  const nlohmann::json refused = run.expect("control_error");
  CHECK(contains(refused.value("error", ""), "are allowed"));
  CHECK(refused["cmd"] == "extend");
  CHECK(refused["line"] == 3);
  run.say(extend("30s"));
  CHECK(run.expect("control")["left_ns"] == 30'000'000'000);
  run.say(kCancel);
  CHECK(run.end().reason() == "cancelled");
}

TEST_CASE("extend turns both keys: past the old time, and not past the new one") {
  Controlled run({"--ttl", "4s", "--grace", "0"}, {"sleep", "100"});
  run.expect("started");
  run.say(extend("6s"));
  run.expect("control");
  const Ended ended = run.end();
  CHECK(ended.reason() == "ttl");
  CHECK(ended.exited_after >= milliseconds(6000));
  CHECK(ended.exited_after < milliseconds(40'000));

  // init's key alone, with the supervisor stopped.
  const std::string marker = new_marker();
  Controlled stopped({"--ttl", "5s", "--grace", "0"}, {kProbe, "hold", marker});
  stopped.process().await_output("ready");
  stopped.say(extend("9s"));
  stopped.expect("control");
  stopped.process().send(SIGSTOP);
  std::this_thread::sleep_for(milliseconds(5500));
  CHECK(processes_with(marker).size() >= 2);
  CHECK(within(milliseconds(40'000), [&] { return processes_with(marker).size() == 1; }));
  stopped.process().send(SIGCONT);
  CHECK(stopped.end().reason() == "ttl");
}

TEST_CASE("extend where there is nothing to extend is refused") {
  Controlled run({"--ttl", "0"}, {"sleep", "100"});
  run.expect("started");
  run.say(extend("1h"));
  const auto refused = run.expect("control_error");
  CHECK(contains(refused.value("error", ""), "no limit"));
  CHECK(contains(refused.value("hint", ""), "with --ttl 0 it lives until it ends"));
  run.hang_up();
  CHECK(run.end().reason() == "cancelled");
}

TEST_CASE("stdin-close ends the command's input, and only that") {
  Pipe input = make_pipe();
  Run cat({"--control-fd", "7"}, {"sh", "-c", "cat; echo over; exit 8"});
  Pipe commands = make_pipe();
  cat.command.fd(0, input.read.get()).fd(7, commands.read.get());
  Process process = cat.command.start();
  REQUIRE(::write(input.write.get(), "before\n", 7) == 7);
  process.await_output("before");
  const std::string line = "{\"cmd\":\"stdin-close\"}\n";
  REQUIRE(::write(commands.write.get(), line.data(), line.size()) ==
          static_cast<ssize_t>(line.size()));
  const Ended ended = cat.end(std::move(process));
  CHECK(ended.out == "before\nover\n");
  CHECK(ended.code == 8);
}

TEST_CASE("a command resets the idle time, rubbish does not") {
  Controlled run({"--idle", "2s", "--grace", "0"}, {"sleep", "100"});
  run.expect("started");
  for (int i = 0; i < 4; ++i) {
    std::this_thread::sleep_for(milliseconds(700));
    run.say("{\"cmd\":\"signal\",\"signal\":\"CONT\"}\n");
  }
  run.say("rubbish\n");
  CHECK(run.expect("control_error")["cmd"].is_null());
  std::this_thread::sleep_for(milliseconds(1000));
  run.say("more\n");
  const Ended ended = run.end();
  CHECK(ended.reason() == "idle");
  CHECK(ended.exited_after >= milliseconds(4 * 700 + 1900));
  CHECK(ended.exited_after < milliseconds(20'000));
}

TEST_CASE("rubbish without end costs little, and the run goes on and can be cancelled") {
  Controlled run({}, {"sh", "-c", "sleep 1.5; exit 6"});
  run.expect("started");
  const std::string kinds[] = {
      "\xff\xfe\n", "{\n", "[1]\n", "{\"cmd\":\"reboot\"}\n", "\n", std::string(70'000, 'x')};
  // As fast as it is taken, which is not fast. The answers are not read: nobody waits for that.
  const auto end = Clock::now() + milliseconds(1200);
  std::size_t sent = 0;
  for (std::size_t i = 0; Clock::now() < end; i = (i + 1) % std::size(kinds)) {
    if (!run.try_say(kinds[i])) std::this_thread::sleep_for(milliseconds(5));
    ++sent;
  }
  CHECK(sent > 10);
  const Ended ended = run.end();
  CHECK(ended.code == 6);
  CHECK(ended.reason() == "exited");
}

TEST_CASE("a reader of the answers that does not read, or is gone, hangs nothing") {
  Run silent({"--status-fd", "6", "--control-fd", "7"}, {"sh", "-c", "sleep 1; exit 5"});
  Pipe status = make_pipe(), commands = make_pipe();
  silent.command.fd(6, status.write.get()).fd(7, commands.read.get());
  Process process = silent.command.start();
  status.write.reset();
  std::string many;
  for (int i = 0; i < 3000; ++i)
    many += "{\"cmd\":\"x\"}\n";
  CHECK(::write(commands.write.get(), many.data(), many.size()) > 0);
  status.read.reset();
  const Ended ended = silent.end(std::move(process));
  CHECK(ended.code == 5);
  CHECK(ended.exited_after < milliseconds(15'000));
}

TEST_CASE(
    "what was written before the end is answered, rubbish or not, with or without a newline") {
  const auto answers = [](const std::string& text) {
    Run run({"--control-fd", "7", "--status-fd", "8"}, {"sleep", "100"});
    Pipe commands = make_pipe();
    Pipe status = make_pipe();
    run.command.fd(7, commands.read.get()).fd(8, status.write.get());
    REQUIRE(::write(commands.write.get(), text.data(), text.size()) ==
            static_cast<ssize_t>(text.size()));
    Process process = run.command.start();
    commands.write.reset();
    status.write.reset();
    CHECK(run.end(std::move(process)).reason() == "cancelled");
    std::string events;
    char buffer[4096];
    for (ssize_t got = 0; (got = ::read(status.read.get(), buffer, sizeof buffer)) > 0;)
      events.append(buffer, static_cast<std::size_t>(got));
    std::vector<nlohmann::json> all;
    for (const std::string& line : lines(events)) {
      nlohmann::json event = nlohmann::json::parse(line);
      if (event.value("ev", "").starts_with("control")) all.push_back(std::move(event));
    }
    return all;
  };
  const auto times = [](int count, const std::string& line) {
    std::string text;
    for (int i = 0; i < count; ++i)
      text += line;
    return text;
  };
  const std::string signal = "{\"cmd\":\"signal\",\"signal\":\"CONT\"}";
  CHECK(answers(times(64, signal + "\n")).size() == 64);
  CHECK(answers(times(64, "x\n")).size() == 64);
  const auto last = answers(times(30, "x\n") + signal);
  REQUIRE(last.size() == 31);
  CHECK(last.back()["ev"] == "control");
  CHECK(last.back()["line"] == 31);
  const auto refused = answers("{\"cmd\":\"signal\",\"signal\":\"usr1\"}");
  REQUIRE(refused.size() == 1);
  CHECK(refused[0]["ev"] == "control_error");
  CHECK(refused[0]["cmd"] == "signal");
}

TEST_CASE("commands come from what has another end, and all else is refused at the start") {
  for (const std::string path : {"/dev/null", "/etc/passwd", "/"}) {
    CAPTURE(path);
    const Finished finished =
        Command({"sh", "-c", mayfly_path() + " run --control-fd 5 true 5<" + path}).run();
    CHECK(finished.code == 125);
    CHECK(contains(finished.err, "cannot read commands from descriptor 5: only a pipe, a FIFO"));
  }
  const Finished negative = Command({mayfly_path(), "run", "--control-fd", "-1", "true"}).run();
  CHECK(contains(negative.err, "hint: the number of an open descriptor, from 3 on"));
}

TEST_CASE("a pipe is for commands or for events, not for both") {
  const TempDir dir;
  const std::string fifo = dir / "fifo";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  for (const char* descriptors : {"--status-fd 3 --control-fd 3 -- echo ran 3<>$1",
                                  "--status-fd 3 --control-fd 4 -- echo ran 3<>$1 4<$1",
                                  "--status-fd 3 --control-fd 3 -- echo ran 3>&1 | cat"}) {
    CAPTURE(descriptors);
    const Finished ended = Command({"sh", "-c", "exec 2>&1; \"$0\" run " + std::string(descriptors),
                                    mayfly_path(), fifo})
                               .run();
    CHECK(contains(ended.out, "mayfly: cannot "));
    CHECK(contains(ended.out, "hint: give "));
    CHECK_FALSE(contains(ended.out, "ran\n"));
  }
}
