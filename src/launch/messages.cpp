#include "launch/messages.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "sys/mounts.hpp"

namespace mayfly::launch {

Result<std::optional<Received>> receive_message(const Fd& socket) {
  Received received;
  iovec data = {.iov_base = &received.message, .iov_len = sizeof received.message};
  alignas(cmsghdr) char control[CMSG_SPACE(Received::kMost * sizeof(int))];
  msghdr header = {};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  ssize_t size = ::recvmsg(socket.get(), &header, MSG_CMSG_CLOEXEC);
  // The child went without reading all that we had sent. That is told once, before its last words.
  if (size < 0 && errno == ECONNRESET) {
    size = ::recvmsg(socket.get(), &header, MSG_CMSG_CLOEXEC);
  }
  const cmsghdr* rights = CMSG_FIRSTHDR(&header);
  if (rights != nullptr && rights->cmsg_type == SCM_RIGHTS) {
    const auto* numbers = reinterpret_cast<const int*>(CMSG_DATA(rights));
    const std::size_t count = (rights->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count && i < Received::kMost; ++i)
      received.descriptors[i] = Fd(numbers[i]);
  }
  if (size != static_cast<ssize_t>(sizeof received.message)) return std::optional<Received>();
  return std::optional(std::move(received));
}

Result<bool> send_message(const Fd& socket, const Message& message,
                          std::span<const int> descriptors) {
  iovec data = {.iov_base = const_cast<Message*>(&message), .iov_len = sizeof message};
  alignas(cmsghdr) char control[CMSG_SPACE(4 * sizeof(int))] = {};
  msghdr header = {};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  if (!descriptors.empty()) {
    header.msg_control = control;
    header.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::copy(descriptors.begin(), descriptors.end(), reinterpret_cast<int*>(CMSG_DATA(rights)));
  }
  if (::sendmsg(socket.get(), &header, MSG_NOSIGNAL) >= 0) return true;
  if (errno == EPIPE || errno == ECONNRESET) return false;
  return sys::errno_error("speak to the sandbox", "sendmsg");
}

}  // namespace mayfly::launch
