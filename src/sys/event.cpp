#include "sys/event.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "sys/mounts.hpp"

namespace mayfly::sys {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

std::string call_on(const char* name, int fd) {
  return std::string(name) + "(" + std::to_string(fd) + ")";
}

timespec to_timespec(std::int64_t ns) {
  return {.tv_sec = static_cast<time_t>(ns / kSecond), .tv_nsec = static_cast<long>(ns % kSecond)};
}

// Takes over every descriptor that came with a message, those beyond our array included: each one
// was installed in our table, so each one must be closed.
void take_descriptors(msghdr& message, Received& received) {
  std::size_t count = 0;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t here = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < here; ++i) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(part) + i * sizeof number, sizeof number);
      Fd fd(number);
      if (count < received.fds.size()) received.fds[count++] = std::move(fd);
    }
  }
}

}  // namespace

namespace {

std::int64_t time_by(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * kSecond + now.tv_nsec;
}

}  // namespace

std::int64_t boottime_ns() {
  return time_by(CLOCK_BOOTTIME);
}

std::int64_t realtime_ns() {
  return time_by(CLOCK_REALTIME);
}

Result<void> ppoll(std::span<pollfd> fds, std::optional<std::int64_t> timeout_ns) {
  const timespec timeout = to_timespec(timeout_ns.value_or(0));
  if (::ppoll(fds.data(), fds.size(), timeout_ns ? &timeout : nullptr, nullptr) >= 0) return {};
  for (pollfd& fd : fds)
    fd.revents = 0;
  if (errno == EINTR) return {};
  return errno_error("wait for events", "ppoll(" + std::to_string(fds.size()) + " descriptors)");
}

Result<Fd> timerfd_create() {
  const int fd = ::timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
  if (fd >= 0) return Fd(fd);
  return errno_error("make a timer", "timerfd_create(CLOCK_BOOTTIME)");
}

Result<void> timerfd_settime(const Fd& timer, std::int64_t at_ns) {
  const itimerspec when{.it_interval = {}, .it_value = to_timespec(at_ns)};
  if (::timerfd_settime(timer.get(), TFD_TIMER_ABSTIME, &when, nullptr) == 0) return {};
  return errno_error("arm a timer", call_on("timerfd_settime", timer.get()));
}

Result<std::optional<Received>> recvmsg(const Fd& socket, std::span<std::byte> into) {
  iovec data{.iov_base = into.data(), .iov_len = into.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * 4)> control;
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t got = ::recvmsg(socket.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  // The other side went without reading all that we had sent. That is told once, before what it had
  // sent us.
  if (got < 0 && errno == ECONNRESET) {
    got = ::recvmsg(socket.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  }
  if (got < 0) {
    if (errno == EAGAIN || errno == EINTR) return std::optional<Received>();
    if (errno == ECONNRESET) return std::optional<Received>(std::in_place);
    return errno_error("receive a message", call_on("recvmsg", socket.get()));
  }
  std::optional<Received> received(std::in_place);
  received->bytes = static_cast<std::size_t>(got);
  received->truncated = (message.msg_flags & MSG_TRUNC) != 0;
  take_descriptors(message, *received);
  return received;
}

Result<bool> send_record(const Fd& socket, std::span<const std::byte> record) {
  const ssize_t sent =
      ::send(socket.get(), record.data(), record.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent >= 0) return true;  // a record goes whole or not at all
  if (errno == EAGAIN || errno == EPIPE || errno == ECONNRESET) return false;
  return errno_error("send a message", call_on("send", socket.get()));
}

Result<Pipe> pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) == 0) return Pipe{.read_end = Fd(ends[0]), .write_end = Fd(ends[1])};
  return errno_error("make a pipe", "pipe2(O_CLOEXEC)");
}

Result<void> set_nonblocking(const Fd& fd) {
  const int flags = ::fcntl(fd.get(), F_GETFL);
  if (flags >= 0 && ::fcntl(fd.get(), F_SETFL, flags | O_NONBLOCK) == 0) return {};
  return errno_error("make a descriptor non-blocking", call_on("fcntl", fd.get()));
}

}  // namespace mayfly::sys
