#include "isolate/user_ns.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "sys/mounts.hpp"

namespace mayfly::isolate::user_ns {
namespace {

std::string map_text(const std::vector<plan::IdRange>& ranges, std::uint32_t base) {
  std::string text;
  for (const plan::IdRange& range : ranges) {
    const std::uint32_t outside = range.outside == plan::kThrowawayBase ? base : range.outside;
    text += std::to_string(range.inside) + ' ' + std::to_string(outside) + ' ' +
            std::to_string(range.count) + '\n';
  }
  return text;
}

bool overlaps(const std::vector<plan::IdRange>& taken, std::uint32_t base) {
  const std::uint64_t end = std::uint64_t{base} + plan::kRangeSize;
  for (const plan::IdRange& range : taken) {
    if (range.outside < end && std::uint64_t{range.outside} + range.count > base) return true;
  }
  return false;
}

}  // namespace

Result<Range> lock_range(const std::string& lock_file, const std::vector<plan::IdRange>& taken) {
  constexpr std::uint32_t kSlots = plan::kLastRange - plan::kFirstRange + 1;
  Range range;
  Result<Fd> lock = sys::open(lock_file, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
  if (!lock && lock.error().hint.empty()) {
    lock.error().hint = "the runtime directory must be writable and have room";
  }
  range.lock = TRY(std::move(lock));
  // Sandboxes that start at once begin at different places, so that they seldom try the same byte.
  const std::uint32_t first = static_cast<std::uint32_t>(::getpid()) * 2654435761U;
  for (std::uint32_t attempt = 0; attempt < kSlots; ++attempt) {
    const std::uint32_t slot = plan::kFirstRange + (first + attempt) % kSlots;
    const std::uint32_t base = slot * plan::kRangeSize;
    if (overlaps(taken, base)) continue;
    if (!TRY(sys::try_lock_byte(range.lock.get(), slot, lock_file))) continue;
    range.base = base;
    return range;
  }
  return Error{.kind = ErrorKind::Setup,
               .sys_errno = EAGAIN,
               .action = "find a free range of ids for the sandbox",
               .call = {},
               .hint = "all ranges are taken by /etc/subuid, /etc/subgid or running sandboxes"};
}

Result<void> from_parent(const plan::Ids& ids, std::uint32_t base, pid_t pid) {
  const std::string proc = "/proc/" + std::to_string(pid);
  if (ids.deny_setgroups) TRY(sys::write_file(proc + "/setgroups", "deny"));
  TRY(sys::write_file(proc + "/uid_map", map_text(ids.uids, base)));
  return sys::write_file(proc + "/gid_map", map_text(ids.gids, base));
}

}  // namespace mayfly::isolate::user_ns
