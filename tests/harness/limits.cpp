#include "harness/limits.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "harness/host.hpp"

namespace harness {

std::string cgroup_tree() {
  std::ifstream mounts("/proc/self/mounts");
  for (std::string source, point, type, rest; mounts >> source >> point >> type;) {
    std::getline(mounts, rest);
    if (type == "cgroup2") return point;
  }
  return "";
}

bool has_controller(const std::string& name) {
  std::ifstream list(cgroup_tree() + "/cgroup.controllers");
  for (std::string word; list >> word;)
    if (word == name) return true;
  return false;
}

bool refused_for_want_of(const std::string& controller, const Words& options) {
  if (has_controller(controller)) return false;
  const Ended ended = run(options, {"true"});
  CHECK(ended.code == 125);
  CHECK(ended.reason() == "host_unsupported");
  CHECK(ended.result.at("started") == false);
  CHECK(contains(ended.err, "the " + controller + " controller is out of reach"));
  CHECK(contains(ended.err, "--limits=best-effort"));
  return true;
}

std::string note_of(const Ended& ended, const std::string& what) {
  for (const auto& note : ended.result.at("notes")) {
    if (note.at("what") == what) return note.at("enforcement").get<std::string>();
  }
  return "";
}

bool was_hit(const Ended& ended, const std::string& limit) {
  const auto& hit = ended.result.at("limits_hit");
  return std::find(hit.begin(), hit.end(), limit) != hit.end();
}

OwnCgroup::OwnCgroup() {
  const auto parent = [](const std::string& path) { return path.substr(0, path.rfind('/')); };
  path_ = parent(parent(cgroup_of(::getpid()))) + "/test-" + new_marker();
  REQUIRE_MESSAGE(::mkdir(path_.c_str(), 0755) == 0, "cannot make the cgroup " << path_);
}

OwnCgroup::~OwnCgroup() {
  std::ofstream(path_ + "/cgroup.kill") << "1";
  const auto all_gone = [&] {
    for (const std::string& child : children())
      ::rmdir(child.c_str());
    return ::rmdir(path_.c_str()) == 0;
  };
  if (!within(milliseconds(10'000), all_gone)) MESSAGE("cannot remove the cgroup " << path_);
}

std::string OwnCgroup::make(const std::string& name) const {
  const std::string made = path_ + "/" + name;
  REQUIRE(::mkdir(made.c_str(), 0755) == 0);
  return made;
}

Words OwnCgroup::children() const {
  Words found;
  for (const auto& entry : std::filesystem::directory_iterator(path_))
    if (entry.is_directory()) found.push_back(entry.path());
  return found;
}

std::string cgroup_value(const std::string& cgroup, const std::string& file) {
  std::ifstream input(cgroup + "/" + file);
  REQUIRE_MESSAGE(input.good(), "cannot read " << file << " of " << cgroup);
  std::ostringstream text;
  text << input.rdbuf();
  std::string value = text.str();
  if (value.ends_with('\n')) value.pop_back();
  return value;
}

std::uint64_t cgroup_count(const std::string& cgroup, const std::string& file,
                           const std::string& key) {
  return std::stoull(value_of(cgroup_value(cgroup, file), key));
}

void set_cgroup_value(const std::string& cgroup, const std::string& file,
                      const std::string& value) {
  const std::string path = cgroup + "/" + file;
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  const ssize_t written = ::write(fd, value.data(), value.size());
  ::close(fd);
  REQUIRE_MESSAGE(written == static_cast<ssize_t>(value.size()),
                  "cannot write " << value << " to " << path);
}

Words inside_cgroup(const std::string& cgroup) {
  return {"sh", "-c", "echo $$ > '" + cgroup + "/cgroup.procs' && exec \"$@\"", "sh"};
}

}  // namespace harness
