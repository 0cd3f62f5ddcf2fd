#include "policy/refusals.hpp"

#include <cerrno>

#include "policy/machine.hpp"

namespace mayfly::policy {
namespace {

bool is_errno(std::uint32_t verdict) {
  return (verdict & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO;
}

}  // namespace

std::vector<sock_filter> asking(std::span<const sock_filter> program) {
  std::vector<sock_filter> asks(program.begin(), program.end());
  for (sock_filter& one : asks) {
    const bool refuses =
        one.code == (BPF_RET | BPF_K) && is_errno(one.k) && (one.k & SECCOMP_RET_DATA) != 0;
    if (refuses) one.k = SECCOMP_RET_USER_NOTIF;
  }
  return asks;
}

int refusal(std::span<const sock_filter> program, const seccomp_data& data) {
  const std::optional<std::uint32_t> verdict = run(program, data);
  const int error = verdict && is_errno(*verdict) ? *verdict & SECCOMP_RET_DATA : 0;
  return error != 0 ? error : EPERM;
}

}  // namespace mayfly::policy
