// What the tests of the supervisor share: a process of their own to run in, with a deadline, and
// temporary directories.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/fd.hpp"

namespace mayfly::test {

// Runs `body` in a child process and returns what it returned. A child that does not end within 30
// seconds, or that dies of a signal, returns a text that no test expects. Needed where the code
// under test changes signals, descriptors or ids of the process.
[[nodiscard]] std::string in_child(const std::function<std::string()>& body);

// A child process that is killed and reaped with this object.
class Child {
 public:
  explicit Child(const std::function<int()>& body);
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();
  [[nodiscard]] int pid() const { return pid_; }
  // Waits for its end; the wait status.
  int wait();

 private:
  int pid_;
};

class TempDir {
 public:
  TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir();
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// The users to test as: the caller and, if that is root, an ordinary one too.
[[nodiscard]] std::vector<unsigned> users();
// In a child only: becomes that user, for good.
void become(unsigned user);

void write_text(const std::string& path, const std::string& text);
[[nodiscard]] std::string read_text(const std::string& path);
[[nodiscard]] bool exists(const std::string& path);
void sleep_ms(int milliseconds);

class Stopwatch {
 public:
  [[nodiscard]] std::int64_t ms() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

// Says why a check cannot run here. A failure where MAYFLY_MUST_RUN is set.
void skip(const std::string& why);

// A directory of the cgroup v2 tree in which we may make cgroups, or empty.
[[nodiscard]] std::string writable_cgroup();
[[nodiscard]] std::string cgroup_mount();

}  // namespace mayfly::test
