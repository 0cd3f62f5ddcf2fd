// A command on a terminal: it gets one of its own, which feels like the caller's, and the caller's
// is as before when all is over.
#include <doctest/doctest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "harness/host.hpp"
#include "harness/sandbox.hpp"
#include "harness/screen.hpp"
#include "harness/suite.hpp"

using namespace harness;

namespace {

bool is_installed(const std::string& program) {
  return ::access(("/usr/bin/" + program).c_str(), X_OK) == 0 ||
         ::access(("/bin/" + program).c_str(), X_OK) == 0;
}

// `mayfly run` with a user in front of it.
struct Session {
  Run run;
  Screen screen;
  termios before = screen.modes();
  Process process;

  Session(const Words& options, const Words& task)
      : run(options, task),
        process(screen.start(run.command.env("TERM", "xterm").deadline(milliseconds(120'000)))) {}

  Ended end() { return run.end(std::move(process)); }
  // The modes are put back before the end is told.
  Ended end_with_modes() {
    Ended ended;
    static_cast<Finished&>(ended) = screen.finish(std::move(process));
    if (exists(run.result_file())) {
      ended.result = nlohmann::json::parse(read_file(run.result_file()));
    }
    CHECK(same_modes(before, screen.modes()));
    return ended;
  }
};

const Words kShell = {"/bin/bash", "--norc", "--noprofile", "-i"};
const Words kPrompt = {"--env", "PS1=in> "};
// Says so as the foreground job that it is.
const std::string kSleep = "sh -c 'echo asleep=$((0 + 1)); exec sleep 1000'\n";

// A shell of the caller's, which has jobs; `command` runs mayfly in it.
struct OuterShell {
  TempDir project;
  Screen screen;
  Command command;
  Process process;

  explicit OuterShell(const Words& shell = {"/bin/bash", "--norc", "--noprofile", "-i"})
      : command(shell),
        process(screen.start(command.env("PS1", "out> ")
                                 .env("TERM", "dumb")
                                 .env("M", mayfly_path())
                                 .cwd(project.path())
                                 .deadline(milliseconds(120'000)))) {
    screen.expect("out> ");
  }
  // Types a line once the shell asks for one.
  void line(const std::string& text) { screen.type(text + "\n"); }
};

}  // namespace

TEST_CASE("a command on a terminal gets a terminal of its own, of the caller's size and type") {
  Session session({},
                  {"/bin/sh", "-c", "tty; stty size; echo $TERM; test -t 2 && echo err; exit 7"});
  const Ended ended = session.end_with_modes();
  const std::string shown = session.screen.rest();
  CAPTURE(shown);
  CHECK(shown == "/dev/pts/0\r\n24 80\r\nxterm\r\nerr\r\n");
  CHECK(ended.code == 7);
  CHECK(ended.result["usage"]["stdout_bytes"] == shown.size());
}

TEST_CASE("a shell has job control, Ctrl-C, Ctrl-D and the new size of a window") {
  Words options = kPrompt;
  Session session(options, kShell);
  Screen& screen = session.screen;
  screen.expect("in> ");
  screen.type(kSleep);
  screen.expect("asleep=1");
  screen.type("\x03");
  screen.expect("in> ");
  screen.type("echo code=$?\n");
  screen.expect("code=130");
  screen.type(kSleep);
  screen.expect("asleep=1");
  screen.type("\x1a");
  screen.expect("Stopped");
  screen.type("jobs; bg; kill %1; wait %1; echo code=$?\n");
  screen.expect("code=143");
  // Before its prompt readline sets the size that it has just asked for, and undoes a change.
  screen.expect("in> ");
  screen.resize(50, 132);
  screen.type("sleep 1; stty size\n");
  screen.expect("50 132");
  screen.type("read x < /dev/tty; echo \"<$x>\"\n");
  std::this_thread::sleep_for(milliseconds(500));
  screen.type("typed\n");
  screen.expect("<typed>");
  screen.expect("in> ");  // before its prompt the shell would not read a Ctrl-D as the end
  screen.type("\x04");
  CHECK(session.end_with_modes().code == 0);
}

TEST_CASE("Ctrl-Z on the command itself leads back to the caller's shell, fg to the command") {
  OuterShell outer;
  Screen& screen = outer.screen;
  outer.line("$M run -- sleep 1000");
  screen.expect("1000\r\n");
  std::this_thread::sleep_for(milliseconds(1500));
  screen.type("\x1a");
  screen.expect("Stopped");
  screen.expect("out> ");
  outer.line("stty -a | grep -o -w -e icanon -e isig; echo modes");
  screen.expect("modes\r\n");
  screen.expect("out> ");
  outer.line("fg");
  screen.expect("1000\r\n");
  std::this_thread::sleep_for(milliseconds(1000));
  screen.type("\x03");
  screen.expect("out> ");
  outer.line("echo code=$?");
  screen.expect("code=130");

  // SIGTSTP from elsewhere, to a command that wants none.
  outer.line("$M run --env 'PS1=in> ' -- bash --norc -i");
  screen.expect("in> ");
  screen.type("trap '' TSTP; echo pid=$PPID\n");
  screen.expect("pid=1\r\n");
  const std::vector<pid_t> below = descendants(outer.process.pid());
  REQUIRE_FALSE(below.empty());
  REQUIRE(::kill(below.front(), SIGTSTP) == 0);
  screen.expect("Stopped");
  screen.expect("out> ");
  outer.line("fg");
  std::this_thread::sleep_for(milliseconds(1000));
  screen.type("echo on\"ce\" more\n");
  screen.expect("once more");
  screen.type("exit\n");
  screen.expect("out> ");
  outer.line("exit");
  CHECK(screen.finish(std::move(outer.process)).code == 0);
}

TEST_CASE("a stop gives the caller's modes back, also to a shell that sets none of its own") {
  OuterShell outer({"/bin/dash", "-i"});
  Screen& screen = outer.screen;
  const termios before = screen.modes();
  const auto is_raw = [&] {
    return within(milliseconds(30'000), [&] { return (screen.modes().c_lflag & ICANON) == 0; });
  };
  outer.line("$M run -- sleep 1000");
  CHECK(is_raw());
  std::this_thread::sleep_for(milliseconds(1500));
  screen.type("\x1a");
  screen.expect("Stopped");
  screen.expect("out> ");
  CHECK(same_modes(before, screen.modes()));
  outer.line("fg");
  CHECK(is_raw());
  const std::vector<pid_t> below = descendants(outer.process.pid());
  REQUIRE_FALSE(below.empty());
  REQUIRE(::kill(below.front(), SIGTSTP) == 0);
  screen.expect("Stopped");
  screen.expect("out> ");
  CHECK(same_modes(before, screen.modes()));
  outer.line("fg");
  CHECK(is_raw());
  screen.type("\x03");
  screen.expect("out> ");
  CHECK(same_modes(before, screen.modes()));
  outer.line("exit");
  CHECK_FALSE(screen.finish(std::move(outer.process)).timed_out);
}

TEST_CASE("Ctrl-Z where no shell has jobs stops nothing for good: the command goes on") {
  const std::string task = "echo rea''dy; sleep 1; echo do''ne";
  // Between vfork and exec, the stop of the child alone would leave the shell waiting for it,
  // outside of any sandbox, too.
  const auto type_while_it_sleeps = [](Screen& screen) {
    std::this_thread::sleep_for(milliseconds(300));
    screen.type("\x1a");
  };
  for (const char* const tty : {"auto", "no"}) {
    CAPTURE(tty);
    Session session({"--tty", tty, "--ttl", paced_text(20'000)}, {"/bin/sh", "-c", task});
    session.screen.expect("ready");
    type_while_it_sleeps(session.screen);
    session.screen.expect("done");
    CHECK(session.end_with_modes().code == 0);
  }
  Screen screen;
  Command piped({"/bin/sh", "-c", "\"$M\" run -- sh -c \"$0\" | cat", task});
  Process process = screen.start(piped.env("M", mayfly_path()).deadline(milliseconds(60'000)));
  screen.expect("ready");
  type_while_it_sleeps(screen);
  screen.expect("done");
  CHECK(screen.finish(std::move(process)).code == 0);
}

TEST_CASE("what a command has written before it is stopped is shown before") {
  OuterShell outer;
  Screen& screen = outer.screen;
  outer.line("$M run --env 'PS1=in> ' -- bash --norc -i");
  screen.expect("in> ");
  screen.type("suspend\n");
  screen.expect("suspend\r\n");  // before fg
  screen.expect("Stopped");
  outer.line("fg");
  std::this_thread::sleep_for(milliseconds(1000));
  screen.type("exit\n");
  screen.expect("exit");
  screen.expect("out> ");
  outer.line("exit");
  CHECK(screen.finish(std::move(outer.process)).code == 0);
}

TEST_CASE("Ctrl-C during the start is not lost") {
  for (const char* const keys : {"\x03", "\x03\x04 abc"}) {
    Run typed({"--tty", "yes"}, {"sleep", "20"});
    typed.command.in(keys);
    const Ended ended = typed.end();
    CAPTURE(ended.err);
    CHECK(ended.code == 130);
  }
  for (int delay_ms = 0; delay_ms < 30; delay_ms += 2) {
    CAPTURE(delay_ms);
    Session session({}, {"sleep", "20"});
    const std::string exe = "/proc/" + std::to_string(session.process.pid()) + "/exe";
    CHECK(within(milliseconds(10'000), [&] {
      std::error_code none;
      return std::filesystem::read_symlink(exe, none).filename() == "mayfly";
    }));
    std::this_thread::sleep_for(milliseconds(delay_ms));
    session.screen.type("\x03");
    const Finished finished = session.screen.finish(std::move(session.process));
    // Before it takes signals, mayfly dies of it.
    CHECK((finished.code == 130 || finished.signal == SIGINT));
    CHECK(same_modes(session.before, session.screen.modes()));
  }
}

TEST_CASE("a terminal that takes no output does not hold mayfly after an end that was forced") {
  const auto stuck = [](const Words& options) {
    Session session(options, {"yes"});
    const Ended ended = session.run.end(std::move(session.process));  // without reading from it
    CHECK(ended.code == 124);
    CHECK(ended.exited_after < paced(8000));
    CHECK(contains(ended.result.dump(), "its reader takes nothing"));
    CHECK(same_modes(session.before, session.screen.modes()));
  };
  stuck({"--ttl", "500ms"});
  stuck({"--ttl", "500ms", "--tty", "no", "--max-output", "1G"});
  Session session({}, {"yes"});
  std::this_thread::sleep_for(paced(1000));
  session.process.send(SIGTERM);
  std::this_thread::sleep_for(paced(100));
  session.process.send(SIGTERM);
  const Ended ended = session.run.end(std::move(session.process));
  CHECK(ended.code == 143);
  CHECK(ended.exited_after < paced(6000));
}

TEST_CASE("a message begins on a line of its own") {
  Session session({"--ttl", "1s", "--grace", "0"}, {"/bin/sh", "-c", "printf prompt:; sleep 1000"});
  CHECK(session.end_with_modes().code == 124);
  CHECK(contains(session.screen.rest(), "prompt:\r\nmayfly: ended after"));
  Session whole({"--ttl", "1s", "--grace", "0"}, {"/bin/sh", "-c", "echo line; sleep 1000"});
  CHECK(whole.end_with_modes().code == 124);
  CHECK(contains(whole.screen.rest(), "line\r\nmayfly: ended after"));
}

TEST_CASE("where the caller's terminal begins lines with a return, the task's own is left out") {
  OuterShell outer;
  Screen& screen = outer.screen;
  outer.line("$M run -- sh -c 'sleep 1; echo from \"the\" back' &");
  screen.expect("from the back\r\n");
  outer.line("$M run --tty yes -- echo no \"input\" < /dev/null");
  screen.expect("no input\r\n");
  outer.line("exit");
  CHECK(screen.finish(std::move(outer.process)).code == 0);
}

TEST_CASE("in the background mayfly leaves the terminal alone, and reads once it is in front") {
  OuterShell outer;
  Screen& screen = outer.screen;
  outer.line("$M run -- cat &");
  screen.expect("out> ");
  std::this_thread::sleep_for(milliseconds(1000));
  outer.line("echo for\"the\" shell");
  screen.expect("forthe shell");
  outer.line("fg");
  screen.expect("run -- cat\r\n");
  std::this_thread::sleep_for(milliseconds(1500));
  screen.type("hello\n");
  screen.expect("hello\r\nhello\r\n");
  screen.type("\x04");
  screen.expect("out> ");
  outer.line("exit");
  CHECK(screen.finish(std::move(outer.process)).code == 0);
}

TEST_CASE("the caller's modes are put back after every end") {
  const auto ends = [](const Words& options, const Words& task, int code,
                       const std::function<void(Session&)>& act = {}) {
    CAPTURE(joined(task));
    Session session(options, task);
    if (act) act(session);
    const Ended ended = session.end_with_modes();
    CAPTURE(session.screen.rest());
    CHECK(ended.code == code);
    return ended;
  };
  const auto once_raw = [](int signal) {
    return [signal](Session& session) {
      session.screen.expect("ready");
      session.process.send(signal);
    };
  };
  const Words hold = {"/bin/sh", "-c", "stty raw -echo; echo ready; sleep 1000"};
  ends({}, {"/bin/sh", "-c", "stty raw -echo; exit 3"}, 3);
  ends({}, {"/nonexistent"}, 127);
  ends({"--chdir", "/nonexistent"}, {"true"}, 125);
  ends({"--ttl", "700ms", "--grace", "0"}, hold, 124);
  ends({"--grace", "0"}, hold, 143, once_raw(SIGTERM));
  ends({"--grace", "0"}, hold, 129, once_raw(SIGHUP));
  ends({"--unsafe-tty"}, {"/bin/sh", "-c", "stty raw -echo; exit 3"}, 3);
  ends({"--unsafe-tty", "--grace", "0"}, hold, 143, once_raw(SIGTERM));
  ends({"--grace", "0"}, hold, 139, once_raw(SIGSEGV));  // one that comes from outside
}

TEST_CASE("a window that closes ends the sandbox") {
  const std::string marker = new_marker();
  Session session({"--grace", "500ms"},
                  {"/bin/sh", "-c", "/targets/probe hold \"$1\"", "sh", marker});
  session.screen.expect("ready");
  session.screen.close();
  CHECK_FALSE(session.end().timed_out);
  CHECK(processes_with(marker).empty());
}

TEST_CASE("programs that draw feel at home") {
  struct Case {
    const char* program;
    Words task;
    std::string shows, keys;
  };
  const std::vector<Case> cases = {
      {"python3", {"python3", "-q"}, ">>> ", "print(6 * 7)\nexit()\n"},
      {"less", {"less", "/etc/passwd"}, "root:", "q"},
      {"vim", {"vim", "-u", "NONE", "-i", "NONE", "-N"}, "VIM", ":q!\n"},
      {"vi", {"vi"}, "~", ":q!\n"},
      {"top", {"top"}, "load average", "q"},
  };
  for (const Case& each : cases) {
    CAPTURE(each.program);
    if (!is_installed(each.program)) {
      MESSAGE("not installed: " << each.program);
      continue;
    }
    Session session({}, each.task);
    session.screen.expect(each.shows);
    session.screen.type(each.keys);
    const Ended ended = session.end_with_modes();
    CHECK(ended.code == 0);
    if (contains(each.keys, "6 * 7")) CHECK(contains(session.screen.rest(), "42"));
  }
}

TEST_CASE("in a window of tmux a shell shows what is typed, and follows the window's size") {
  if (!is_installed("tmux")) SKIP_BECAUSE("tmux is not installed");
  const TempDir place;
  const auto tmux = [&](Words words) {
    words.insert(words.begin(), {"tmux", "-S", place / "socket", "-f", "/dev/null"});
    return Command(words).env("PS1", "in> ").cwd(place.path()).run();
  };
  const std::string shell = mayfly_path() + " run --env 'PS1=in> ' -- bash --norc -i";
  REQUIRE(tmux({"new-session", "-d", "-x", "90", "-y", "20", shell}).code == 0);
  const auto shows = [&](const std::string& text) {
    return within(milliseconds(30'000), [&] {
      return contains(tmux({"capture-pane", "-p"}).out, text);
    });
  };
  CHECK(shows("in>"));
  tmux({"send-keys", "stty size; echo $TERM", "Enter"});
  CHECK(shows("20 90"));
  CHECK(within(milliseconds(30'000), [&] {
    const std::string shown = tmux({"capture-pane", "-p"}).out;
    return contains(shown, "screen") || contains(shown, "tmux-");
  }));
  tmux({"resize-window", "-x", "70", "-y", "15"});
  tmux({"send-keys", "sleep 1; stty size", "Enter"});
  CHECK(shows("15 70"));
  tmux({"send-keys", "clear; sleep 1000", "Enter"});
  std::this_thread::sleep_for(milliseconds(1000));
  tmux({"send-keys", "C-c", ""});
  tmux({"send-keys", "echo do'ne'", "Enter"});
  CHECK(shows("done"));
  tmux({"send-keys", "exit", "Enter"});
  CHECK(within(milliseconds(30'000), [&] { return tmux({"has-session"}).code != 0; }));
  tmux({"kill-server"});
}

TEST_CASE("--tty yes: a terminal without a caller's, whose input ends as if typed") {
  Run cat({"--tty", "yes"}, {"/bin/sh", "-c", "tty; stty size -echo; cat; echo oops >&2"});
  cat.command.in("a line\nhalf");
  const Ended ended = cat.end();
  CAPTURE(ended.err);
  CHECK(ended.code == 0);
  // What is typed before the echo is off may show anywhere between the lines.
  CHECK(contains(ended.out, "/dev/pts/0\r\n"));
  CHECK(contains(ended.out, "24 80\r\n"));
  CHECK(contains(ended.out, "a line\r\nhalf"));
  CHECK(ended.err == "oops\n");  // standard error is no terminal, and stays what it is
  const std::string flood = sh("head -c 300000 /dev/zero | tr '\\0' x", {"--tty", "yes"}).out;
  CHECK(flood.size() == 300'000);
}

TEST_CASE("--tty no: pipes, also on a terminal") {
  Session session({"--tty", "no"}, {"/bin/sh", "-c", "tty; echo \"<$TERM>\""});
  CHECK(session.end_with_modes().code == 0);
  CHECK(contains(session.screen.rest(), "not a tty\r\n<>"));
}

TEST_CASE("nobody can type into the task's terminal for the user") {
  if (!is_installed("python3")) SKIP_BECAUSE("python3 is not installed");
  const std::string script =
      "import fcntl, termios\n"
      "try: fcntl.ioctl(0, termios.TIOCSTI, b'x'); print('typed')\n"
      "except OSError as error: print('errno', error.errno)\n";
  Session session({}, {"python3", "-c", script});
  CHECK(session.end_with_modes().code == 0);
  CHECK(contains(session.screen.rest(), "errno 1\r\n"));
}

TEST_CASE("--progress shows a line that makes way for output, and nothing without a terminal") {
  Session session({"--progress"},
                  {"/bin/sh", "-c", "sleep 1.5; echo one; sleep 1.5; printf two; sleep 2"});
  CHECK(session.end_with_modes().code == 0);
  const std::string shown = session.screen.rest();
  CAPTURE(shown);
  CHECK(contains(shown, "mayfly: 1."));
  CHECK(contains(shown, "cpu 0."));
  CHECK(contains(shown, "\x1b[K\r\x1b[Kone\r\n"));  // drawn, erased, then the output
  // Not behind an unfinished line, and gone at the end.
  const std::size_t last = shown.rfind("two");
  REQUIRE(last != std::string::npos);
  CHECK(shown.substr(last) == "two");
  Session refused({"--progress", "--explain-denials"},
                  {"/bin/sh", "-c", "mount -t tmpfs none /tmp 2>/dev/null; sleep 2.5"});
  CHECK(refused.end_with_modes().code == 0);
  CHECK(contains(refused.screen.rest(), "  denials 1\x1b"));
  Session quiet({"--progress", "--quiet"}, {"/bin/sh", "-c", "sleep 1.5; echo one"});
  CHECK(quiet.end_with_modes().code == 0);
  CHECK(quiet.screen.rest() == "one\r\n");
  const Ended piped = sh("sleep 1.5", {"--progress"});
  CHECK(piped.err.empty());
}

TEST_CASE("--progress beside output that goes another way to the same screen") {
  const auto shown = [](const std::string& terminal) {
    Screen screen;
    Command piped({"/bin/sh", "-c",
                   "\"$M\" run --progress -- sh -c 'echo a; sleep 1.5; echo b; sleep 1' | cat"});
    piped.env("M", mayfly_path()).env("TERM", terminal).deadline(milliseconds(60'000));
    CHECK(screen.finish(screen.start(piped)).code == 0);
    return screen.rest();
  };
  // To the right, with the cursor where it was.
  const std::string beside = shown("xterm");
  CAPTURE(beside);
  const std::size_t line = beside.find(
      "\x1b"
      "7\r\x1b[");
  REQUIRE(line != std::string::npos);
  CHECK(beside.find("Cmayfly: 1.", line) != std::string::npos);
  CHECK(contains(beside,
                 "\x1b[K\x1b"
                 "8b\r\n"));
  const std::string plain = shown("dumb");
  CAPTURE(plain);
  CHECK(contains(plain, "mayfly: 1."));
  CHECK_FALSE(contains(plain, "\x1b"));
}
