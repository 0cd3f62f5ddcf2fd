#include "harness/process.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

namespace harness {
namespace {

milliseconds since(Clock::time_point start) {
  return std::chrono::duration_cast<milliseconds>(Clock::now() - start);
}

// Descriptors of a child are set up above this number first, so that no target overwrites a source.
constexpr int kParking = 500;

}  // namespace

Pipe make_pipe() {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  return {Fd(ends[0]), Fd(ends[1])};
}

int slowness() {
  const char* factor = std::getenv("MAYFLY_TEST_SLOW");
  return std::max(factor == nullptr ? 1 : std::atoi(factor), 1);
}

milliseconds paced(int count) {
  return milliseconds(count) * slowness();
}

std::string paced_text(int count) {
  return std::to_string(paced(count).count()) + "ms";
}

Process::Process(pid_t pid, Fd in, Fd out, Fd err, std::string input, milliseconds deadline)
    : pid_(pid),
      in_(std::move(in)),
      out_(std::move(out)),
      err_(std::move(err)),
      input_(std::move(input)),
      deadline_(deadline) {
  if (input_.empty()) in_.reset();
  for (const Fd* fd : {&in_, &out_, &err_})
    if (*fd) ::fcntl(fd->get(), F_SETFL, O_NONBLOCK);
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      in_(std::move(other.in_)),
      out_(std::move(other.out_)),
      err_(std::move(other.err_)),
      input_(std::move(other.input_)),
      written_(other.written_),
      start_(other.start_),
      deadline_(other.deadline_),
      reaped_(other.reaped_),
      finished_(std::move(other.finished_)) {}

Process::~Process() {
  if (pid_ < 0 || reaped_) return;
  ::kill(pid_, SIGKILL);
  ::kill(pid_, SIGCONT);
  reap(true);
}

void Process::send(int signal) const {
  REQUIRE_FALSE(reaped_);
  REQUIRE(::kill(pid_, signal) == 0);
}

void Process::reap(bool block) {
  int status = 0;
  if (reaped_ || ::waitpid(pid_, &status, block ? 0 : WNOHANG) != pid_) return;
  reaped_ = true;
  finished_.exited_after = since(start_);
  if (WIFEXITED(status)) finished_.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) finished_.signal = WTERMSIG(status);
}

bool Process::pump(milliseconds wait) {
  reap(false);
  struct pollfd polled[3] = {
      {in_.get(), POLLOUT, 0}, {out_.get(), POLLIN, 0}, {err_.get(), POLLIN, 0}};
  if (reaped_ && !out_ && !err_) return false;
  // An exit wakes no poll here: look again soon. 2 ms is far below every time that is asserted.
  ::poll(polled, 3, static_cast<int>(std::min<milliseconds>(wait, milliseconds(2)).count()));
  if (in_ && polled[0].revents != 0) {
    const ssize_t n = ::write(in_.get(), input_.data() + written_, input_.size() - written_);
    if (n > 0) written_ += static_cast<std::size_t>(n);
    if ((n < 0 && errno != EAGAIN) || written_ == input_.size()) in_.reset();
  }
  std::string* const texts[] = {nullptr, &finished_.out, &finished_.err};
  Fd* const ends[] = {nullptr, &out_, &err_};
  for (int i : {1, 2}) {
    if (!*ends[i] || polled[i].revents == 0) continue;
    char buffer[65536];
    const ssize_t n = ::read(ends[i]->get(), buffer, sizeof buffer);
    if (n > 0) texts[i]->append(buffer, static_cast<std::size_t>(n));
    if (n == 0 || (n < 0 && errno != EAGAIN)) ends[i]->reset();
    if (!out_ && !err_) finished_.eof_after = since(start_);
  }
  return true;
}

void Process::await_output(const std::string& text) {
  while (finished_.out.find(text) == std::string::npos) {
    const bool more = pump(milliseconds(2)) && since(start_) < deadline_;
    if (more) continue;
    CAPTURE(finished_.out);
    CAPTURE(finished_.err);
    FAIL("no \"" << text << "\" on stdout within " << deadline_.count() << " ms");
  }
}

Finished Process::finish() {
  while (pump(milliseconds(2))) {
    if (since(start_) < deadline_) continue;
    finished_.timed_out = true;
    if (!reaped_) {
      ::kill(pid_, SIGKILL);
      reap(true);
    }
    break;
  }
  return finished_;
}

Command::Command(std::vector<std::string> argv) : argv_(std::move(argv)) {}

Command& Command::program(std::string path) {
  argv_.front() = std::move(path);
  return *this;
}

Command& Command::env(const std::string& name, std::string value) {
  env_[name] = std::move(value);
  return *this;
}

Command& Command::unset(const std::string& name) {
  env_[name] = std::nullopt;
  return *this;
}

Command& Command::in(std::string bytes) {
  input_ = std::move(bytes);
  return *this;
}

Command& Command::fd(int number, int source) {
  fds_.emplace_back(number, source);
  return *this;
}

Command& Command::closed(int number) {
  return fd(number, -1);
}

Command& Command::cwd(std::string directory) {
  cwd_ = std::move(directory);
  return *this;
}

Command& Command::deadline(milliseconds limit) {
  deadline_ = limit;
  return *this;
}

Command& Command::before_exec(std::function<void()> action) {
  before_exec_ = std::move(action);
  return *this;
}

Process Command::start() const {
  Pipe in = make_pipe(), out = make_pipe(), err = make_pipe();
  Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  Pipe executed = make_pipe();  // closed by a successful exec
  const pid_t pid = ::fork();
  REQUIRE(pid >= 0);
  if (pid == 0) become(input_ ? in.read.get() : null.get(), out.write.get(), err.write.get());
  // Until then it is this program, whose signal handlers are not for it.
  executed.write.reset();
  char nothing = 0;
  while (::read(executed.read.get(), &nothing, 1) < 0 && errno == EINTR) {
  }
  return Process(pid, input_ ? std::move(in.write) : Fd(), std::move(out.read), std::move(err.read),
                 input_.value_or(""), deadline_);
}

void Command::become(int in, int out, int err) const {
  std::vector<std::pair<int, int>> wanted = {{0, in}, {1, out}, {2, err}};
  wanted.insert(wanted.end(), fds_.begin(), fds_.end());
  for (auto& [number, source] : wanted)
    if (source >= 0) source = ::fcntl(source, F_DUPFD_CLOEXEC, kParking);
  for (const auto& [number, source] : wanted) {
    if (source >= 0)
      ::dup2(source, number);
    else
      ::close(number);
  }
  for (const auto& [name, value] : env_) {
    if (value)
      ::setenv(name.c_str(), value->c_str(), 1);
    else
      ::unsetenv(name.c_str());
  }
  ::signal(SIGPIPE, SIG_DFL);  // ignored in the test program, whose peers may go at any time
  if (!cwd_.empty() && ::chdir(cwd_.c_str()) != 0) ::_exit(99);
  std::vector<char*> argv;
  for (const std::string& word : argv_)
    argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  if (before_exec_) before_exec_();
  ::execvp(argv[0], argv.data());
  ::_exit(98);
}

}  // namespace harness
