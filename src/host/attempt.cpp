#include "host/attempt.hpp"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/fd.hpp"
#include "base/on_exit.hpp"
#include "sys/mounts.hpp"
#include "sys/raw_calls.hpp"

namespace mayfly::host {
namespace {

constexpr int kDeadlineMs = 10'000;
constexpr std::size_t kMostReply = 512;

// The range of the ids that probes map where the caller owns all ids. Sandboxes take theirs from
// below it, and nothing that a probe makes outlives it.
constexpr std::uint32_t kProbeBase = 0x6FFF0000, kProbeCount = 65536;

// Child to parent, one record each: kNeedMaps, then the finding as works, errno, detail.
constexpr std::string_view kNeedMaps = "maps";

void send_text(int socket, std::string_view text) {
  // A lost record shows as a child that ended without an answer.
  (void)::send(socket, text.data(), std::min(text.size(), kMostReply), MSG_NOSIGNAL);
}

std::string encoded(const Finding& finding) {
  return (finding.works ? "1 " : "0 ") + std::to_string(finding.error) + " " + finding.detail;
}

Finding decoded(std::string_view text) {
  Finding finding;
  finding.works = text.substr(0, 2) == "1 ";
  text.remove_prefix(std::min<std::size_t>(2, text.size()));
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), finding.error);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (!text.empty()) finding.detail = text.substr(1);
  return finding;
}

// Child: a new user namespace with maps, and the first id of it. PDEATHSIG comes after the id
// change, which clears it.
Finding enter_user_namespace(int socket, const HostFacts& facts) {
  const long unshared = sys::raw::unshare(CLONE_NEWUSER);
  if (unshared < 0) return failed(unshared, "unshare(CLONE_NEWUSER)");
  send_text(socket, kNeedMaps);
  std::array<char, kMostReply> reply;
  const ssize_t got = ::recv(socket, reply.data(), reply.size(), 0);
  if (got <= 0) return failed(-ECONNRESET, "recv(maps)");
  const Finding maps = decoded({reply.data(), static_cast<std::size_t>(got)});
  if (!maps.works) return maps;
  if (!facts.owns_all_ids) return found();
  long answer = sys::raw::setgroups(0, nullptr);
  if (answer < 0) return failed(answer, "setgroups(0)");
  answer = sys::raw::setresgid(0);
  if (answer == 0) answer = sys::raw::setresuid(0);
  if (answer < 0) return failed(answer, "setresuid(0)");
  // The id change made the process non-dumpable, so its own /proc entry belongs to an id that the
  // namespace does not know.
  ::prctl(PR_SET_DUMPABLE, 1);
  return found();
}

[[noreturn]] void run_child(int socket, pid_t parent, World world, const HostFacts& facts,
                            Finding (*function)(const HostFacts&)) {
  Finding finding = found();
  if (world == World::UserNamespace) finding = enter_user_namespace(socket, facts);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  if (finding.works) finding = function(facts);
  send_text(socket, encoded(finding));
  ::_exit(0);
}

std::string how_it_ended(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) {
    const char* name = ::sigabbrev_np(WTERMSIG(status));
    return std::string("the child died of SIG") + (name != nullptr ? name : "?");
  }
  return "the child ended without an answer";
}

// Answers the child until it has said what it found.
Finding converse(int socket, pid_t pid, const HostFacts& facts, bool& ended) {
  for (;;) {
    pollfd ready = {.fd = socket, .events = POLLIN, .revents = 0};
    const int count = ::poll(&ready, 1, kDeadlineMs);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return failed(-ETIMEDOUT, "no answer within 10 s");
    std::array<char, kMostReply> buffer;
    const ssize_t got = ::recv(socket, buffer.data(), buffer.size(), 0);
    if (got <= 0) {
      ended = true;
      return Finding{.works = false, .error = 0, .detail = how_it_ended(pid)};
    }
    const std::string_view text(buffer.data(), static_cast<std::size_t>(got));
    if (text != kNeedMaps) return decoded(text);
    const auto mapped = write_maps(pid, facts);
    send_text(socket,
              encoded(mapped ? found() : failed(-mapped.error().sys_errno, mapped.error().call)));
  }
}

}  // namespace

Finding found(std::string_view detail) {
  return {.works = true, .error = 0, .detail = std::string(detail)};
}

Finding failed(long answer, std::string_view call) {
  return {.works = false, .error = static_cast<int>(-answer), .detail = std::string(call)};
}

Result<void> write_maps(pid_t pid, const HostFacts& facts) {
  const std::string proc = "/proc/" + std::to_string(pid);
  const auto line = [&](std::uint32_t own) {
    return facts.owns_all_ids
               ? "0 " + std::to_string(kProbeBase) + " " + std::to_string(kProbeCount)
               : std::to_string(own) + " " + std::to_string(own) + " 1";
  };
  if (!facts.owns_all_ids) TRY(sys::write_file(proc + "/setgroups", "deny"));
  TRY(sys::write_file(proc + "/uid_map", line(facts.uid)));
  return sys::write_file(proc + "/gid_map", line(facts.gid));
}

Finding attempt(World world, const HostFacts& facts, Finding (*function)(const HostFacts&)) {
  std::array<int, 2> pair = {};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()) != 0) {
    return failed(-errno, "socketpair(AF_UNIX, SOCK_SEQPACKET)");
  }
  const Fd ours(pair[0]);
  Fd theirs(pair[1]);
  const pid_t self = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return failed(-errno, "fork()");
  if (pid == 0) run_child(theirs.get(), self, world, facts, function);
  theirs.reset();
  bool ended = false;
  Finding finding = converse(ours.get(), pid, facts, ended);
  if (ended) return finding;
  ::kill(pid, SIGKILL);
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return finding;
}

long in_child(int (*function)()) {
  const pid_t pid = ::fork();
  if (pid < 0) return -errno;
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::_exit(function());
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return -errno;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -EINTR;
}

}  // namespace mayfly::host
