#include <doctest/doctest.h>

#include <csignal>
#include <string>

#include "fake_init.hpp"
#include "supervise/watch.hpp"
#include "support.hpp"

using namespace mayfly;
using namespace mayfly::test;
using launch::Kind;

TEST_CASE("watch: commands of the control descriptor") {
  const auto obeying = [](const std::string& commands) {
    return watch({.commands = commands}, [](Script& init) {
      init.started();
      init.exited(init.next_signal());
      return 0;
    });
  };
  const std::string cancelled = obeying("{\"cmd\":\"cancel\"}\n");
  CHECK(cancelled.rfind("cancelled 143 started [", 0) == 0);  // without a signal of ours
  CHECK(cancelled.find("line 1: done") != std::string::npos);
  const std::string signalled = obeying("{\"cmd\":\"signal\",\"signal\":\"USR1\"}\n");
  CHECK(signalled.rfind("exited 10 started [", 0) == 0);
  CHECK(signalled.find("line 1: done") != std::string::npos);

  // A second cancel ends at once what waits for its grace to pass.
  const Stopwatch twice;
  CHECK(watch({.grace_ms = 60'000, .commands = "{\"cmd\":\"cancel\"}\n{\"cmd\":\"cancel\"}\n"},
              [](Script& init) {
                init.started();
                init.hang();
                return 0;
              })
            .rfind("cancelled 143", 0) == 0);
  CHECK(twice.ms() < 30'000);

  CHECK(watch({.control_stays = false}, [](Script& init) {
          init.started();
          init.exited(init.next_signal());
          return 0;
        }).rfind("cancelled 143 started [", 0) == 0);
}

TEST_CASE("watch: more signals than wait for a start are refused aloud") {
  std::string commands;
  for (int i = 0; i < 33; ++i)
    commands += "{\"cmd\":\"signal\",\"signal\":\"USR1\"}\n";
  const std::string end = watch({.commands = commands}, [](Script& init) {
    sleep_ms(500);
    init.started();
    int got = 0;
    while (got < 32 && init.next_signal() == SIGUSR1)
      ++got;
    init.exited(got);
    return 0;
  });
  CAPTURE(end);
  CHECK(end.rfind("exited 32 started [", 0) == 0);
  CHECK(end.find("line 32: done") != std::string::npos);
  CHECK(end.find("line 33: cannot send the signal") != std::string::npos);
}

TEST_CASE("watch: extend turns both keys, never shortens and ends at the maximum") {
  const Stopwatch clock;
  const std::string end =
      watch({.ttl_ms = 800,
             .grace_ms = 0,
             .ttl_max_ms = 60'000,
             .commands = "{\"cmd\":\"extend\",\"ttl\":\"1500ms\"}\n"
                         "{\"cmd\":\"extend\",\"ttl\":\"100ms\"}\n"
                         "{\"cmd\":\"extend\",\"ttl\":\"1h\"}\n"
                         "{\"cmd\":\"extend\",\"ttl\":\"1600ms\"}\n"},
            [](Script& init) {
              init.started();
              const launch::Message first = init.next();
              const launch::Message last = init.next();
              const bool told = first.kind == Kind::Deadline && first.value >= 1'500'000'000 &&
                                last.kind == Kind::Deadline && last.value >= 1'600'000'000;
              if (!told) init.exited(99);
              init.hang();
              return 0;
            });
  CAPTURE(end);
  CHECK(clock.ms() >= 1600);
  CHECK(end.rfind("ttl 124 started", 0) == 0);
  CHECK(end.find("line 1: done") != std::string::npos);
  CHECK(end.find("line 2: cannot extend the time to live to 100ms from now") != std::string::npos);
  CHECK(end.find("extend never shortens") != std::string::npos);
  CHECK(end.find("line 3: cannot extend the time to live to 1h from now: at most") !=
        std::string::npos);
  CHECK(end.find("line 4: done") != std::string::npos);
}

TEST_CASE("watch: rubbish on the control descriptor is answered and ends nothing") {
  CHECK(watch({.commands = "rubbish\n{\"cmd\":\"stdin-close\"}\n"}, [](Script& init) {
          init.started();
          sleep_ms(200);
          init.exited(3);
          return 0;
        }).rfind("exited 3 started [", 0) == 0);
}
