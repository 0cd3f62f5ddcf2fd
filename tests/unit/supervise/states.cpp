#include "supervise/states.hpp"

#include <doctest/doctest.h>
#include <signal.h>

#include "supervise/signals.hpp"

using namespace mayfly::supervise;

TEST_CASE("states: nothing changes the verdict of a sandbox that is being killed") {
  for (std::size_t event = 0; event < kEvents; ++event) {
    const Action action = action_for(State::Killing, static_cast<Event>(event));
    CAPTURE(event);
    CHECK((action == Action::Ignore || action == Action::MarkStarted || action == Action::Hurry));
  }
}

TEST_CASE("states: whatever init does wrong ends the sandbox") {
  for (const State state : {State::Starting, State::Running, State::Lingering, State::Ending}) {
    for (const Event event : {Event::Failed, Event::Lost, Event::ExecFailed}) {
      const Action action = action_for(state, event);
      const bool ends = action == Action::FailExec || action == Action::FailSetup ||
                        action == Action::Lose || action == Action::Kill;
      CHECK(ends);
    }
  }
  // supervisor_lost says "started": it must not come before a start.
  for (std::size_t event = 0; event < kEvents; ++event)
    CHECK(action_for(State::Starting, static_cast<Event>(event)) != Action::Lose);
}

TEST_CASE("states: a second signal ends at once what a first one has begun to end") {
  CHECK(ending_event(SIGTERM, 0) == Event::Cancel);
  CHECK(ending_event(SIGINT, 0) == Event::Interrupt);
  CHECK(ending_event(SIGINT, 1) == Event::Again);
  CHECK(action_for(State::Running, Event::Cancel) == Action::Terminate);
  CHECK(action_for(State::Running, Event::Interrupt) == Action::Pass);
  CHECK(action_for(State::Running, Event::Again) == Action::Terminate);
  CHECK(action_for(State::Ending, Event::Again) == Action::Kill);
  // The TTL has ended it: a first signal is the task's, and cuts its grace not short.
  CHECK(action_for(State::Ending, Event::Cancel) == Action::Pass);
}

TEST_CASE("signals: what each asks for") {
  for (const int signal : {SIGTERM, SIGHUP, SIGQUIT, SIGINT})
    CHECK(meaning_of(signal) == Asks::End);
  for (const int signal : {SIGUSR1, SIGUSR2, SIGWINCH})
    CHECK(meaning_of(signal) == Asks::Relay);
  CHECK(meaning_of(SIGTSTP) == Asks::Stop);
  CHECK(meaning_of(SIGCONT) == Asks::Resume);
}
