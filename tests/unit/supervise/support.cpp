#include "support.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace mayfly::test {
namespace {

constexpr int kDeadlineMs = 30'000;
constexpr unsigned kOrdinaryUser = 1000;

std::string read_all(int fd) {
  std::string text;
  char buffer[4096];
  pollfd one{.fd = fd, .events = POLLIN, .revents = 0};
  for (;;) {
    if (::poll(&one, 1, kDeadlineMs) <= 0) return text + " [deadline]";
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(got));
  }
}

}  // namespace

std::string in_child(const std::function<std::string()>& body) {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const pid_t pid = ::fork();
  REQUIRE(pid >= 0);
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::close(ends[0]);
    // Whoever runs us in the background, or by nohup, ignores some.
    for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTSTP})
      ::signal(signal, SIG_DFL);
    const std::string text = body();
    const ssize_t put = ::write(ends[1], text.data(), text.size());
    ::_exit(put == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  ::close(ends[1]);
  const Fd out(ends[0]);
  std::string text = read_all(out.get());
  ::kill(pid, SIGKILL);
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL) {
    text += " [signal " + std::to_string(WTERMSIG(status)) + "]";
  }
  return text;
}

Child::Child(const std::function<int()>& body) : pid_(::fork()) {
  if (pid_ != 0) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::_exit(body());
}

Child::~Child() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  wait();
}

int Child::wait() {
  int status = 0;
  if (pid_ > 0) ::waitpid(pid_, &status, 0);
  pid_ = -1;
  return status;
}

TempDir::TempDir() {
  char name[] = "/tmp/mayfly-test-XXXXXX";
  REQUIRE(::mkdtemp(name) != nullptr);
  path_ = name;
  ::chmod(name, 0777);  // NOLINT the tests also run as another user
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::vector<unsigned> users() {
  if (::geteuid() == 0) return {0, kOrdinaryUser};
  return {::geteuid()};
}

void become(unsigned user) {
  if (user == ::geteuid()) return;
  const bool done = ::setgroups(0, nullptr) == 0 && ::setresgid(user, user, user) == 0 &&
                    ::setresuid(user, user, user) == 0;
  if (!done) ::_exit(99);
}

void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string read_text(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

bool exists(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0;
}

void sleep_ms(int milliseconds) {
  ::usleep(static_cast<unsigned>(milliseconds) * 1000);
}

void skip(const std::string& why) {
  MESSAGE("not run: " << why);
  CHECK_MESSAGE(std::getenv("MAYFLY_MUST_RUN") == nullptr, why);
}

std::string cgroup_mount() {
  std::ifstream mounts("/proc/self/mounts");
  for (std::string device, path, type, rest; mounts >> device >> path >> type;) {
    if (type == "cgroup2") return path;
    std::getline(mounts, rest);
  }
  return {};
}

std::string writable_cgroup() {
  std::ifstream own("/proc/self/cgroup");
  for (std::string line; std::getline(own, line);) {
    if (line.rfind("0::", 0) != 0 || cgroup_mount().empty()) continue;
    const std::string path = cgroup_mount() + (line.size() > 4 ? line.substr(3) : "");
    if (::access(path.c_str(), W_OK) == 0) return path;
  }
  return {};
}

}  // namespace mayfly::test
