// Attempts: file systems in a user namespace, and id-mapped mounts.
//
// Everything is mounted in a mount namespace of the child's own, and by descriptor: nothing can
// reach the host's mount table.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/fd.hpp"
#include "base/on_exit.hpp"
#include "host/attempts.hpp"
#include "sys/mounts.hpp"
#include "sys/raw_calls.hpp"

namespace mayfly::host::attempts {
namespace {

struct Option {
  const char* key;
  const char* value;  // null: a flag
};

// A detached mount, or what failed.
struct Mounted {
  Fd fd;
  Finding finding;
};

template <std::size_t N>
Mounted mounted(const char* type, const std::array<Option, N>& options) {
  const std::string name = "\"" + std::string(type) + "\"";
  long answer = sys::raw::fsopen(type);
  if (answer < 0) return {.fd = {}, .finding = failed(answer, "fsopen(" + name + ")")};
  const Fd context(static_cast<int>(answer));
  for (const Option& option : options) {
    answer = option.value == nullptr
                 ? sys::raw::fsconfig_flag(context.get(), option.key)
                 : sys::raw::fsconfig_string(context.get(), option.key, option.value);
    if (answer < 0) {
      return {.fd = {}, .finding = failed(answer, "fsconfig(" + name + ", " + option.key + ")")};
    }
  }
  answer = sys::raw::fsconfig_create(context.get());
  if (answer < 0) return {.fd = {}, .finding = failed(answer, "fsconfig(" + name + ", CREATE)")};
  answer = sys::raw::fsmount(context.get(), 0);
  if (answer < 0) return {.fd = {}, .finding = failed(answer, "fsmount(" + name + ")")};
  return {.fd = Fd(static_cast<int>(answer)), .finding = found()};
}

Finding own_mount_namespace() {
  long answer = sys::raw::unshare(CLONE_NEWNS);
  if (answer < 0) return failed(answer, "unshare(CLONE_NEWNS)");
  answer = sys::raw::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
  return answer < 0 ? failed(answer, "mount(\"/\", MS_REC|MS_PRIVATE)") : found();
}

Mounted tmpfs_mounted() {
  Finding ready = own_mount_namespace();
  if (!ready.works) return {.fd = {}, .finding = std::move(ready)};
  return mounted("tmpfs", std::array<Option, 2>{{{"size", "1m"}, {"mode", "0755"}}});
}

// lower/gone/file, upper and work on the tmpfs.
Finding make_layers(int tmpfs) {
  for (const char* name : {"lower", "lower/gone", "upper", "work"}) {
    const long made = sys::raw::mkdirat(tmpfs, name, 0755);
    if (made < 0) return failed(made, "mkdirat(\"" + std::string(name) + "\") on the tmpfs");
  }
  const long file = sys::raw::openat(tmpfs, "lower/gone/file", O_WRONLY | O_CREAT, 0644);
  if (file < 0) return failed(file, "openat(\"lower/gone/file\", O_CREAT) on the tmpfs");
  sys::raw::close(static_cast<int>(file));
  return found();
}

// Holds a user namespace with the probe's maps until it is killed.
[[noreturn]] void hold_user_namespace(int ready) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const char done = sys::raw::unshare(CLONE_NEWUSER) == 0 ? 'y' : 'n';
  (void)!::write(ready, &done, 1);
  for (;;)
    ::pause();
}

}  // namespace

Finding tmpfs(const HostFacts& facts) {
  Finding xattrs = user_xattrs(facts);
  if (!xattrs.works && xattrs.error != EOPNOTSUPP) return xattrs;
  return found(xattrs.works ? "holds user xattrs" : "holds no user xattrs");
}

Finding user_xattrs(const HostFacts&) {
  const Mounted made = tmpfs_mounted();
  if (!made.finding.works) return made.finding;
  Finding layers = make_layers(made.fd.get());
  if (!layers.works) return layers;
  const std::string path = "/proc/self/fd/" + std::to_string(made.fd.get()) + "/upper";
  const long kept = sys::raw::setxattr(path.c_str(), "user.probe", "y", 1);
  return kept == 0 ? found() : failed(kept, "setxattr(upper, \"user.probe\")");
}

// Mounting proves nothing: where the tmpfs cannot hold user xattrs the overlay mounts, and fails
// with EIO when a directory of the lower layer is replaced.
Finding overlay(const HostFacts&) {
  const Mounted layer = tmpfs_mounted();
  if (!layer.finding.works) return layer.finding;
  Finding layers = make_layers(layer.fd.get());
  if (!layers.works) return layers;
  // An overlay takes no layer from a detached mount. Below the root nobody walks into it by path.
  long answer = sys::raw::move_mount(layer.fd.get(), AT_FDCWD, "/", 0);
  if (answer < 0) return failed(answer, "move_mount(tmpfs, \"/\")");
  const std::string base = "/proc/self/fd/" + std::to_string(layer.fd.get()) + "/";
  const std::string lower = base + "lower", upper = base + "upper", work = base + "work";
  const Mounted made = mounted("overlay", std::array<Option, 4>{{{"lowerdir", lower.c_str()},
                                                                 {"upperdir", upper.c_str()},
                                                                 {"workdir", work.c_str()},
                                                                 {"userxattr", nullptr}}});
  if (!made.finding.works) return made.finding;
  if (::unlinkat(made.fd.get(), "gone/file", 0) != 0) {
    return failed(-errno, "unlink of a file of the lower layer");
  }
  if (::unlinkat(made.fd.get(), "gone", AT_REMOVEDIR) != 0) {
    return failed(-errno, "rmdir of a directory of the lower layer");
  }
  answer = sys::raw::mkdirat(made.fd.get(), "gone", 0755);
  return answer < 0 ? failed(answer, "mkdir over a directory of the lower layer") : found();
}

Finding proc(const HostFacts&) {
  Finding ready = own_mount_namespace();
  if (!ready.works) return ready;
  const long unshared = sys::raw::unshare(CLONE_NEWPID);
  if (unshared < 0) return failed(unshared, "unshare(CLONE_NEWPID)");
  // Only a process of the new pid namespace gets its proc. Its exit code is the errno.
  const long code = in_child([] { return mounted("proc", std::array<Option, 0>{}).finding.error; });
  if (code < 0) return failed(code, "fork() in the new pid namespace");
  return code == 0 ? found() : failed(-code, "mount of proc");
}

Finding devpts(const HostFacts&) {
  Finding ready = own_mount_namespace();
  if (!ready.works) return ready;
  const Mounted made =
      mounted("devpts", std::array<Option, 2>{{{"newinstance", nullptr}, {"ptmxmode", "0666"}}});
  if (!made.finding.works) return made.finding;
  const long master = sys::raw::openat(made.fd.get(), "ptmx", O_RDWR | O_NOCTTY);
  if (master < 0) return failed(master, "openat(\"ptmx\")");
  sys::raw::close(static_cast<int>(master));
  return found();
}

Finding read_only_tree(const HostFacts&) {
  Finding ready = own_mount_namespace();
  if (!ready.works) return ready;
  const long tree = sys::raw::open_tree(AT_FDCWD, "/", sys::kOpenTreeClone | sys::kAtRecursive);
  if (tree < 0) return failed(tree, "open_tree(\"/\", CLONE|RECURSIVE)");
  const Fd fd(static_cast<int>(tree));
  const sys::MountAttr read_only = {.attr_set = sys::kMountAttrRdonly | sys::kMountAttrNosuid |
                                                sys::kMountAttrNodev};
  const long set = sys::raw::mount_setattr(fd.get(), sys::kAtRecursive, read_only);
  if (set < 0) return failed(set, "mount_setattr(\"/\", AT_RECURSIVE, RDONLY|NOSUID|NODEV)");
  struct statvfs now = {};
  if (::fstatvfs(fd.get(), &now) != 0) return failed(-errno, "fstatvfs(\"/\")");
  constexpr unsigned long kWanted = ST_RDONLY | ST_NOSUID | ST_NODEV;
  if ((now.f_flag & kWanted) == kWanted) return found();
  return failed(0, "mount_setattr(\"/\", AT_RECURSIVE) had no effect");
}

Finding id_mapped_mount(const HostFacts& facts) {
  std::array<int, 2> pipe = {};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) return failed(-errno, "pipe2()");
  const Fd from(pipe[0]);
  Fd into(pipe[1]);
  const pid_t holder = ::fork();
  if (holder < 0) return failed(-errno, "fork()");
  if (holder == 0) hold_user_namespace(into.get());
  const OnExit reap([&] {
    ::kill(holder, SIGKILL);
    ::waitpid(holder, nullptr, 0);
  });
  into.reset();
  char done = 'n';
  if (::read(from.get(), &done, 1) != 1 || done != 'y') {
    return failed(0, "no user namespace to map to");
  }
  const auto mapped = write_maps(holder, facts);
  if (!mapped) return failed(-mapped.error().sys_errno, mapped.error().call);
  const Fd user_ns(
      ::open(("/proc/" + std::to_string(holder) + "/ns/user").c_str(), O_RDONLY | O_CLOEXEC));
  if (!user_ns) return failed(-errno, "open of the user namespace");
  const auto tree = sys::open_tree("/usr", sys::kOpenTreeClone);
  if (!tree) return failed(-tree.error().sys_errno, tree.error().call);
  const auto shifted = sys::id_map_mount(tree->get(), user_ns.get(), "/usr");
  return shifted ? found("of /usr") : failed(-shifted.error().sys_errno, shifted.error().call);
}

}  // namespace mayfly::host::attempts
