// Foreign seccomp profiles: the JSON of the OCI runtime specification, and the form of it that
// Docker and podman ship, with archMap, includes and excludes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "policy/programs.hpp"

namespace mayfly::policy {

struct Profile {
  std::string name;                // of its file, for messages
  std::string_view text;           // JSON
  std::uint64_t capabilities = 0;  // a mask of those that the command has, for includes, excludes
  std::string kernel;              // of uname, "6.1.0-17", for minKernel
};

// The program, compiled by libseccomp, for this machine's own architecture: calls by another's are
// killed by the policy's own filter. Names that nobody knows are passed over, as runtimes do, and a
// call that is newer than any that this program knows is ENOSYS where the profile's default
// refuses.
//
// Errors, with line and column: what is no such profile, an action that asks another process
// (SCMP_ACT_NOTIFY), one that is unknown, a profile for other architectures only, one under which
// no command could be executed, one that is too long.
[[nodiscard]] Result<Program> compile_profile(const Profile& profile);

}  // namespace mayfly::policy
