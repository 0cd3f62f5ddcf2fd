#include "init/request.hpp"

#include <linux/bpf_common.h>
#include <linux/filter.h>
#include <sys/resource.h>

namespace mayfly::init {
namespace {

using launch::SpawnHeader;

constexpr std::uint32_t kKnownFlags = launch::kSetIds | launch::kInitFilter | launch::kLinger |
                                      launch::kControllingTty | launch::kTellRefusals |
                                      launch::kForegroundJob;
constexpr std::uint32_t kNoId = 0xFFFF'FFFF;  // setresuid takes it for "leave it as it is"

// Offsets and counts have 32 bits, so that no sum or product here can wrap in 64.
struct Bounds {
  std::uint64_t size = 0;
  std::uint64_t last_nul = 0;  // 0: none behind the header

  [[nodiscard]] bool has_table(std::uint32_t offset, std::uint32_t count,
                               std::uint64_t element) const noexcept {
    return offset >= sizeof(SpawnHeader) && offset % 8 == 0 && offset + count * element <= size;
  }

  // With a NUL at or behind it, a string ends inside. Finding the last NUL once, instead of the end
  // of each string, keeps a million offsets into one long string linear.
  [[nodiscard]] bool has_string(std::uint32_t offset) const noexcept {
    return offset >= sizeof(SpawnHeader) && offset <= last_nul;
  }
};

std::uint64_t find_last_nul(const Request& request) noexcept {
  for (std::uint64_t end = request.size; end > sizeof(SpawnHeader); --end)
    if (request.bytes[end - 1] == '\0') return end - 1;
  return 0;
}

bool has_strings(const Request& request, const Bounds& bounds, std::uint32_t offset,
                 std::uint32_t count) noexcept {
  if (!bounds.has_table(offset, count, sizeof(std::uint32_t))) return false;
  const auto* strings = request.table<std::uint32_t>(offset);
  for (std::uint32_t i = 0; i < count; ++i)
    if (!bounds.has_string(strings[i])) return false;
  return true;
}

bool has_stacked(const Request& request, const Bounds& bounds) noexcept {
  const SpawnHeader& header = request.header();
  if (header.stacked_count == 0) return true;
  if (header.stacked_count > launch::kMostStacked ||
      !bounds.has_table(header.stacked_offset, header.stacked_count, sizeof(launch::SpawnFilter)))
    return false;
  const auto* filters = request.table<launch::SpawnFilter>(header.stacked_offset);
  for (std::uint32_t i = 0; i < header.stacked_count; ++i)
    if (filters[i].count == 0 || filters[i].count > BPF_MAXINSNS ||
        !bounds.has_table(filters[i].offset, filters[i].count, sizeof(sock_filter)))
      return false;
  return true;
}

}  // namespace

const char* wrong_field(const Request& request) noexcept {
  if (request.size < sizeof(SpawnHeader) || request.size > launch::kMostSpawnBytes) return "size";
  const SpawnHeader& header = request.header();
  if (header.magic != SpawnHeader::kMagic) return "magic";
  if (header.size != request.size) return "size";
  if ((header.flags & ~kKnownFlags) != 0) return "flags";
  // A filter that asks has one listener, which init must be able to hand over.
  if ((header.flags & launch::kTellRefusals) != 0 && (header.flags & launch::kInitFilter) == 0)
    return "flags";

  const Bounds bounds{.size = request.size, .last_nul = find_last_nul(request)};
  if (header.argc < 1 || !has_strings(request, bounds, header.argv_offset, header.argc))
    return "argv";
  if (header.envc > 0 && !has_strings(request, bounds, header.env_offset, header.envc))
    return "env";
  if (header.pathc < 1 || !has_strings(request, bounds, header.path_offset, header.pathc))
    return "path";
  if (header.filter_count > BPF_MAXINSNS ||
      (header.filter_count > 0 &&
       !bounds.has_table(header.filter_offset, header.filter_count, sizeof(sock_filter))))
    return "filter";
  // Asked to load a filter that is not there: going on without would be the weaker mode.
  if ((header.flags & launch::kInitFilter) != 0 && header.filter_count == 0) return "filter";
  if (!has_stacked(request, bounds)) return "stacked filter";
  if (header.rlimit_count > RLIM_NLIMITS ||
      (header.rlimit_count > 0 &&
       !bounds.has_table(header.rlimit_offset, header.rlimit_count, sizeof(launch::SpawnRlimit))))
    return "rlimit";
  // The limit of core dumps is set, and kept by the filter, which init may have loaded already: it
  // would say that all went well and do nothing.
  for (std::uint32_t i = 0; i < header.rlimit_count; ++i) {
    if (request.table<launch::SpawnRlimit>(header.rlimit_offset)[i].resource == RLIMIT_CORE)
      return "core limit";
  }
  if (!bounds.has_string(header.chdir_offset) || *request.string(header.chdir_offset) != '/')
    return "chdir";
  if (header.umask > 0777) return "umask";
  if ((header.flags & launch::kSetIds) != 0 && (header.uid == kNoId || header.gid == kNoId))
    return "ids";
  if (header.deadline_ns < 0) return "deadline";
  return nullptr;
}

}  // namespace mayfly::init
