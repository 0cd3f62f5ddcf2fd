#include "supervise/endpoint.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <termios.h>
#include <unistd.h>

#include <string>

#include "support.hpp"
#include "sys/event.hpp"

using namespace mayfly;
using namespace mayfly::test;
using supervise::Endpoint;
using supervise::Moved;

namespace {

struct Terminal {
  Fd master, slave;
};

// As by `stty raw min 10 time 255`: poll says that one byte is there, and read waits 25 s for more.
Terminal patient_terminal() {
  int master = -1, slave = -1;
  termios modes{};
  REQUIRE(::openpty(&master, &slave, nullptr, nullptr, nullptr) == 0);
  REQUIRE(::tcgetattr(slave, &modes) == 0);
  ::cfmakeraw(&modes);
  modes.c_cc[VMIN] = 10;
  modes.c_cc[VTIME] = 255;
  REQUIRE(::tcsetattr(slave, TCSANOW, &modes) == 0);
  return {.master = Fd(master), .slave = Fd(slave)};
}

// Until it takes no more, as one whose other side nobody reads.
bool fill(Endpoint& endpoint) {
  for (int i = 0; i < 10'000; ++i) {
    if (endpoint.write(std::string(512, 'x')).status == Moved::Status::Later) return true;
  }
  return false;
}

volatile sig_atomic_t seen_signals = 0;
volatile sig_atomic_t signal_pipe = -1;  // a byte for each

void count_signal(int) {
  seen_signals = seen_signals + 1;
  if (::write(signal_pipe, "a", 1) != 1) ::_exit(3);
}

}  // namespace

TEST_CASE(
    "endpoint: what cannot be opened anew does not block either, as another user's terminal") {
  const Stopwatch clock;
  const Terminal terminal = patient_terminal();
  Endpoint endpoint = Endpoint::borrow_as_it_is(terminal.slave.get());
  CHECK(fill(endpoint));
  REQUIRE(::write(terminal.master.get(), "x", 1) == 1);
  char text[16];
  Moved moved = endpoint.read(text);
  while (moved.status == Moved::Status::Later && clock.ms() < 10'000)
    moved = endpoint.read(text);
  CHECK(moved.status == Moved::Status::Some);
  CHECK(moved.bytes == 1);
  CHECK(clock.ms() < 20'000);
}

TEST_CASE("endpoint: a signal of the number that interrupts is not lost, nor is one made") {
  const std::string answer = in_child([] {
    const sys::Pipe heard = sys::pipe().value();
    signal_pipe = heard.write_end.get();
    ::signal(SIGRTMAX, count_signal);
    const Terminal terminal = patient_terminal();
    Endpoint endpoint = Endpoint::borrow_as_it_is(terminal.slave.get());
    // Two of them at a time: they queue, and beside what interrupts.
    Child caller([&heard, parent = ::getpid()] {
      char byte = '\0';
      for (int i = 0; i < 5; ++i) {
        sleep_ms(31);
        for (int twice = 0; twice < 2; ++twice)
          ::kill(parent, SIGRTMAX);
        for (int twice = 0; twice < 2; ++twice)
          if (::read(heard.read_end.get(), &byte, 1) != 1) return 1;
      }
      return 0;
    });
    // Each of these reads waits until it is interrupted.
    char text[16];
    for (int i = 0; i < 20; ++i) {
      if (::write(terminal.master.get(), "x", 1) != 1) return std::string("cannot type");
      static_cast<void>(endpoint.read(text));
    }
    const int status = caller.wait();
    sleep_ms(50);
    sigset_t mask;
    ::sigprocmask(SIG_BLOCK, nullptr, &mask);
    return std::to_string(status) + " " + std::to_string(seen_signals) + " " +
           std::to_string(::sigismember(&mask, SIGRTMAX));
  });
  CHECK(answer == "0 10 0");
}
