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

// The child half, its steps in order. Any failure is told once, as {step, index, errno}: the parent
// owns the plan, so the parent owns the words.
class ChildHalf {
 public:
  explicit ChildHalf(const Prepared& prepared) noexcept : p_(prepared) {}

  int run() noexcept {
    raw::close(p_.socket_parent);
    raw::umask(0);
    step(Step::ParentDeath, die_with_parent());
    step(Step::Clone, wait_for_go());
    if (p_.unshare_cgroup) step(Step::Cgroup, fault_of(raw::unshare(CLONE_NEWCGROUP)));
    step(Step::User, isolate::user_ns::enter(p_.user_ns));
    if (p_.user_ns.change) step(Step::ParentDeath, die_with_parent());  // an id change clears it

    step(Step::Layer, isolate::root::make_private());
    step(Step::Layer, isolate::layer::enter(p_.layer, &layer_));
    step(Step::LayerXattr, isolate::layer::try_xattr());
    step(Step::Mount, isolate::mounts::enter(p_.mounts, &root_));
    if (p_.ban_user_namespaces) {
      step(Step::UserNamespaceBan, isolate::rights::ban_user_namespaces(root_));
      step(Step::UserNamespaceProof, isolate::rights::prove_ban());
    }
    step(Step::Mount, isolate::mounts::seal(p_.mounts, root_));
    step(Step::PivotRoot, isolate::root::enter(root_));
    step(Step::Marker, isolate::root::check_marker(root_));
    step(Step::Layer, send_ready());

    step(Step::Hostname, isolate::net::set_hostname(p_.hostname, p_.hostname_size));
    step(Step::Loopback, isolate::net::loopback_up());
    step(Step::Rlimit, isolate::rights::set_rlimits(*p_.rlimits));
    if (p_.new_session_keyring) step(Step::Keyring, isolate::rights::new_session_keyring());
    step(Step::Capabilities, isolate::rights::drop_capabilities(p_.capabilities));
    if (p_.capabilities.change_ids) step(Step::ParentDeath, die_with_parent());
    step(Step::NoNewPrivs, isolate::rights::no_new_privs());
    step(Step::Landlock, isolate::landlock::enter(p_.landlock));
    execute_init();
    return kExitCode;
  }

 private:
  void step(Step name, Fault fault) noexcept {
    if (!fault) return;
    fail(socket_, name, fault);
  }

  [[noreturn]] static void fail(int socket, Step name, Fault fault) noexcept {
    Message message;
    message.kind = Kind::Failed;
    message.step = name;
    message.index = fault.index;
    message.error = fault.error;
    send(socket, &message, -1);
    raw::exit_group(kExitCode);
  }

  static long send(int socket, Message* message, int descriptor) noexcept {
    iovec data = {.iov_base = message, .iov_len = sizeof *message};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr header = {};
    header.msg_iov = &data;
    header.msg_iovlen = 1;
    if (descriptor >= 0) {
      header.msg_control = control;
      header.msg_controllen = sizeof control;
      cmsghdr* rights = CMSG_FIRSTHDR(&header);
      rights->cmsg_level = SOL_SOCKET;
      rights->cmsg_type = SCM_RIGHTS;
      rights->cmsg_len = CMSG_LEN(sizeof(int));
      *reinterpret_cast<int*>(CMSG_DATA(rights)) = descriptor;
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

  Fault wait_for_go() noexcept {
    Message message;
    iovec data = {.iov_base = &message, .iov_len = sizeof message};
    msghdr header = {};
    header.msg_iov = &data;
    header.msg_iovlen = 1;
    const long size = raw::recvmsg(socket_, &header, 0);
    if (size < 0) return fault_of(size);
    const bool go = size == static_cast<long>(sizeof message) && message.kind == Kind::Go;
    if (!go) raw::exit_group(kExitCode);  // end of file: the supervisor died or gave up
    return {};
  }

  Fault send_ready() noexcept {
    Message message;
    message.kind = Kind::Ready;
    const Fault fault = fault_of(send(socket_, &message, layer_));
    raw::close(layer_);
    raw::close(root_);
    return fault;
  }

  void execute_init() noexcept {
    int image = p_.init_image;
    const Fault placed = isolate::fds::enter(socket_, p_.supervisor, &image);
    step(Step::Descriptors, placed);
    static constexpr const char* kArgv[] = {"mayfly-init", nullptr};
    static constexpr const char* kEnvp[] = {nullptr};
    fail(kInitSocket, Step::ExecInit, fault_of(raw::execveat(image, kArgv, kEnvp)));
  }

  const Prepared& p_;
  const int socket_ = p_.socket_child;
  int layer_ = -1;
  int root_ = -1;
};

}  // namespace

int child_half(void* argument) {
  return ChildHalf(*static_cast<const Prepared*>(argument)).run();
}

}  // namespace mayfly::launch
