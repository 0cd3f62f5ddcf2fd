#include "launch/child.hpp"

#include <csignal>

#include "isolate/fds.hpp"
#include "isolate/net.hpp"
#include "isolate/root.hpp"
#include "launch/protocol.hpp"
#include "sys/raw_calls.hpp"

namespace mayfly::launch {

namespace raw = sys::raw;
using isolate::Fault;
using isolate::fault_of;

namespace {

constexpr int kExitCode = 125;
constexpr unsigned kMostSent = 4;  // descriptors with one message

// The child half, its steps in order. Any failure is told once, as {step, index, errno}: the parent
// owns the plan, so the parent owns the words.
class ChildHalf {
 public:
  explicit ChildHalf(const Prepared& prepared) noexcept : p_(prepared) {}

  int run() noexcept {
    raw::close(p_.socket_parent);
    raw::umask(0);
    step(Step::ParentDeath, [&] { return die_with_parent(); });
    step(Step::Loopback, [&] { return send_network(); });
    // What needs no ids is done while the parent maps them.
    step(Step::Hostname, [&] { return isolate::net::set_hostname(p_.hostname, p_.hostname_size); });
    if (p_.new_session_keyring) {
      step(Step::Keyring, [] { return isolate::rights::new_session_keyring(); });
    }
    step(Step::Capabilities, [&] { return isolate::rights::shrink_bounding_set(p_.capabilities); });
    step(Step::Layer, [] { return isolate::root::make_private(); });

    step(Step::Clone, [&] { return wait_for(Kind::Go, nullptr); });
    if (p_.unshare_cgroup) step(Step::Cgroup, [] { return unshare_cgroup(); });
    step(Step::User, [&] { return isolate::user_ns::enter(p_.user_ns); });
    // An id change clears it.
    if (p_.user_ns.change) step(Step::ParentDeath, [&] { return die_with_parent(); });

    step(Step::Layer, [&] { return isolate::layer::enter(p_.layer, &layer_); });
    step(Step::LayerXattr, [&] { return isolate::layer::try_xattr(p_.layer); });
    step(Step::Clone, [&] { return wait_for(Kind::Image, &init_image_); });
    step(Step::Mount, [&] { return isolate::mounts::enter(p_.mounts, &root_); });
    if (p_.ban_user_namespaces) {
      step(Step::UserNamespaceBan, [&] { return isolate::rights::ban_user_namespaces(root_); });
      step(Step::UserNamespaceProof, [] { return isolate::rights::prove_ban(); });
    }
    step(Step::Seal, [&] { return isolate::mounts::seal(p_.mounts, root_); });
    step(Step::PivotRoot, [&] { return isolate::root::enter(root_); });
    step(Step::Marker, [&] { return isolate::root::check_marker(root_); });
    if (p_.terminal.wanted) {
      step(Step::Terminal, [&] { return isolate::terminal::enter(p_.terminal, &terminal_); });
    }
    step(Step::Ready, [&] { return send_ready(); });

    step(Step::Rlimit, [&] { return isolate::rights::set_rlimits(*p_.rlimits); });
    step(Step::Capabilities, [&] { return isolate::rights::drop_capabilities(p_.capabilities); });
    if (p_.capabilities.change_ids) step(Step::ParentDeath, [&] { return die_with_parent(); });
    step(Step::NoNewPrivs, [] { return isolate::rights::no_new_privs(); });
    step(Step::Landlock, [&] { return isolate::landlock::enter(p_.landlock); });
    execute_init();
    return kExitCode;
  }

 private:
  template <class Action>
  void step(Step name, Action action) noexcept {
    if (p_.hooks.skips(name)) return;
    Fault fault = action();
    if (p_.hooks.fails(name)) fault = Fault{.error = EIO};
    if (fault) fail(socket_, name, fault);
  }

  static Fault unshare_cgroup() noexcept { return fault_of(raw::unshare(CLONE_NEWCGROUP)); }

  [[noreturn]] static void fail(int socket, Step name, Fault fault) noexcept {
    Message message;
    message.kind = Kind::Failed;
    message.step = name;
    message.index = fault.index;
    message.error = fault.error;
    message.value = fault.in_way;
    // It may have moved to its place for init already.
    if (send(socket, &message, nullptr, 0) < 0) send(kInitSocket, &message, nullptr, 0);
    raw::exit_group(kExitCode);
  }

  static long send(int socket, Message* message, const int* descriptors, unsigned count) noexcept {
    iovec data = {.iov_base = message, .iov_len = sizeof *message};
    alignas(cmsghdr) char control[CMSG_SPACE(kMostSent * sizeof(int))] = {};
    msghdr header = {};
    header.msg_iov = &data;
    header.msg_iovlen = 1;
    if (count > 0) {
      header.msg_control = control;
      header.msg_controllen = CMSG_SPACE(count * sizeof(int));
      cmsghdr* rights = CMSG_FIRSTHDR(&header);
      rights->cmsg_level = SOL_SOCKET;
      rights->cmsg_type = SCM_RIGHTS;
      rights->cmsg_len = CMSG_LEN(count * sizeof(int));
      int* const numbers = reinterpret_cast<int*>(CMSG_DATA(rights));
      for (unsigned i = 0; i < count; ++i)
        numbers[i] = descriptors[i];
    }
    return raw::sendmsg(socket, &header, MSG_NOSIGNAL);
  }

  // The signal is asked for first and the supervisor looked at after it: if it died in between, the
  // signal never comes, but its pidfd says so.
  Fault die_with_parent() noexcept {
    if (Fault fault = fault_of(raw::prctl(PR_SET_PDEATHSIG, SIGKILL))) return fault;
    pollfd supervisor = {.fd = p_.supervisor, .events = POLLIN, .revents = 0};
    const timespec now = {};
    const long ready = raw::poll(&supervisor, 1, &now);
    if (ready > 0) raw::exit_group(kExitCode);
    return fault_of(ready);
  }

  // Waits for that message; *descriptor: the one that it carries, if it is to carry one.
  Fault wait_for(Kind kind, int* descriptor) noexcept {
    Message message;
    iovec data = {.iov_base = &message, .iov_len = sizeof message};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr header = {};
    header.msg_iov = &data;
    header.msg_iovlen = 1;
    if (descriptor != nullptr) {
      header.msg_control = control;
      header.msg_controllen = sizeof control;
    }
    const long size = raw::recvmsg(socket_, &header, MSG_CMSG_CLOEXEC);
    if (size < 0) return fault_of(size);
    const bool right = size == static_cast<long>(sizeof message) && message.kind == kind;
    if (!right) raw::exit_group(kExitCode);  // end of file: the supervisor died or gave up
    if (descriptor == nullptr) return {};
    const cmsghdr* rights = CMSG_FIRSTHDR(&header);
    if (rights == nullptr || rights->cmsg_type != SCM_RIGHTS) return Fault{.error = EBADF};
    *descriptor = *reinterpret_cast<const int*>(CMSG_DATA(rights));
    return {};
  }

  Fault send_network() noexcept {
    int socket = -1;
    if (Fault fault = isolate::net::open_socket(&socket)) return fault;
    Message message;
    message.kind = Kind::Network;
    const Fault fault = fault_of(send(socket_, &message, &socket, 1));
    raw::close(socket);
    return fault;
  }

  Fault send_ready() noexcept {
    Message message;
    message.kind = Kind::Ready;
    int descriptors[kMostSent] = {layer_};
    unsigned count = 1;
    if (p_.terminal.wanted) {
      descriptors[count++] = terminal_.master;
      descriptors[count++] = terminal_.slave;
    }
    if (p_.hand_out_proc) {
      const long proc = raw::openat(AT_FDCWD, "/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
      if (proc < 0) return fault_of(proc);
      descriptors[count++] = static_cast<int>(proc);
    }
    const Fault fault = fault_of(send(socket_, &message, descriptors, count));
    for (unsigned i = 0; i < count; ++i)
      raw::close(descriptors[i]);
    raw::close(root_);
    return fault;
  }

  void execute_init() noexcept {
    int image = init_image_;
    step(Step::Descriptors, [&] { return isolate::fds::enter(socket_, p_.supervisor, &image); });
    if (p_.hooks.fails(Step::ExecInit)) fail(kInitSocket, Step::ExecInit, Fault{.error = EIO});
    static constexpr const char* kArgv[] = {"mayfly-init", nullptr};
    static constexpr const char* kEnvp[] = {nullptr};
    fail(kInitSocket, Step::ExecInit, fault_of(raw::execveat(image, kArgv, kEnvp)));
  }

  const Prepared& p_;
  const int socket_ = p_.socket_child;
  int layer_ = -1;
  int root_ = -1;
  int init_image_ = -1;
  isolate::terminal::Ends terminal_;
};

}  // namespace

int child_half(void* argument) {
  return ChildHalf(*static_cast<const Prepared*>(argument)).run();
}

}  // namespace mayfly::launch
