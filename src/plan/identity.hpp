// Who the task is: its ids inside and out, its name, home and shell (DESIGN 9).
#pragma once

#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "host/facts.hpp"
#include "plan/plan.hpp"
#include "spec/spec.hpp"

namespace mayfly::plan {

// Accounts below this id belong to the system and are shown in the sandbox's passwd as they are;
// from here on they are people, who are not.
inline constexpr std::uint32_t kFirstPerson = 1000;
inline constexpr std::uint32_t kNobody = 65534;

//   root that owns all ids   a throwaway range, no groups; root inside, or spec.user
//   anybody else             its own id, mapped to itself
//   --unsafe-ids=host        likewise, for root too (whose groups are dropped)
// spec.user is "USER" or "USER:GROUP", each a name of the sandbox's own passwd or group (see
// etc_files.hpp) or a number. Without GROUP: the user's group by passwd, else the same number.
[[nodiscard]] Result<Ids> choose_ids(const spec::Spec& spec, const host::HostFacts& facts);

// Outside ids that a throwaway range must not touch, as ranges with `outside` and `count`: what
// /etc/subuid and /etc/subgid give away, and every account within the reach of such ranges.
// Accounts that only a directory service knows are not seen.
[[nodiscard]] std::vector<IdRange> taken_ids(const host::HostFacts& facts);

// True if the bytes can be a user's name: a field of passwd and one component of a path. No control
// character, ':', '/', ',' or blank; not "." or ".."; does not begin with '-'; at most 64 bytes.
[[nodiscard]] bool is_account_name(std::string_view name);

}  // namespace mayfly::plan
