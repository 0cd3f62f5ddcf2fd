#include "init/channel.hpp"

#include <sys/socket.h>
#include <sys/uio.h>

#include "init/kernel.hpp"

namespace mayfly::init {

using launch::kInitSocket;
using launch::Message;

void receive(Received& received) noexcept {
  iovec data{.iov_base = &received.message, .iov_len = sizeof received.message};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof received.descriptors)];
  msghdr record{};
  record.msg_iov = &data;
  record.msg_iovlen = 1;
  record.msg_control = control;
  record.msg_controllen = sizeof control;
  const long size = call(__NR_recvmsg, kInitSocket, arg(&record), MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (size == 0) exit_group(launch::kInitOrphan);
  if (size < 0) fail(launch::Step::InitRequest, size);
  // Truncated control data: more descriptors came than any message carries.
  if (size != sizeof received.message || (record.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0)
    refuse("record");

  received.descriptor_count = 0;
  const cmsghdr* rights = CMSG_FIRSTHDR(&record);
  if (rights == nullptr) return;
  if (rights->cmsg_level != SOL_SOCKET || rights->cmsg_type != SCM_RIGHTS) refuse("record");
  const auto* numbers = reinterpret_cast<const int*>(CMSG_DATA(rights));
  received.descriptor_count =
      static_cast<unsigned>((rights->cmsg_len - CMSG_LEN(0)) / sizeof *numbers);
  for (unsigned i = 0; i < received.descriptor_count; ++i)
    received.descriptors[i] = numbers[i];
}

void send(const Message& message, int descriptor) noexcept {
  iovec data{.iov_base = const_cast<Message*>(&message), .iov_len = sizeof message};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof descriptor)] = {};
  msghdr record{};
  record.msg_iov = &data;
  record.msg_iovlen = 1;
  if (descriptor >= 0) {
    record.msg_control = control;
    record.msg_controllen = sizeof control;
    cmsghdr* rights = CMSG_FIRSTHDR(&record);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof descriptor);
    *reinterpret_cast<int*>(CMSG_DATA(rights)) = descriptor;
  }
  const long size = call(__NR_sendmsg, kInitSocket, arg(&record), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (size == sizeof message) return;
  exit_group(size == -EPIPE || size == -ECONNRESET ? launch::kInitOrphan : launch::kInitBroken);
}

void fail(launch::Step step, long error) noexcept {
  Message message;
  message.kind = launch::Kind::Failed;
  message.step = step;
  message.error = static_cast<std::int32_t>(-error);
  send(message);
  exit_group(launch::kInitBroken);
}

void refuse(const char* field) noexcept {
  Message message;
  message.kind = launch::Kind::Failed;
  message.step = launch::Step::InitRequest;
  message.error = EBADMSG;
  for (std::size_t i = 0; field[i] != '\0' && i < sizeof message.text - 1; ++i)
    message.text[i] = field[i];
  send(message);
  exit_group(launch::kInitRefused);
}

}  // namespace mayfly::init
