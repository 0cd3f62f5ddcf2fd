#include "policy/profile.hpp"

#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "base/fd.hpp"
#include "base/text.hpp"
#include "policy/profile_rules.hpp"
#include "policy/stock.hpp"

namespace mayfly::policy {
namespace {

using Context = std::unique_ptr<void, decltype([](void* context) { ::seccomp_release(context); })>;

Error failed(const Profile& profile, int error, const char* call) {
  Error what = usage_error("compile the seccomp profile " + shown(profile.name),
                           "a profile that other runtimes take is taken here, too: check it there");
  what.sys_errno = -error;
  what.call = call;
  return what;
}

Result<void> add(scmp_filter_ctx context, const Profile& profile, const ProfileRule& rule,
                 int number, std::span<const scmp_arg_cmp> conditions) {
  const int error = ::seccomp_rule_add_array(
      context, rule.action, number, static_cast<unsigned>(conditions.size()), conditions.data());
  if (error == 0 || error == -EEXIST) return {};
  return failed(profile, error, "seccomp_rule_add");
}

// All conditions must hold; but those on one and the same argument are alternatives, which is what
// runtimes have always made of them.
Result<void> add(scmp_filter_ctx context, const Profile& profile, const ProfileRule& rule,
                 int number) {
  std::array<unsigned, 6> uses = {};
  for (const scmp_arg_cmp& condition : rule.conditions)
    ++uses[condition.arg];
  const bool alternatives = std::any_of(uses.begin(), uses.end(), [](unsigned n) { return n > 1; });
  if (!alternatives) return add(context, profile, rule, number, rule.conditions);
  for (const scmp_arg_cmp& condition : rule.conditions)
    TRY(add(context, profile, rule, number, {&condition, 1}));
  return {};
}

Result<std::vector<sock_filter>> exported(scmp_filter_ctx context, const Profile& profile) {
  const Fd file(::memfd_create("mayfly-profile", MFD_CLOEXEC));
  if (!file) return failed(profile, -errno, "memfd_create");
  if (const int error = ::seccomp_export_bpf(context, file.get()); error != 0) {
    return failed(profile, error, "seccomp_export_bpf");
  }
  const off_t size = ::lseek(file.get(), 0, SEEK_END);
  std::vector<sock_filter> program(static_cast<std::size_t>(std::max<off_t>(size, 0)) /
                                   sizeof(sock_filter));
  const ssize_t wanted = static_cast<ssize_t>(program.size() * sizeof(sock_filter));
  if (::pread(file.get(), program.data(), program.size() * sizeof(sock_filter), 0) != wanted) {
    return failed(profile, -EIO, "pread");
  }
  return program;
}

// Before the program: what is newer than this program is ENOSYS, so that a libc falls back. The
// profile's author cannot have meant to forbid it.
void answer_newer(std::vector<sock_filter>& program) {
  const std::uint32_t newer = last_known_call() + 1;
  const sock_filter prologue[] = {
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
      {BPF_JMP | BPF_JGE | BPF_K, 0, 1, newer},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | ENOSYS},
  };
  program.insert(program.begin(), std::begin(prologue), std::end(prologue));
}

}  // namespace

Result<Program> compile_profile(const Profile& profile) {
  const ProfileRules rules = TRY(read_profile(profile));
  const Context context(::seccomp_init(rules.otherwise));
  if (context == nullptr) return failed(profile, -ENOMEM, "seccomp_init");
  ::seccomp_attr_set(context.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
  ::seccomp_attr_set(context.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2);  // a tree, if it knows how
  for (const ProfileRule& rule : rules.rules) {
    for (const int number : rule.numbers)
      TRY(add(context.get(), profile, rule, number));
  }
  Program program{.code = TRY(exported(context.get(), profile))};
  const std::uint32_t action = rules.otherwise & SECCOMP_RET_ACTION_FULL;
  if (action != SECCOMP_RET_ALLOW && action != SECCOMP_RET_LOG) answer_newer(program.code);
  if (program.code.size() > BPF_MAXINSNS) {
    return usage_error(
        "compile the seccomp profile " + shown(profile.name) + ": it takes " +
            std::to_string(program.code.size()) + " instructions",
        "the kernel takes at most " + std::to_string(BPF_MAXINSNS) + ": leave out rules");
  }
  TRY(check_can_execute(program.code, "the seccomp profile " + shown(profile.name),
                        "allow execve and exit_group in it"));
  return program;
}

}  // namespace mayfly::policy
