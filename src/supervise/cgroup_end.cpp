#include "supervise/cgroup_end.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>

#include "sys/files.hpp"
#include "sys/mounts.hpp"

namespace mayfly::supervise {

Result<Fd> open_events(const Fd& cgroup) {
  return sys::openat(cgroup.get(), "cgroup.events", O_RDONLY);
}

Result<std::uint64_t> read_populated(const Fd& events) {
  std::array<char, 128> text;
  // From the start each time: the kernel writes the file anew for each read at 0.
  const ssize_t size = ::pread(events.get(), text.data(), text.size(), 0);
  if (size < 0) return sys::errno_error("see whether a cgroup is empty", "read(cgroup.events)");
  const std::string_view content(text.data(), static_cast<std::size_t>(size));
  constexpr std::string_view kKey = "populated ";
  const std::size_t at = content.find(kKey);
  if (at == std::string_view::npos || at + kKey.size() >= content.size()) {
    return internal_error("see whether a cgroup is empty: cgroup.events does not say");
  }
  return content[at + kKey.size()] == '0' ? std::uint64_t{0} : std::uint64_t{1};
}

Result<void> kill_cgroup(const Fd& cgroup) {
  return sys::write_file_at(cgroup.get(), "cgroup.kill", "1", "the sandbox's cgroup");
}

}  // namespace mayfly::supervise
