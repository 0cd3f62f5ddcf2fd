#include "sys/process.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>

#include "../supervise/support.hpp"

using namespace mayfly;
using namespace mayfly::test;

TEST_CASE("process wrappers: reaping tells how a child ended and what it used") {
  Child child([] {
    const auto busy = [] { return std::clock() < CLOCKS_PER_SEC / 20; };
    while (busy()) {
    }
    return 3;
  });
  const Fd pidfd = sys::pidfd_open(child.pid()).value();
  std::optional<sys::Reaped> reaped;
  for (int i = 0; i < 2000 && !reaped; ++i) {
    reaped = sys::waitid(pidfd).value();
    if (!reaped) sleep_ms(5);
  }
  REQUIRE(reaped);
  CHECK(reaped->code == CLD_EXITED);
  CHECK(reaped->status == 3);
  CHECK(reaped->usage.ru_utime.tv_usec + reaped->usage.ru_stime.tv_usec >= 40'000);
  // It is gone: nobody gets the signal, and that is no failure.
  CHECK_FALSE(sys::pidfd_send_signal(pidfd, SIGKILL).value());
  const Result<std::optional<sys::Reaped>> again = sys::waitid(pidfd);
  REQUIRE_FALSE(again);
  CHECK(describe(again.error()) == "cannot reap a child: waitid(" + std::to_string(pidfd.get()) +
                                       "): No child processes (ECHILD)");
  const Result<Fd> nobody = sys::pidfd_open(-1);
  CHECK(describe(nobody.error()) ==
        "cannot watch process -1: pidfd_open(-1): Invalid argument (EINVAL)");
}
