#include "harness/host.hpp"

#include <dirent.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <sstream>

namespace fs = std::filesystem;

namespace harness {
namespace {

// Files of /proc vanish under the reader's hands: then they end where they were.
std::string slurp(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  char buffer[4096];
  for (ssize_t n = 1; file && n > 0;) {
    n = ::read(file.get(), buffer, sizeof buffer);
    if (n > 0) text.append(buffer, static_cast<std::size_t>(n));
  }
  return text;
}

std::vector<pid_t> all_pids() {
  std::vector<pid_t> pids;
  DIR* proc = ::opendir("/proc");
  const bool opened = proc != nullptr;
  REQUIRE(opened);
  while (const dirent* entry = ::readdir(proc))
    if (const pid_t pid = std::atoi(entry->d_name); pid > 0) pids.push_back(pid);
  ::closedir(proc);
  return pids;
}

// The fields after the program's name, which may hold blanks and brackets.
std::string stat_tail(pid_t pid) {
  const std::string stat = slurp("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t end = stat.rfind(") ");
  return end == std::string::npos ? "" : stat.substr(end + 2);
}

pid_t parent_of(pid_t pid) {
  const std::string tail = stat_tail(pid);
  return tail.size() < 3 ? 0 : std::atoi(tail.c_str() + 2);
}

std::string registry_path() {
  if (::geteuid() == 0) return "/run/mayfly";
  if (const char* runtime = std::getenv("XDG_RUNTIME_DIR")) return std::string(runtime) + "/mayfly";
  return "/tmp/mayfly-" + std::to_string(::geteuid());
}

void find_named(const fs::path& root, const std::string& part, int depth,
                std::vector<std::string>& found) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root, error)) {
    if (!entry.is_directory(error) || entry.is_symlink(error)) continue;
    if (entry.path().filename().string().find(part) != std::string::npos)
      found.push_back(entry.path().string());
    else if (depth > 0)
      find_named(entry.path(), part, depth - 1, found);
  }
}

}  // namespace

char state_of(pid_t pid) {
  const std::string tail = stat_tail(pid);
  return tail.empty() ? '\0' : tail[0];
}

std::vector<pid_t> processes_with(const std::string& word) {
  std::vector<pid_t> found;
  for (const pid_t pid : all_pids()) {
    if (pid == ::getpid()) continue;
    const std::string words = slurp("/proc/" + std::to_string(pid) + "/cmdline");  // a zombie's: ""
    if (words.find(word) != std::string::npos) found.push_back(pid);
  }
  return found;
}

std::vector<pid_t> await_processes(const std::string& word, std::size_t count) {
  std::vector<pid_t> found;
  const bool came = within(paced(10'000), [&] {
    found = processes_with(word);
    return found.size() >= count;
  });
  REQUIRE_MESSAGE(came, found.size() << " processes of " << count << " with " << word);
  return found;
}

std::vector<pid_t> descendants(pid_t pid) {
  const std::vector<pid_t> pids = all_pids();
  std::vector<pid_t> found = {pid};
  for (std::size_t i = 0; i < found.size(); ++i)
    std::copy_if(pids.begin(), pids.end(), std::back_inserter(found),
                 [&](pid_t each) { return parent_of(each) == found[i]; });
  found.erase(found.begin());
  return found;
}

std::string cgroup_of(pid_t pid) {
  const std::string own = slurp("/proc/" + std::to_string(pid) + "/cgroup");
  const std::size_t row = own.rfind("0::", 0) == 0 ? 0 : own.find("\n0::");
  if (row == std::string::npos) return "";
  const std::size_t path = own.find('/', row);
  std::istringstream mounts(slurp("/proc/self/mounts"));
  for (std::string source, point, type, rest; mounts >> source >> point >> type;) {
    std::getline(mounts, rest);
    if (type == "cgroup2") return point + own.substr(path, own.find('\n', path) - path);
  }
  return "";
}

bool kernel_is_older_than(int major, int minor) {
  utsname names{};
  REQUIRE(::uname(&names) == 0);
  int had_major = 0, had_minor = 0;
  REQUIRE(std::sscanf(names.release, "%d.%d", &had_major, &had_minor) == 2);
  return had_major < major || (had_major == major && had_minor < minor);
}

std::size_t mount_count() {
  const std::string table = slurp("/proc/self/mountinfo");
  return static_cast<std::size_t>(std::count(table.begin(), table.end(), '\n'));
}

std::size_t descriptor_count() {
  const fs::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

std::size_t net_namespace_count() {
  const std::string table = slurp("/proc/slabinfo");
  const std::string name = "\nnet_namespace ";
  const std::size_t row = table.find(name);
  return row == std::string::npos ? 0
                                  : std::strtoul(table.c_str() + row + name.size(), nullptr, 10);
}

std::vector<std::string> registry_entries() {
  std::vector<std::string> names;
  std::error_code none_yet;
  for (const auto& entry : fs::directory_iterator(registry_path(), none_yet))
    names.push_back(entry.path().filename().string());
  return names;
}

std::vector<std::string> leftovers_of(const std::string& id) {
  std::vector<std::string> found;
  find_named("/sys/fs/cgroup", id, 4, found);
  find_named(registry_path(), id, 0, found);
  return found;
}

}  // namespace harness
