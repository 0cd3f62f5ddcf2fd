#include "sys/seccomp.hpp"

#include <poll.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <cstring>

#include "sys/files.hpp"
#include "sys/mounts.hpp"

namespace mayfly::sys {
namespace {

// The kernel writes and reads structures of its own size, which may have grown.
constexpr std::size_t kRoom = 512;

template <class Structure>
union Roomy {
  Structure structure;
  char room[kRoom];
};

}  // namespace

Result<std::optional<Notification>> receive_notification(const Fd& listener) {
  pollfd waits{.fd = listener.get(), .events = POLLIN, .revents = 0};
  // The ioctl would block. It does not after a POLLIN, since nobody else reads the listener.
  if (::poll(&waits, 1, 0) < 0 || (waits.revents & POLLIN) == 0)
    return std::optional<Notification>();
  Roomy<seccomp_notif> asked;
  std::memset(&asked, 0, sizeof asked);
  if (::ioctl(listener.get(), SECCOMP_IOCTL_NOTIF_RECV, &asked) != 0) {
    if (errno == ENOENT || errno == EINTR) return std::optional<Notification>();
    return errno_error("learn of a refused system call", "ioctl(SECCOMP_IOCTL_NOTIF_RECV)");
  }
  return std::optional(Notification{.id = asked.structure.id,
                                    .pid = static_cast<pid_t>(asked.structure.pid),
                                    .data = asked.structure.data});
}

Result<void> answer_notification(const Fd& listener, std::uint64_t id, int error) {
  Roomy<seccomp_notif_resp> answer;
  std::memset(&answer, 0, sizeof answer);
  answer.structure.id = id;
  answer.structure.error = -error;
  if (::ioctl(listener.get(), SECCOMP_IOCTL_NOTIF_SEND, &answer) == 0) return {};
  if (errno == ENOENT || errno == EINPROGRESS) return {};
  return errno_error("answer a refused system call", "ioctl(SECCOMP_IOCTL_NOTIF_SEND)");
}

std::string program_of(pid_t pid) {
  if (pid <= 0) return {};
  std::string buffer;
  const std::string path = "/proc/" + std::to_string(pid) + "/comm";
  const Result<std::string_view> name = read_whole_file(AT_FDCWD, path.c_str(), buffer, 64);
  if (!name) return {};
  return std::string(name->substr(0, name->find('\n')));
}

}  // namespace mayfly::sys
