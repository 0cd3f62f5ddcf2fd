#include "isolate/rights.hpp"
#include "sys/raw_calls.hpp"

namespace mayfly::isolate::rights {

namespace raw = sys::raw;

namespace {

constexpr std::uint64_t kInitCapabilities =
    1ULL << CAP_SETUID | 1ULL << CAP_SETGID | 1ULL << CAP_KILL;

long set_capabilities(std::uint64_t mask, std::uint64_t inheritable) noexcept {
  const __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  __user_cap_data_struct data[2] = {};
  for (unsigned i = 0; i < 2; ++i) {
    data[i].effective = data[i].permitted = static_cast<std::uint32_t>(mask >> (32 * i));
    data[i].inheritable = static_cast<std::uint32_t>(inheritable >> (32 * i));
  }
  return raw::capset(header, data);
}

// Drops from the bounding set what is in `mask`. The kernel's last capability number is found by
// asking: EINVAL beyond it.
long drop_bounding_set(std::uint64_t mask) noexcept {
  for (unsigned capability = 0; capability < 64; ++capability) {
    if ((mask >> capability & 1) == 0) continue;
    const long dropped = raw::prctl(PR_CAPBSET_DROP, capability);
    if (dropped == -EINVAL) return 0;
    if (dropped < 0) return dropped;
  }
  return 0;
}

long raise_ambient(std::uint64_t mask) noexcept {
  for (unsigned capability = 0; capability < 64; ++capability) {
    if ((mask >> capability & 1) == 0) continue;
    const long raised = raw::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability);
    if (raised < 0) return raised;
  }
  return 0;
}

// All capabilities that the running kernel knows.
std::uint64_t known_capabilities() noexcept {
  std::uint64_t mask = 0;
  for (unsigned capability = 0; capability < 64; ++capability) {
    if (raw::prctl(PR_CAPBSET_READ, capability) < 0) break;
    mask |= 1ULL << capability;
  }
  return mask;
}

std::uint64_t ambient_of(const Capabilities& wanted) noexcept {
  return wanted.keep | (wanted.change_ids ? kInitCapabilities : 0);
}

long become_init(const Capabilities& wanted) noexcept {
  if (const long kept = raw::prctl(PR_SET_KEEPCAPS, 1); kept < 0) return kept;
  if (const long set = raw::setresgid(wanted.init_gid); set < 0) return set;
  return raw::setresuid(wanted.init_uid);
}

// A limit that is lower already stays: it cannot be raised, and need not be.
long lower_limit(unsigned resource, std::uint64_t soft, std::uint64_t hard) noexcept {
  const long set = raw::prlimit(resource, soft, hard);
  if (set != -EPERM) return set;
  std::uint64_t now[2] = {};  // soft, hard
  if (const long got = raw::get_prlimit(resource, now); got < 0) return got;
  return now[1] <= hard ? raw::prlimit(resource, soft < now[1] ? soft : now[1], now[1]) : set;
}

}  // namespace

Fault set_rlimits(const std::vector<plan::Rlimit>& limits) noexcept {
  const plan::Rlimit* const all = limits.data();
  for (std::size_t i = 0; i < limits.size(); ++i) {
    const long set = lower_limit(static_cast<unsigned>(all[i].resource), all[i].soft, all[i].hard);
    if (set < 0) return fault_of(set, static_cast<std::uint32_t>(i));
  }
  return {};
}

Fault ban_user_namespaces(int root) noexcept {
  const long opened =
      raw::openat(root, "proc/sys/user/max_user_namespaces", O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
  if (opened < 0) return fault_of(opened);
  const int fd = static_cast<int>(opened);
  const long written = raw::write(fd, "0", 1);
  raw::close(fd);
  return fault_of(written);
}

Fault prove_ban() noexcept {
  return Fault{.error = raw::unshare(CLONE_NEWUSER) < 0 ? 0 : EEXIST};
}

Fault new_session_keyring() noexcept {
  const long joined = raw::keyctl(sys::kKeyctlJoinSessionKeyring, 0);
  return joined == -ENOSYS ? Fault{} : fault_of(joined);  // a kernel without keyrings has none
}

Fault shrink_bounding_set(const Capabilities& wanted) noexcept {
  return fault_of(drop_bounding_set(~ambient_of(wanted)));
}

Fault drop_capabilities(const Capabilities& wanted) noexcept {
  std::uint64_t ambient = ambient_of(wanted);
  if (ambient == 0) return fault_of(set_capabilities(0, 0));
  // Only a mask of all can name more than the kernel knows: asking costs a call for each.
  if (wanted.keep != 0) ambient &= known_capabilities();
  if (wanted.change_ids) {
    if (Fault fault = fault_of(become_init(wanted))) return fault;
  }
  // What is to be inheritable must be in the bounding set when it is set, and only then go there.
  if (Fault fault = fault_of(set_capabilities(ambient | 1ULL << CAP_SETPCAP, ambient))) {
    return fault;
  }
  if (Fault fault = fault_of(drop_bounding_set(ambient & ~wanted.keep))) return fault;
  if (Fault fault = fault_of(set_capabilities(ambient, ambient))) return fault;
  return fault_of(raise_ambient(ambient));
}

Fault no_new_privs() noexcept {
  return fault_of(raw::prctl(PR_SET_NO_NEW_PRIVS, 1));
}

}  // namespace mayfly::isolate::rights
