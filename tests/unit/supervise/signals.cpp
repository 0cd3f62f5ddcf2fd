#include "supervise/signals.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervise/caller.hpp"
#include "support.hpp"
#include "sys/event.hpp"
#include "sys/process.hpp"

using namespace mayfly;
using namespace mayfly::test;

namespace {

// Which of the signals that we send ourselves arrive, where `ignored` was inherited as ignored.
std::string arriving(int ignored) {
  return in_child([&] {
    if (ignored != 0) ::signal(ignored, SIG_IGN);
    ::signal(SIGCHLD, SIG_IGN);
    const Fd signals = supervise::take_signals().value();
    for (const int signal : {SIGHUP, SIGINT, SIGTERM, SIGPIPE, SIGTTIN})
      ::kill(::getpid(), signal);
    std::string text;
    while (const int signal = sys::read_signal(signals).value())
      text += std::to_string(signal) + " ";
    // A parent that ignored SIGCHLD could reap nobody.
    const pid_t child = ::fork();
    if (child == 0) ::_exit(5);
    int status = 0;
    const bool reaped = ::waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 5;
    return text + (reaped ? "reaped" : "lost");
  });
}

}  // namespace

TEST_CASE("signals: what arrives, and what nohup and background jobs mean") {
  CHECK(arriving(0) == "1 2 15 reaped");
  CHECK(arriving(SIGHUP) == "2 15 reaped");
  CHECK(arriving(SIGINT) == "1 15 reaped");
  // Nobody ignores SIGTERM by convention: it must end us.
  CHECK(arriving(SIGTERM) == "1 2 15 reaped");
}

TEST_CASE("caller: its death is seen, and it was ours when we looked") {
  CHECK(in_child([] {
          int told[2];
          if (::pipe(told) != 0) return std::string("?");
          Child caller([&] {
            const pid_t supervisor = ::fork();
            if (supervisor == 0) {
              const Result<supervise::Caller> seen = supervise::watch_caller();
              pollfd death{.fd = seen ? seen->pidfd.get() : -1, .events = POLLIN, .revents = 0};
              char answer = !seen || seen->gone ? 'g' : 'w';
              if (::write(told[1], &answer, 1) != 1) ::_exit(1);
              answer = ::poll(&death, 1, 10'000) == 1 ? 'd' : 't';
              ::_exit(::write(told[1], &answer, 1) == 1 ? 0 : 1);
            }
            sleep_ms(200);
            return 0;
          });
          char answers[3] = {};
          for (int i = 0; i < 2; ++i)
            if (::read(told[0], answers + i, 1) != 1) return std::string("?");
          caller.wait();
          return std::string(answers);
        }) == "wd");
}
