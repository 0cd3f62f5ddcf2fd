// The event loop where nobody is there to continue us, and where nobody takes the output.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "fake_init.hpp"
#include "support.hpp"
#include "sys/event.hpp"

using namespace mayfly;
using namespace mayfly::test;

TEST_CASE("watch: output that nobody takes is not waited for long after an end that was forced") {
  const auto with_output = [](Scene scene, const std::function<int(Script&)>& script) {
    const sys::Pipe task = sys::pipe().value(), caller = sys::pipe().value();
    scene.task_ends = {task.write_end.get()};
    scene.relay = [&](supervise::Relay& relay) {
      const std::string flood(40'000, 'x');
      for (const int fd : {task.read_end.get(), caller.write_end.get(), task.write_end.get()})
        static_cast<void>(::fcntl(fd, F_SETFL, O_NONBLOCK));
      while (::write(caller.write_end.get(), flood.data(), flood.size()) > 0) {
      }
      static_cast<void>(!::write(task.write_end.get(), flood.data(), flood.size()));
      relay.add_output(supervise::Endpoint::own(Fd(::dup(task.read_end.get()))),
                       supervise::Endpoint::own(Fd(::dup(caller.write_end.get()))), "stdout");
    };
    return watch(scene, script);
  };
  const auto hang = [](Script& init) {
    init.started();
    init.hang();
    return 0;
  };
  const std::string lost = " unclean: output to stdout was lost: its reader takes nothing";
  const Stopwatch forced;
  CHECK(with_output({.ttl_ms = 500, .grace_ms = 0, .teardown_ms = 25'000}, hang) ==
        "ttl 124 started" + lost + " [started 2, ending ttl]");
  CHECK(forced.ms() >= 1100);
  CHECK(forced.ms() < 15'000);

  // By itself: a first signal makes the wait short, a second one ends it.
  const Stopwatch hurried;
  CHECK(with_output({.teardown_ms = 25'000}, [](Script& init) {
          const pid_t supervisor = ::getppid();
          if (::fork() == 0) {
            for (int i = 0; i < 2; ++i) {
              ::usleep(300'000);
              ::kill(supervisor, SIGTERM);
            }
            ::_exit(0);
          }
          init.started();
          init.exited(3);
          return 0;
        }) == "exited 3 started" + lost + " [started 2, ending exited]");
  CHECK(hurried.ms() < 15'000);
}

TEST_CASE("watch: where nobody could continue us Ctrl-Z stops nothing for good") {
  const std::string answer = in_child([] {
    ::setsid();  // an orphaned process group
    return watch_here({}, [](Script& init) {
      init.started();
      init.signal_supervisor(SIGTSTP);
      const int first = init.next_signal(), second = init.next_signal();
      const int third = init.next_signal();
      init.exited(first == SIGTSTP && second == SIGSTOP && third == SIGCONT ? 0 : 1);
      return 0;
    });
  });
  CHECK(answer == "exited 0 started [started 2, ending exited]");
}
