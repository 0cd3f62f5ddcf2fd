// Processes that want to stay, and processes that make noise.
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "probe.hpp"

namespace probe {
namespace {

void pause_ms(long ms) {
  const timespec time = {ms / 1000, (ms % 1000) * 1'000'000};
  ::nanosleep(&time, nullptr);
}

// If a test fails to get rid of them, they end by themselves, after a time that no test waits for.
constexpr time_t kLongestLife = 60;

time_t now() {
  return ::time(nullptr);
}
const time_t kStart = now();

[[noreturn]] void stay() {
  while (now() < kStart + kLongestLife)
    pause_ms(1000);
  ::_exit(0);
}

void ignore_all_signals() {
  for (int signal = 1; signal < NSIG; ++signal)
    ::signal(signal, SIG_IGN);
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
}

// Forks itself again and again, one generation at a time: no two moments show the same process ids.
[[noreturn]] void run_away() {
  while (now() < kStart + kLongestLife) {
    const pid_t child = ::fork();
    if (child != 0) ::_exit(0);
    pause_ms(5);
  }
  ::_exit(0);
}

[[noreturn]] void keep_busy() {
  while (now() < kStart + kLongestLife) {
  }
  ::_exit(0);
}

// Their command line is that of this program, marker included.
void start_stayers() {
  if (::fork() == 0) {  // the daemon: double fork, session of its own
    ::setsid();
    if (::fork() != 0) ::_exit(0);
    ignore_all_signals();
    stay();
  }
  if (::fork() == 0) {
    ::raise(SIGSTOP);
    stay();
  }
  if (::fork() == 0) {
    ::setpgid(0, 0);
    ignore_all_signals();
    run_away();
  }
  if (::fork() == 0) keep_busy();
}

}  // namespace

int hold(const Words&) {
  std::puts("ready");
  std::fflush(stdout);
  stay();
}

int crowd(const Words&) {
  start_stayers();
  ignore_all_signals();
  pause_ms(50);
  std::puts("ready");
  std::fflush(stdout);
  stay();
}

int orphans(const Words& words) {
  const int count = std::atoi(words.at(0).c_str());
  for (int i = 0; i < count; ++i) {
    const pid_t child = ::fork();
    if (child < 0) return errno;
    if (child == 0) {
      if (::fork() == 0) pause_ms(20);
      ::_exit(0);
    }
    ::waitpid(child, nullptr, 0);
  }
  pause_ms(500);
  return processes({});
}

int spin(const Words&) {
  std::puts("ready");
  std::fflush(stdout);
  keep_busy();
}

int flood(const Words& words) {
  long left = std::atol(words.at(0).c_str());
  char chunk[4096];
  std::memset(chunk, 'x', sizeof chunk);
  for (; left > 0; left -= static_cast<long>(sizeof chunk)) {
    const auto size = static_cast<std::size_t>(left < 4096 ? left : 4096);
    for (int fd : {1, 2})
      for (std::size_t done = 0; done < size;) {
        const ssize_t n = ::write(fd, chunk + done, size - done);
        if (n <= 0) return 1;
        done += static_cast<std::size_t>(n);
      }
  }
  return 0;
}

}  // namespace probe
