// What is started: a plain command, the floor, mayfly, and the tools people use instead.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "bench.hpp"

namespace mayfly::bench {
namespace {

constexpr const char* kTask = "/usr/bin/true";

Argv split(const std::string& text) {
  std::istringstream words(text);
  Argv argv;
  for (std::string word; words >> word;)
    argv.push_back(word);
  return argv;
}

// The nearest thing bwrap 0.8 has to `mayfly run`: the same namespaces and devices; its host files
// are read-only binds and its project is a live bind, since it has no overlay; no seccomp filter.
Argv bwrap(const std::string& program, const std::string& project) {
  Argv argv = split(program +
                    " --unshare-all --die-with-parent --new-session --cap-drop ALL --hostname bench"
                    " --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/sbin /sbin"
                    " --symlink usr/lib /lib --symlink usr/lib64 /lib64 --ro-bind /etc /etc"
                    " --proc /proc --dev /dev --tmpfs /tmp");
  for (const std::string& word : {std::string("--bind"), project, project, std::string("--chdir"),
                                  project, std::string("--")})
    argv.push_back(word);
  return argv;
}

Json oci_mount(const std::string& to, const std::string& type, const std::string& from,
               const Json& options) {
  return {{"destination", to}, {"type", type}, {"source", from}, {"options", options}};
}

// An OCI bundle with host directories as its root file system: what a container runtime does for
// the same command. Returns its directory.
std::string make_bundle(const std::string& work_dir) {
  const std::string bundle = work_dir + "/bundle", root = bundle + "/rootfs";
  mkdir(bundle.c_str(), 0755);
  for (const char* part : {"", "/usr", "/etc", "/proc", "/dev", "/sys", "/tmp"})
    mkdir((root + part).c_str(), 0755);
  for (const char* part : {"bin", "sbin", "lib", "lib64"})
    if (symlink((std::string("usr/") + part).c_str(), (root + "/" + part).c_str()) != 0) break;
  const Json locked = {"nosuid", "noexec", "nodev"};
  Json mounts = {oci_mount("/proc", "proc", "proc", locked),
                 oci_mount("/usr", "none", "/usr", {"rbind", "ro"}),
                 oci_mount("/etc", "none", "/etc", {"rbind", "ro"}),
                 oci_mount("/dev", "tmpfs", "tmpfs", {"nosuid", "mode=755", "size=65536k"}),
                 oci_mount("/dev/pts", "devpts", "devpts",
                           {"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"}),
                 oci_mount("/tmp", "tmpfs", "tmpfs", {"nosuid", "nodev"})};
  Json namespaces = Json::array();
  for (const char* kind : {"pid", "network", "ipc", "uts", "mount", "cgroup", "user"})
    namespaces.push_back({{"type", kind}});
  const bool root_caller = getuid() == 0;
  const auto map = [&](unsigned id) {
    return Json::array(
        {{{"containerID", 0},
          {"hostID", root_caller ? 0u : id},  // it gives stdio, /dev/null, to that id
          {"size", root_caller ? 65536 : 1}}});
  };
  const Json config = {
      {"ociVersion", "1.0.0"},
      {"process",
       {{"terminal", false},
        {"user", {{"uid", 0}, {"gid", 0}}},
        {"args", {kTask}},
        {"env", {"PATH=/usr/bin:/bin"}},
        {"cwd", "/"},
        {"noNewPrivileges", true}}},
      {"root", {{"path", "rootfs"}, {"readonly", false}}},
      {"hostname", "bench"},
      {"mounts", mounts},
      {"linux",
       {{"namespaces", namespaces},
        {"uidMappings", map(getuid())},
        {"gidMappings", map(getgid())},
        {"maskedPaths", {"/proc/acpi", "/proc/keys", "/proc/timer_list", "/proc/kcore"}}}}};
  std::ofstream(bundle + "/config.json") << config.dump(1);
  return bundle;
}

// A mount namespace without the cgroup v2 tree: crun refuses a hybrid host whose v2 tree has
// controllers. Root only; -1 if it cannot be made.
int namespace_without_cgroup2() {
  const int home = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
  const int directory = open(".", O_PATH | O_CLOEXEC);
  int made = -1;
  if (unshare(CLONE_NEWNS) == 0) {
    if (mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) == 0 &&
        umount2("/sys/fs/cgroup/unified", MNT_DETACH) == 0)
      made = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
    if (setns(home, CLONE_NEWNS) != 0 || fchdir(directory) != 0) {
      perror("bench: cannot go back to the first mount namespace");
      exit(1);
    }
  }
  close(home);
  close(directory);
  return made;
}

// Runs it once with its stderr kept, to see that it works here.
std::string trial(const Variant& variant) {
  int out[2];
  if (pipe(out) != 0) return "no pipe for the trial";
  pid_t pid = 0;
  {
    const MountNamespace there(variant.mount_ns);
    pid = spawn(variant.with({kTask}), out[1]);
  }
  close(out[1]);
  std::string words;
  char buffer[512];
  for (ssize_t got; (got = read(out[0], buffer, sizeof buffer)) > 0;)
    words.append(buffer, static_cast<std::size_t>(got));
  close(out[0]);
  const int code = wait_code(pid);
  if (code == 0) return "";
  return "it exits " + std::to_string(code) + ": " + words.substr(0, words.find('\n'));
}

std::vector<Variant> chosen(const std::vector<Variant>& variants, const Argv& names) {
  std::vector<Variant> found;
  for (const std::string& name : names) {
    const auto variant = std::find_if(variants.begin(), variants.end(),
                                      [&](const Variant& each) { return each.name == name; });
    if (variant == variants.end()) {
      fprintf(stderr, "bench: there is no variant called %s\n", name.c_str());
      exit(2);
    }
    found.push_back(*variant);
  }
  return found;
}

}  // namespace

Argv Variant::with(const Argv& command) const {
  Argv argv = wrap;
  if (!fixed_command) argv.insert(argv.end(), command.begin(), command.end());
  return argv;
}

std::string program_path(const std::string& name) {
  const char* path = getenv("PATH");
  std::istringstream directories(path != nullptr ? path : "/usr/bin:/bin");
  for (std::string directory; std::getline(directories, directory, ':');)
    if (access((directory + "/" + name).c_str(), X_OK) == 0) return directory + "/" + name;
  return "";
}

const Variant* find(const std::vector<Variant>& variants, const std::string& name) {
  for (const Variant& variant : variants)
    if (variant.name == name && variant.missing.empty()) return &variant;
  return nullptr;
}

std::vector<Variant> find_variants(const Options& options) {
  std::vector<Variant> variants = {{.name = "plain", .wrap = {}},
                                   {.name = "plain again", .wrap = {}}};
  const auto add = [&](const std::string& name, Argv wrap) -> Variant& {
    variants.push_back({.name = name, .wrap = std::move(wrap)});
    Variant& added = variants.back();
    if (added.wrap.empty() || access(added.wrap[0].c_str(), X_OK) != 0)
      added.missing = "not installed";
    return added;
  };
  const auto tool = [&](const std::string& name, const std::string& arguments) -> Variant& {
    const std::string program = program_path(name);
    return add(name, program.empty() ? Argv{} : split(program + " " + arguments));
  };
  add("floor", {options.floor});
  add("mayfly", {options.mayfly, "run", "--"});
  add("mayfly, no project", {options.mayfly, "run", "--project", "none", "--"});
  for (const std::string& extra : options.extra) {
    const std::size_t equals = extra.find('=');
    if (equals != std::string::npos) add(extra.substr(0, equals), split(extra.substr(equals + 1)));
  }
  const std::string bwrap_path = program_path("bwrap");
  add("bwrap", bwrap_path.empty() ? Argv{} : bwrap(bwrap_path, options.work_dir));
  tool("unshare", "--user --map-root-user --mount --pid --net --ipc --uts --cgroup --fork");
  Variant& crun =
      tool("crun", "--root " + options.work_dir + "/crun --cgroup-manager=disabled run --bundle " +
                       make_bundle(options.work_dir) + " mayfly-bench");
  crun.fixed_command = true;
  tool("firejail",
       "--quiet --noprofile --net=none --private-dev --private-tmp --caps.drop=all --nonewprivs"
       " --seccomp --");
  if (!options.only.empty()) variants = chosen(variants, options.only);
  for (Variant& variant : variants) {
    if (!variant.missing.empty()) continue;
    variant.missing = trial(variant);
    if (variant.name != "crun" || variant.missing.empty() || getuid() != 0) continue;
    variant.mount_ns = namespace_without_cgroup2();
    variant.note = "in a mount namespace without cgroup v2, since " + variant.missing;
    variant.missing = trial(variant);
  }
  return variants;
}

}  // namespace mayfly::bench
