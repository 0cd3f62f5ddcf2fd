#include "supervise/watch.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "fake_init.hpp"
#include "support.hpp"
#include "sys/event.hpp"

using namespace mayfly;
using namespace mayfly::test;
using launch::Kind;
using launch::Step;

TEST_CASE("watch: the main process ends by itself") {
  CHECK(watch({}, [](Script& init) {
          init.started();
          init.exited(7);
          return 0;
        }) == "exited 7 started [started 2, ending exited]");
  CHECK(watch({}, [](Script& init) {
          init.started();
          init.killed(9);
          return 0;
        }) == "signaled 137 signal=9 started [started 2, ending signaled]");
  // init need not exit: the rest is killed at once.
  CHECK(watch({}, [](Script& init) {
          init.started();
          init.exited(0);
          init.hang();
          return 0;
        }) == "exited 0 started [started 2, ending exited]");
}

TEST_CASE("watch: a task that cannot be executed, a step that fails") {
  const auto failing = [](launch::Message message) {
    return watch({}, [&](Script& init) {
      init.say(message);
      return 0;
    });
  };
  CHECK(failing({.kind = Kind::ExecFailed, .step = Step::TaskExec, .error = ENOENT}) ==
        "exec_failed 127 [ending exec_failed]");
  CHECK(failing({.kind = Kind::ExecFailed, .step = Step::TaskExec, .error = EACCES}) ==
        "exec_failed 126 [ending exec_failed]");
  CHECK(failing({.kind = Kind::ExecFailed, .step = Step::TaskChdir, .error = ENOENT}) ==
        "setup_failed 125 [ending setup_failed]");
  CHECK(failing({.kind = Kind::Failed, .step = Step::InitFilter, .error = EINVAL}) ==
        "setup_failed 125 [ending setup_failed]");
}

TEST_CASE("watch: init goes without a word") {
  CHECK(watch({}, [](Script&) { return 3; }) ==
        "setup_failed 125 error: cannot start the task: init exited with code 3 "
        "[ending setup_failed]");
  CHECK(watch({},
              [](Script& init) {
                init.started();
                ::kill(::getpid(), SIGKILL);
                return 0;
              }) ==
        "supervisor_lost 125 started error: cannot keep the sandbox: its init was killed by "
        "signal 9 [started 2, ending supervisor_lost]");
  CHECK(watch({}, [](Script& init) {
          init.started();
          return launch::kInitDeadline;
        }) == "ttl 124 started [started 2, ending ttl]");
  CHECK(watch({}, [](Script&) { return launch::kInitDeadline; }) ==
        "setup_failed 125 error: cannot start the task within 30 seconds: Connection timed out "
        "(ETIMEDOUT) [ending setup_failed]");
}

TEST_CASE("watch: a peer that breaks the protocol is lost, whatever it says after it") {
  const auto broken = [](const std::function<void(Script&)>& say) {
    return watch({}, [&](Script& init) {
      init.started();
      say(init);
      init.exited(0);
      init.hang();
      return 0;
    });
  };
  const std::string lost =
      "supervisor_lost 125 started error: cannot keep the sandbox: its init "
      "was killed by signal 9 [started 2, ending supervisor_lost]";
  CHECK(broken([](Script& init) { init.say_bytes("short", 5); }) == lost);
  CHECK(broken([](Script& init) {
          const std::string bytes(300, 'x');
          init.say_bytes(bytes.data(), bytes.size());
        }) == lost);
  CHECK(broken([](Script& init) { init.say({.kind = static_cast<Kind>(77)}); }) == lost);
  CHECK(broken([](Script& init) { init.say({.kind = Kind::Started, .value = 3}); }) == lost);
  // Before a start it is a failed set-up: supervisor_lost would say that the task ran.
  CHECK(watch({}, [](Script& init) {
          init.exited(0);
          init.hang();
          return 0;
        }).rfind("setup_failed 125", 0) == 0);
}

TEST_CASE("watch: the TTL asks first and kills after the grace") {
  const Stopwatch obedient;
  CHECK(watch({.ttl_ms = 800}, [](Script& init) {
          init.started();
          init.exited(init.next_signal());
          return 0;
        }) == "ttl 124 started [started 2, ending ttl]");
  CHECK(obedient.ms() >= 800);

  const Stopwatch stubborn;
  CHECK(watch({.ttl_ms = 500, .grace_ms = 200}, [](Script& init) {
          init.started();
          init.hang();
          return 0;
        }) == "ttl 124 started [started 2, ending ttl]");
  CHECK(stubborn.ms() >= 700);
}

TEST_CASE("watch: a TTL longer than the loop waits without a timer") {
  const Stopwatch watch_;
  CHECK(watch({.ttl_ms = 600, .grace_ms = 0}, [](Script& init) {
          init.started();
          init.hang();
          return 0;
        }) == "ttl 124 started [started 2, ending ttl]");
  CHECK(watch_.ms() >= 600);
}

TEST_CASE("watch: without a grace nobody is asked") {
  CHECK(watch({.ttl_ms = 600, .grace_ms = 0}, [](Script& init) {
          init.started();
          // A signal would make this an exit with its number; end of file never comes.
          init.exited(init.next_signal());
          init.hang();
          return 0;
        }) == "ttl 124 started [started 2, ending ttl]");
}

TEST_CASE(
    "watch: SIGTERM, SIGHUP, SIGQUIT are passed on, and the end is ours whatever the task says") {
  for (const int signal : {SIGTERM, SIGHUP, SIGQUIT}) {
    CAPTURE(signal);
    const std::string number = std::to_string(signal);
    CHECK(watch({},
                [&](Script& init) {
                  init.started();
                  init.signal_supervisor(signal);
                  init.exited(init.next_signal() == signal ? 0 : 1);
                  return 0;
                }) == "cancelled " + std::to_string(128 + signal) + " signal=" + number +
                          " started [started 2, ending cancelled]");
  }
}

TEST_CASE("watch: a second signal kills at once") {
  const Stopwatch watch_;
  CHECK(watch({.grace_ms = 20'000}, [](Script& init) {
          init.started();
          init.signal_supervisor(SIGTERM);
          static_cast<void>(init.next_signal());
          init.signal_supervisor(SIGTERM);
          init.hang();
          return 0;
        }) == "cancelled 143 signal=15 started [started 2, ending cancelled]");
  CHECK(watch_.ms() < 15'000);
}

TEST_CASE("watch: one SIGINT is the task's business, a second one ends it") {
  CHECK(watch({}, [](Script& init) {
          init.started();
          init.signal_supervisor(SIGINT);
          init.exited(init.next_signal() == SIGINT ? 3 : 1);
          return 0;
        }) == "exited 3 started [started 2, ending exited]");
  CHECK(watch({}, [](Script& init) {
          init.started();
          init.signal_supervisor(SIGINT);
          if (init.next_signal() != SIGINT) return 1;
          init.signal_supervisor(SIGINT);
          init.exited(init.next_signal());
          return 0;
        }) == "cancelled 130 signal=2 started [started 2, ending cancelled]");
}

TEST_CASE("watch: other signals are passed on and end nothing") {
  for (const int signal : {SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT}) {
    CAPTURE(signal);
    CHECK(watch({}, [&](Script& init) {
            init.started();
            init.signal_supervisor(signal);
            init.exited(init.next_signal() == signal ? 0 : 1);
            return 0;
          }) == "exited 0 started [started 2, ending exited]");
  }
}

TEST_CASE("watch: --keep-running ignores SIGHUP") {
  CHECK(watch({.keep_running = true}, [](Script& init) {
          init.started();
          init.signal_supervisor(SIGHUP);
          init.signal_supervisor(SIGUSR1);
          // SIGHUP has the lower number: it would have been passed on first.
          init.exited(init.next_signal() == SIGUSR1 ? 0 : 1);
          return 0;
        }) == "exited 0 started [started 2, ending exited]");
}

TEST_CASE("watch: a caller that dies cancels, without a signal") {
  Child caller([] {
    sleep_ms(200);
    return 0;
  });
  CHECK(watch({.caller = caller.pid()}, [](Script& init) {
          init.started();
          init.exited(init.next_signal() == SIGTERM ? 0 : 1);
          return 0;
        }) == "cancelled 143 started [started 2, ending cancelled]");
}

TEST_CASE("watch: Ctrl-Z stops the task and us, and fg wakes both") {
  const std::string answer = in_child([] {
    int status = 0;
    ::setsid();
    Child supervisor([] {
      ::setpgid(0, 0);  // a job of ours, which we could continue
      const std::string end = watch_here({}, [](Script& init) {
        init.started();
        init.signal_supervisor(SIGTSTP);
        const int first = init.next_signal(), second = init.next_signal();
        const int third = init.next_signal();
        init.exited(first == SIGTSTP && second == SIGSTOP && third == SIGCONT ? 0 : 1);
        return 0;
      });
      return end.rfind("exited 0", 0) == 0 ? 0 : 1;
    });
    if (::waitpid(supervisor.pid(), &status, WUNTRACED) <= 0 || !WIFSTOPPED(status)) {
      return std::string("did not stop");
    }
    ::kill(supervisor.pid(), SIGCONT);
    return std::to_string(supervisor.wait());
  });
  CHECK(answer == "0");
}

TEST_CASE("watch: --linger waits for the others; cut short by the TTL, that is the verdict") {
  CHECK(watch({.linger = true}, [](Script& init) {
          init.started();
          init.exited(4);
          sleep_ms(50);
          init.say({.kind = Kind::Drained});
          return 0;
        }) == "exited 4 started [started 2, ending exited]");
  CHECK(watch({.ttl_ms = 800, .grace_ms = 100, .linger = true}, [](Script& init) {
          init.started();
          init.exited(4);
          init.hang();
          return 0;
        }) == "ttl 124 started [started 2, ending ttl]");
}

TEST_CASE(
    "watch: init that goes while others are waited for is lost, whatever the main process did") {
  CHECK(watch({.linger = true},
              [](Script& init) {
                init.started();
                init.exited(4);
                return 3;
              }) ==
        "supervisor_lost 125 started error: cannot keep the sandbox: its init exited with "
        "code 3 [started 2, ending supervisor_lost]");
}

TEST_CASE("watch: init's key that turned while others were waited for is the TTL's") {
  CHECK(watch({.ttl_ms = 500, .linger = true}, [](Script& init) {
          init.started();
          init.exited(4);
          // Its answer proves that the loop runs.
          init.signal_supervisor(SIGUSR1);
          if (init.next_signal() != SIGUSR1) ::_exit(1);
          init.signal_supervisor(SIGSTOP);
          sleep_ms(900);
          init.signal_supervisor(SIGCONT);
          return launch::kInitDeadline;
        }) == "ttl 124 started [started 2, ending ttl]");
}

TEST_CASE("watch: the set-up has a deadline") {
  CHECK(watch({.setup_ms = 200},
              [](Script& init) {
                init.hang();
                return 0;
              }) ==
        "setup_failed 125 error: cannot start the task within 30 seconds: Connection timed "
        "out (ETIMEDOUT) [ending setup_failed]");
}

TEST_CASE("watch: chores come once, in sandboxes that live long enough") {
  const auto living = [](int ms, int chores_ms) {
    return watch({.chores_ms = chores_ms}, [&](Script& init) {
      init.started();
      sleep_ms(ms);
      init.exited(0);
      return 0;
    });
  };
  CHECK(living(0, 20'000) == "exited 0 started [started 2, ending exited]");
  CHECK(living(900, 400) == "exited 0 started [started 2, chores, ending exited]");
}

TEST_CASE("watch: a cancel in the middle of the start still says whether the task ran") {
  CHECK(watch({}, [](Script& init) {
          init.signal_supervisor(SIGTERM);
          if (init.next_signal() != SIGTERM) return 1;
          init.started();
          init.killed(SIGTERM);
          return 0;
        }) == "cancelled 143 signal=15 started [ending cancelled, started 2]");
  CHECK(watch({.grace_ms = 0}, [](Script& init) {
          init.signal_supervisor(SIGTERM);
          init.hang();
          return 0;
        }) == "cancelled 143 signal=15 [ending cancelled]");
}

TEST_CASE("watch: a cgroup that does not empty ends in an unclean outcome, not in a hang") {
  const TempDir cgroup;
  write_text(cgroup / "cgroup.kill", "");
  const auto ending = [&](const std::string& events) {
    write_text(cgroup / "cgroup.events", events);
    return watch({.teardown_ms = 300, .cgroup = cgroup.path()}, [](Script& init) {
      init.started();
      init.exited(0);
      return 0;
    });
  };
  CHECK(ending("populated 0\nfrozen 0\n") == "exited 0 started [started 2, ending exited]");
  CHECK(read_text(cgroup / "cgroup.kill").empty());
  CHECK(ending("populated 1\nfrozen 0\n") ==
        "exited 0 started unclean: processes in its cgroup were not gone 0 s after SIGKILL "
        "[started 2, ending exited]");
  CHECK(read_text(cgroup / "cgroup.kill") == "1");
  CHECK(ending("frozen 0\n").find("unclean: cannot see whether a cgroup is empty") !=
        std::string::npos);
}

TEST_CASE("watch: exit against SIGTERM, 200 times: one verdict, and what was said first wins") {
  int exits = 0, cancels = 0;
  for (int i = 0; i < 200; ++i) {
    const std::string end = watch({}, [&](Script& init) {
      init.started();
      if (i % 2 == 0) {
        init.exited(5);
        init.signal_supervisor(SIGTERM);
      } else {
        init.signal_supervisor(SIGTERM);
        init.exited(5);
      }
      return 0;
    });
    CAPTURE(i);
    const bool exited = end == "exited 5 started [started 2, ending exited]";
    const bool cancelled = end == "cancelled 143 signal=15 started [started 2, ending cancelled]" ||
                           end == "cancelled 143 signal=15 started [ending cancelled, started 2]";
    CHECK_MESSAGE((exited || cancelled), end);
    // Said before the signal was sent: it wins, always.
    if (i % 2 == 0) CHECK(exited);
    exits += exited ? 1 : 0;
    cancels += cancelled ? 1 : 0;
  }
  CHECK(exits + cancels == 200);
}

TEST_CASE("watch: a sandbox that says nothing is idle, one that does is not") {
  const Stopwatch silent;
  CHECK(watch({.idle_ms = 200}, [](Script& init) {
          init.started();
          init.exited(init.next_signal());
          return 0;
        }) == "idle 124 started [started 2, ending idle]");
  CHECK(silent.ms() >= 200);

  // Every 100 ms a byte, for a second.
  const std::string busy = in_child([] {
    sys::Pipe task = sys::pipe().value(), caller = sys::pipe().value();
    const int task_end = task.write_end.release();
    const auto relay = [&](supervise::Relay& made) {
      if (!sys::set_nonblocking(task.read_end)) ::_exit(1);
      made.add_output(
          supervise::Endpoint::own(std::move(task.read_end)),
          supervise::Endpoint::borrow(caller.write_end.get(), supervise::Direction::Write),
          "stdout");
    };
    return watch_here({.relay = relay, .task_ends = {task_end}, .idle_ms = 700}, [&](Script& init) {
      init.started();
      for (int i = 0; i < 10; ++i) {
        sleep_ms(100);
        if (::write(task_end, "x", 1) != 1) return 9;
      }
      init.exited(5);
      return 0;
    });
  });
  CHECK(busy == "exited 5 started [started 2, ending exited]");
}
