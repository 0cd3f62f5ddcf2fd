#include "supervise/control.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "support.hpp"
#include "sys/event.hpp"

using namespace mayfly;
using namespace mayfly::test;
using supervise::Control;
using supervise::Endpoint;

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

// A control descriptor whose clock the test sets.
class Desk {
 public:
  Desk() : pipe_(sys::pipe().value()), control_(Endpoint::borrow_as_it_is(pipe_.read_end.get())) {}

  void write(const std::string& text) {
    REQUIRE(::write(pipe_.write_end.get(), text.data(), text.size()) ==
            static_cast<ssize_t>(text.size()));
  }
  void hang_up() { pipe_.write_end.reset(); }

  // One turn of the loop: what comes of it, "(too long)" for a line that is.
  std::vector<std::string> turn(bool rubbish = false) {
    now_ += kSecond;
    return turn_at_once(rubbish);
  }
  std::vector<std::string> turn_at_once(bool rubbish = false) {
    pollfd one = control_.wants();
    REQUIRE(sys::ppoll({&one, 1}, 0));
    control_.receive(one.revents, now_);
    std::vector<std::string> lines;
    while (const auto line = control_.next()) {
      lines.push_back(line->too_long ? "(too long)" : line->text);
      if (rubbish) control_.charge_for_rubbish();
    }
    return lines;
  }
  // Until nothing comes any more.
  std::vector<std::string> all() {
    std::vector<std::string> lines;
    for (int i = 0; i < 2000 && !control_.ended(); ++i) {
      for (std::string& line : turn())
        lines.push_back(std::move(line));
      pollfd one = control_.wants();
      REQUIRE(sys::ppoll({&one, 1}, 0));
      if (one.revents == 0) break;
    }
    return lines;
  }
  [[nodiscard]] const Control& control() const { return control_; }
  [[nodiscard]] std::int64_t now() const { return now_; }

 private:
  sys::Pipe pipe_;
  Control control_;
  std::int64_t now_ = kSecond;
};

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("control: lines come whole, in however many pieces they were written") {
  Desk desk;
  desk.turn();
  desk.write("one\ntwo\nthr");
  CHECK(desk.turn() == Lines{"one", "two"});
  CHECK(desk.turn().empty());
  desk.write("ee\n\n");
  CHECK(desk.turn() == Lines{"three", ""});
  CHECK_FALSE(desk.control().ended());
}

TEST_CASE("control: the end of file is told, after what was written before it") {
  Desk desk;
  desk.write("one\ntwo\nunfinished");
  desk.hang_up();
  CHECK(desk.turn() == Lines{"one", "two", "unfinished"});
  CHECK(desk.control().ended());
  CHECK(desk.control().wants().fd == -1);
}

TEST_CASE("control: a line that is too long is told once, and the next one is read") {
  Desk desk;
  std::string sent(spec::kMostControlBytes, 'x');
  Lines lines;
  const auto send = [&](std::string text) {
    for (std::size_t at = 0; at < text.size(); at += 16'384) {
      desk.write(text.substr(at, 16'384));
      for (std::string& line : desk.turn())
        lines.push_back(std::move(line));
    }
    for (std::string& line : desk.turn())
      lines.push_back(std::move(line));
  };
  send(sent + "\n");
  REQUIRE(lines.size() == 1);
  CHECK(lines[0] == sent);  // exactly as long as it may be
  lines.clear();
  send(std::string(300'000, 'y') + "\nnext\n");
  CHECK(lines == Lines{"(too long)", "next"});
}

TEST_CASE("control: rubbish costs more than commands, and neither is taken without end") {
  Desk desk;
  desk.turn();
  std::string many;
  for (int i = 0; i < 1000; ++i)
    many += "x\n";
  desk.write(many);
  const std::size_t commands = desk.turn().size();
  CHECK(commands > 30);
  CHECK(commands <= 64);
  // Nothing more in the same moment: no read is asked for, and there is a time to look again.
  CHECK(desk.turn_at_once().empty());
  CHECK(desk.control().wants().events != POLLIN);
  REQUIRE(desk.control().next_try_ns());
  CHECK(*desk.control().next_try_ns() > desk.now());
  const std::size_t rubbish = desk.turn(true).size();
  CHECK(rubbish > 0);
  CHECK(rubbish <= 10);
  CHECK(desk.all().size() + rubbish + commands >= 64);
}

TEST_CASE("control: the end drops nothing of 64 lines, however much of it is rubbish") {
  for (const bool rubbish : {false, true}) {
    CAPTURE(rubbish);
    Desk desk;
    std::string many;
    for (int i = 0; i < 64; ++i)
      many += "x\n";
    desk.write(many);
    desk.hang_up();
    CHECK(desk.turn(rubbish).size() == 64);
  }
  Desk waits;  // for its turn, when the end comes
  waits.turn();
  std::string many;
  for (int i = 0; i < 30; ++i)
    many += "x\n";
  waits.write(many + "last\n");
  const std::size_t first = waits.turn(true).size();
  CHECK(first > 0);
  CHECK(first < 30);
  waits.hang_up();
  const Lines rest = waits.turn_at_once(true);
  REQUIRE(rest.size() == 31 - first);
  CHECK(rest.back() == "last");
  CHECK(waits.turn(true).empty());
}

TEST_CASE("control: what has nobody at its other end is refused") {
  const auto refusal = [](const char* path, int flags) {
    const int fd = ::open(path, flags);
    REQUIRE(fd > 2);
    const auto control = supervise::open_control(fd, false);
    ::close(fd);
    return control ? std::string() : control.error().action;
  };
  CHECK(refusal("/dev/null", O_RDWR).find("it is a character device") != std::string::npos);
  CHECK(refusal("/etc/passwd", O_RDONLY).find("it is a regular file") != std::string::npos);
  CHECK(refusal("/", O_RDONLY).find("it is a directory") != std::string::npos);
  const sys::Pipe pipe = sys::pipe().value();
  ::fcntl(pipe.read_end.get(), F_SETFD, 0);
  CHECK(supervise::open_control(pipe.read_end.get(), false));
  const Fd listener(::socket(AF_UNIX, SOCK_STREAM, 0));
  const sockaddr address = {.sa_family = AF_UNIX, .sa_data = {}};
  REQUIRE(::bind(listener.get(), &address, sizeof(sa_family_t)) == 0);
  REQUIRE(::listen(listener.get(), 1) == 0);
  const auto listens = supervise::open_control(listener.get(), false);
  REQUIRE_FALSE(listens);
  CHECK(listens.error().action.find("it is a socket that listens") != std::string::npos);
}

TEST_CASE("control: whoever leaves much behind is gone all the same") {
  Desk desk;
  desk.write(std::string(30'000, '\n'));
  desk.hang_up();
  CHECK(desk.turn(true).size() <= 64);
  CHECK(desk.control().ended());
}

TEST_CASE("control: descriptors that cannot serve, and one that does") {
  const auto refusal = [](int fd) {
    const Result<Control> opened = supervise::open_control(fd, false);
    return opened ? "opened" : describe(opened.error()) + " | " + opened.error().hint;
  };
  const auto refused = [](int fd, const std::string& why) {
    return "cannot read commands from descriptor " + std::to_string(fd) + ": " + why +
           " | use a free number, as in: --control-fd 4 4<FIFO";
  };
  for (const int fd : {0, 1, 2})
    CHECK(refusal(fd) == refused(fd, "0-2 are the task's own"));
  CHECK(refusal(987) == refused(987, "fcntl(987, F_GETFL): Bad file descriptor (EBADF)"));
  const Fd write_only(::open("/dev/null", O_WRONLY)), handle(::open("/dev/null", O_PATH));
  for (const int fd : {write_only.get(), handle.get()})
    CHECK(refusal(fd) == refused(fd, "it is not open for reading"));
  const Fd own(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  CHECK(refusal(own.get()).find("EBADF") != std::string::npos);  // nobody has passed it to us
  int ends[2] = {};
  REQUIRE(::pipe(ends) == 0);  // NOLINT no O_CLOEXEC: as inherited
  const Fd inherited(ends[0]), other(ends[1]);
  CHECK(refusal(inherited.get()) == "opened");
  CHECK((::fcntl(inherited.get(), F_GETFD) & FD_CLOEXEC) != 0);  // the task must not have it
}
