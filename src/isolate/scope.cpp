#include "isolate/scope.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <optional>
#include <string_view>
#include <utility>

#include "base/fd.hpp"
#include "base/on_exit.hpp"
#include "base/text.hpp"
#include "sys/event.hpp"
#include "sys/files.hpp"
#include "sys/mounts.hpp"

extern char** environ;

namespace mayfly::isolate {
namespace {

constexpr const char* kHelper = "mayfly-scope";
constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kPatience = 20 * kSecond;
constexpr std::size_t kMostWords = 2000;

Error refused(std::string why, std::string hint) {
  return Error{.kind = ErrorKind::HostUnsupported,
               .sys_errno = 0,
               .action = "get a cgroup with controllers from systemd: " + std::move(why),
               .call = {},
               .hint = std::move(hint)};
}

constexpr const char* kElse =
    "name a delegated cgroup with --cgroup-parent, or start without the limit: "
    "--limits=best-effort";

// The helper, its standard error a pipe of ours, with no signal blocked.
Result<pid_t> start(const std::string& helper, const std::string& id, int err) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  const OnExit clean_up([&] {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  });
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
  ::posix_spawn_file_actions_adddup2(&actions, 0, 1);
  ::posix_spawn_file_actions_adddup2(&actions, err, 2);
  sigset_t none;
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  const std::string manager = ::geteuid() == 0 ? "system" : "user";
  std::array<std::string, 4> words = {kHelper, manager, "mayfly-" + id + ".scope",
                                      std::to_string(::getpid())};
  std::array<char*, 5> argv = {words[0].data(), words[1].data(), words[2].data(), words[3].data(),
                               nullptr};
  pid_t pid = 0;
  const int error =
      ::posix_spawn(&pid, helper.c_str(), &actions, &attributes, argv.data(), environ);
  if (error == 0) return pid;
  errno = error;
  return sys::errno_error("start " + shown(helper), "posix_spawn(" + shown(helper) + ")");
}

// What it says until it ends; nothing if the time was up before, when it is killed.
std::optional<std::string> read_words(const Fd& from, pid_t pid, std::int64_t patience_ns) {
  const std::int64_t deadline = sys::boottime_ns() + patience_ns;
  std::string words;
  for (;;) {
    pollfd ready{.fd = from.get(), .events = POLLIN, .revents = 0};
    const std::int64_t left = deadline - sys::boottime_ns();
    if (left <= 0 || !sys::ppoll({&ready, 1}, left)) {
      ::kill(pid, SIGKILL);
      return std::nullopt;
    }
    if (ready.revents == 0) continue;
    char buffer[512];
    const ssize_t got = ::read(from.get(), buffer, sizeof buffer);
    if (got <= 0) return words;
    if (words.size() < kMostWords) words.append(buffer, static_cast<std::size_t>(got));
  }
}

std::string why_not(std::string words, int status) {
  while (!words.empty() && words.back() == '\n')
    words.pop_back();
  if (!words.empty()) return shown(words);
  if (!WIFSIGNALED(status)) return "the helper failed";
  return "the helper was killed by signal " + std::to_string(WTERMSIG(status));
}

}  // namespace

std::string scope_helper() {
  const Result<std::string> self = sys::readlinkat(AT_FDCWD, "/proc/self/exe");
  if (!self) return {};
  const std::string directory = self->substr(0, self->rfind('/'));
  for (const char* place : {"/../libexec/mayfly/", "/"}) {
    std::string path = directory + place + kHelper;
    if (sys::may_access(AT_FDCWD, path.c_str(), X_OK)) return path;
  }
  return {};
}

Result<void> enter_scope(const std::string& id) {
  const std::string helper = scope_helper();
  if (helper.empty()) {
    return refused("mayfly's helper for that, mayfly-scope, is not installed", kElse);
  }
  return run_scope_helper(helper, id, kPatience);
}

Result<void> run_scope_helper(const std::string& helper, const std::string& id,
                              std::int64_t patience_ns) {
  sys::Pipe pipe = TRY(sys::pipe());
  const pid_t pid = TRY(start(helper, id, pipe.write_end.get()));
  pipe.write_end.reset();
  std::optional<std::string> words = read_words(pipe.read_end, pid, patience_ns);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  if (words) return refused(why_not(*std::move(words), status), kElse);
  return refused("the helper did not answer within " + std::to_string(patience_ns / kSecond) + " s",
                 kElse);
}

}  // namespace mayfly::isolate
