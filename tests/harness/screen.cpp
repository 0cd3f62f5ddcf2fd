#include "harness/screen.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace harness {
namespace {

constexpr milliseconds kPatience{30'000};

}  // namespace

Screen::Screen(unsigned short rows, unsigned short columns)
    : master_(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
  REQUIRE(master_);
  REQUIRE(::unlockpt(master_.get()) == 0);
  slave_ = Fd(::ioctl(master_.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
  REQUIRE(slave_);
  resize(rows, columns);
}

Process Screen::start(Command& command) const {
  for (const int number : {0, 1, 2})
    command.fd(number, slave_.get());
  command.before_exec([] {
    ::setsid();
    ::ioctl(0, TIOCSCTTY, 0);
  });
  return command.start();
}

void Screen::type(const std::string& keys) const {
  REQUIRE(::write(master_.get(), keys.data(), keys.size()) == static_cast<ssize_t>(keys.size()));
}

void Screen::resize(unsigned short rows, unsigned short columns) const {
  winsize size{};
  size.ws_row = rows;
  size.ws_col = columns;
  REQUIRE(::ioctl(master_.get(), TIOCSWINSZ, &size) == 0);
}

bool Screen::read(milliseconds wait) {
  pollfd one{.fd = master_.get(), .events = POLLIN, .revents = 0};
  if (::poll(&one, 1, static_cast<int>(wait.count())) <= 0) return false;
  char buffer[4096];
  const ssize_t got = ::read(master_.get(), buffer, sizeof buffer);
  if (got > 0) written_.append(buffer, static_cast<std::size_t>(got));
  return got > 0;
}

void Screen::expect(const std::string& text) {
  const auto end = Clock::now() + kPatience;
  while (written_.find(text) == std::string::npos) {
    read(milliseconds(20));
    if (Clock::now() < end) continue;
    CAPTURE(written_);
    FAIL("\"" << text << "\" was not written within " << kPatience.count() << " ms");
  }
  written_.erase(0, written_.find(text) + text.size());
}

const std::string& Screen::rest() {
  while (read(milliseconds(0))) {
  }
  return written_;
}

Finished Screen::finish(Process process) {
  std::atomic<bool> over = false;
  std::thread reader([&] {
    while (!over)
      read(milliseconds(10));
  });
  Finished finished = process.finish();
  over = true;
  reader.join();
  return finished;
}

termios Screen::modes() const {
  termios modes{};
  REQUIRE(::tcgetattr(slave_.get(), &modes) == 0);
  return modes;
}

void Screen::close() {
  slave_.reset();
  master_.reset();
}

bool same_modes(const termios& a, const termios& b) {
  return a.c_iflag == b.c_iflag && a.c_oflag == b.c_oflag && a.c_cflag == b.c_cflag &&
         a.c_lflag == b.c_lflag && std::memcmp(a.c_cc, b.c_cc, sizeof a.c_cc) == 0;
}

}  // namespace harness
