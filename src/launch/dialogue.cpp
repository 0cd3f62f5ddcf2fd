#include "launch/dialogue.hpp"

#include <poll.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <optional>
#include <utility>

#include "isolate/cgroup.hpp"
#include "isolate/layer.hpp"
#include "launch/launch.hpp"
#include "sys/event.hpp"
#include "sys/mounts.hpp"

namespace mayfly::launch {

Result<Received> Dialogue::expect(Kind kind) {
  Received received = TRY(receive());
  if (received.message.kind == Kind::Failed) return told(received.message);
  const bool with_descriptor = kind == Kind::Network || kind == Kind::Ready;
  if (received.message.kind != kind || (with_descriptor && !received.descriptors[0])) {
    return internal_error("start the sandbox: unexpected message");
  }
  return received;
}

Result<void> Dialogue::send(const Message& message, std::span<const int> descriptors) {
  if (TRY(send_message(child_.socket, message, descriptors))) return {};
  return last_words();
}

// It waits for nothing but us, so it need not be given long.
Error Dialogue::cause_of(Error error) {
  constexpr int kMilliseconds = 500;
  pollfd watched = {.fd = child_.pidfd.get(), .events = POLLIN, .revents = 0};
  return ::poll(&watched, 1, kMilliseconds) > 0 ? last_words() : std::move(error);
}

// A child that is at work, as most are, is not asked about twice.
Result<void> Dialogue::await(std::span<pollfd> watched) {
  constexpr std::int64_t kTurn = 200'000'000;
  const std::int64_t end = sys::boottime_ns() + kSetupDeadlineNs;
  while (sys::boottime_ns() < end) {
    TRY(sys::ppoll(watched, kTurn));
    const bool is_ready = std::any_of(watched.begin(), watched.end(),
                                      [](const pollfd& each) { return each.revents != 0; });
    if (is_ready) return {};
    if (is_cancelled_ && is_cancelled_()) {
      return Error{.kind = ErrorKind::Setup,
                   .sys_errno = ECANCELED,
                   .action = "build the sandbox: it was cancelled",
                   .call = {},
                   .hint = {}};
    }
  }
  return Error{.kind = ErrorKind::Setup,
               .sys_errno = ETIMEDOUT,
               .action = "build the sandbox within 30 seconds",
               .call = {},
               .hint = "a file system that does not answer (NFS, FUSE) is the usual cause"};
}

Result<Received> Dialogue::receive() {
  pollfd watched[2] = {{.fd = child_.socket.get(), .events = POLLIN, .revents = 0},
                       {.fd = child_.pidfd.get(), .events = POLLIN, .revents = 0}};
  TRY(await(watched));
  if ((watched[0].revents & POLLIN) == 0) return death();
  std::optional<Received> received = TRY(receive_message(child_.socket));
  // End of file says that exec closed the socket or that the child died: the pidfd knows.
  if (!received) return death();
  has_spoken_ = true;
  return std::move(*received);
}

// Why the child half gave up.
Error Dialogue::told(const Message& failed) {
  needs_disk_ = failed.step == Step::LayerXattr && failed.error == EOPNOTSUPP &&
                failed.index == isolate::layer::kInMemory;
  using isolate::mounts::Upper;
  return step_error(plan_, failed, layer_.directory ? Upper::OnDisk : Upper::InMemory);
}

// What the child half said before it ended, if it could say anything.
Error Dialogue::last_words() {
  Result<Received> last = receive();
  if (!last) return std::move(last).error();
  // Whatever else it said before is of no use now.
  return last->message.kind == Kind::Failed ? told(last->message) : last_words();
}

// The child ended without a word. Says how, and remembers a kill at birth.
Error Dialogue::death() {
  siginfo_t info = {};
  const int answer = ::waitid(P_PID, static_cast<id_t>(child_.pid), &info, WEXITED | WNOWAIT);
  const bool killed = answer == 0 && info.si_code == CLD_KILLED && info.si_status == SIGKILL;
  if (killed && isolate::cgroup::oom_kills(cgroup_).value_or(0) > 0) {
    return memory_too_small(plan_);
  }
  born_dead_ = killed && !has_spoken_ && cgroup_;
  return Error{.kind = ErrorKind::Setup,
               .sys_errno = 0,
               .action = killed ? "build the sandbox: its first process was killed"
                                : "build the sandbox: its first process ended without a word",
               .call = {},
               .hint = killed ? "the kernel may be out of memory" : ""};
}

}  // namespace mayfly::launch
