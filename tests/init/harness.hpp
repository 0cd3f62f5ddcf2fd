// Plays the supervisor to the real init program.
#pragma once

#include <linux/filter.h>
#include <sys/types.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "init/request.hpp"
#include "launch/protocol.hpp"

namespace mayfly::init::test {

using launch::Kind;
using launch::Message;
using launch::SpawnHeader;
using launch::Step;

// No check here asserts a short time. This is when a test gives up.
inline constexpr int kPatienceMs = 300'000;

// Paths of the programs that the sandboxes execute, readable for every user.
[[nodiscard]] const std::string& target();   // target_look.cpp
[[nodiscard]] const std::string& nothing();  // target_nothing.cpp
[[nodiscard]] const std::string& scratch();  // a directory of this run, removed at its end

// A spawn request to be, in the parts that a test changes.
struct Spawn {
  std::vector<std::string> argv;
  std::vector<std::string> env;
  std::vector<std::string> paths;  // empty: argv[0]
  std::string chdir = "/";
  std::vector<sock_filter> filter;
  std::vector<std::vector<sock_filter>> stacked;
  std::vector<launch::SpawnRlimit> rlimits;
  SpawnHeader header;  // its flags, ids, umask, deadline; the rest is filled in

  [[nodiscard]] std::string bytes() const;
};

[[nodiscard]] Fd sealed_memfd(const std::string& bytes);
[[nodiscard]] Fd memfd_with_seals(const std::string& bytes, int seals);

// For cases that need root: false, with a message, for any other caller. The names of such cases
// end in "(root)".
[[nodiscard]] bool has_root();

enum class Place {
  Plain,         // an ordinary child process
  PidNamespace,  // pid 1 of a pid namespace, in a user namespace with the caller's id as 0
  IdRange,       // the same with 65536 ids, as the launch does it: needs root
};

struct Pipe {
  Fd read, write;
};
[[nodiscard]] Pipe make_pipe();
[[nodiscard]] Fd open_pidfd(pid_t pid);
// Waits until a pidfd or pipe is readable. False: it was not, however long.
[[nodiscard]] bool is_readable(const Fd& descriptor, int milliseconds = kPatienceMs);
// All that comes until end of file: so whoever holds the other end is gone.
[[nodiscard]] std::string read_all(const Fd& descriptor);
[[nodiscard]] std::string read_line(const Fd& descriptor);

struct StartOptions {
  Place place = Place::PidNamespace;
  pid_t supervisor = 0;          // whose pidfd init is given; 0: the calling process
  bool blocked_signals = false;  // block what can be blocked before the start
  std::vector<int> ignored_signals = {};
  unsigned most_processes = 0;    // RLIMIT_NPROC of init; 0: as it is
  int terminal = -1;              // init leads a session that it controls; -1: none
  bool close_supervisor = false;  // give init no descriptor 4
};

// A started init. Ends with it: the destructor kills and reaps.
class Sandbox {
 public:
  explicit Sandbox(StartOptions options = {});
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;
  ~Sandbox();

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] const Fd& pidfd() const { return pidfd_; }

  void send(const Message& message, std::initializer_list<int> descriptors = {});
  void send_bytes(const void* bytes, std::size_t size);
  // Sends a request; the task's stdout and stderr are the read end that it returns.
  Fd spawn(const Spawn& request, std::uint32_t slot = launch::kMainSlot);
  void spawn_memfd(const Fd& memfd, std::uint32_t slot = launch::kMainSlot);
  // Arms init's key anew. Tests that need the task to come this far first do not put a deadline
  // into its spawn: on a busy machine that would be a race.
  void set_deadline(std::int64_t nanoseconds);
  // Waits until init has armed its first deadline and watches its supervisor.
  void wait_until_ready();
  // The next message, whatever it is.
  Message receive();
  Message expect(Kind kind);
  [[nodiscard]] bool is_at_end();
  void hang_up() { socket_.reset(); }
  // init's wait status: its exit code, or minus the signal that killed it.
  int wait();
  // The descriptor that came with the last message.
  Fd take_descriptor() { return std::move(received_); }

 private:
  Fd socket_, pidfd_, received_;
  pid_t pid_ = 0;
};

// Runs a task to its end: what it wrote, and the Exited message. Checks that init ends well.
struct Ended {
  std::string output;
  Message exited;
};
[[nodiscard]] Ended run(const Spawn& request, StartOptions options = {});
// Runs a request that is not executed, and checks that init ends after saying so.
[[nodiscard]] Message run_to_failure(const Spawn& request, StartOptions options = {});

// A fact that `target look` or a file like /proc/PID/status prints: the rest of its line.
[[nodiscard]] std::string fact(const std::string& output, const std::string& name);

}  // namespace mayfly::init::test
