#include "host/devices.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <string_view>

#include "base/text.hpp"
#include "host/sources.hpp"
#include "sys/files.hpp"
#include "sys/mounts.hpp"

namespace mayfly::host {

Result<BlockDevice> disk_of(const std::string& path) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) != 0) {
    Error error = sys::errno_error("limit the disk of " + shown(path) + " (--io)",
                                   "stat(" + shown(path) + ")");
    error.kind = ErrorKind::Usage;
    error.hint = path_remedy(error.sys_errno);
    return error;
  }
  const dev_t device = S_ISBLK(info.st_mode) ? info.st_rdev : info.st_dev;
  const std::string number = std::to_string(major(device)) + ":" + std::to_string(minor(device));
  const std::string place = "/sys/dev/block/" + number;
  // Number 0 is what file systems without a disk of their own have: tmpfs, overlay, btrfs, nfs.
  if (major(device) == 0 || !sys::may_access(AT_FDCWD, place.c_str(), F_OK)) {
    return usage_error("limit the disk of " + shown(path) + " (--io): its file system lies on none",
                       "name the disk itself, as in --io /dev/sda:rbps=10M");
  }
  if (!sys::may_access(AT_FDCWD, (place + "/partition").c_str(), F_OK))
    return BlockDevice{path, number};
  std::string buffer;
  const std::string_view disk =
      TRY(sys::read_whole_file(AT_FDCWD, (place + "/../dev").c_str(), buffer, 64));
  return BlockDevice{path, std::string(disk.substr(0, disk.find('\n')))};
}

}  // namespace mayfly::host
