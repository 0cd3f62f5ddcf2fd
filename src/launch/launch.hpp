// launch: from a Plan to a running init, or an Error that names the step that failed.
#pragma once

#include <linux/filter.h>
#include <sys/ioctl.h>
#include <sys/types.h>
#include <termios.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "host/causes.hpp"
#include "isolate/disk_layer.hpp"
#include "isolate/mounts.hpp"
#include "launch/protocol.hpp"
#include "plan/plan.hpp"

namespace mayfly::launch {

// A sandbox whose root is built and whose init is about to be executed. Owned by the supervisor;
// closing the descriptors does not end it, killing init does.
struct Sandbox {
  pid_t init_pid = 0;  // in the supervisor's pid namespace
  Fd init_pidfd;
  Fd socket;  // SEQPACKET to init, non-blocking
  Fd layer;   // root directory of the layer (O_DIRECTORY), for the walk and usage
  isolate::disk_layer::Made disk_layer;  // where the layer is on disk: to be removed
  Fd terminal_master, terminal_slave;    // of the task's terminal, where the plan has one
  Fd proc;                               // its /proc, where the plan asks for it
  Fd cgroup;                             // the sandbox's cgroup directory, if it has one
  std::string cgroup_path;
  Fd id_lock;  // holds the throwaway id range as long as it is open
  // What the child half reads until it executes init: ours alone again after settle().
  std::shared_ptr<void> launch;
  bool undumpable = false;  // an id change of the child made us so, since it is one memory
};

// Descriptors of the task, already checked (DESIGN 6). Borrowed. kOwnTerminal: the slave of the
// terminal that the plan has.
inline constexpr int kOwnTerminal = -1;
struct TaskStdio {
  int in = 0, out = 1, err = 2;
};

// How the task's terminal is before the task starts.
struct TerminalLook {
  std::optional<termios> modes;  // empty: as the kernel makes it
  winsize size{};
};

// Everything that a start needs beside the plan.
struct StartRequest {
  std::string id;            // names the cgroup ("mayfly-<id>")
  std::string id_lock_file;  // where throwaway id ranges are locked; used only if the plan has one
  std::span<const std::byte> init_image;  // the init program, executed from a sealed memfd
  std::span<const sock_filter> filter;    // the task's seccomp program
  TaskStdio stdio;
  TerminalLook terminal;         // where the plan has one
  std::int64_t deadline_ns = 0;  // init's own key, from the receipt of the request; 0: none
  const host::HostFacts* facts = nullptr;  // to say why the host refuses a sandbox; may be null
  // Whether nobody wants the sandbox any more: asked while the child keeps us waiting. May be
  // empty.
  std::function<bool()> is_cancelled = {};
};

// Builds the sandbox and sends init the first spawn request. When this returns, the child half may
// not yet have executed init: what then fails comes as a message, Failed like init's own. On
// failure everything made so far is undone: no process, mount, cgroup or lock is left. The plan
// must outlive settle(). Call it from the main thread, with the signals that the caller handles
// blocked.
[[nodiscard]] Result<Sandbox> start(const plan::Plan& plan, const StartRequest& request);

// To be called once init has said something: from then on nothing shares our memory.
void settle(Sandbox& sandbox);

// The words for a host that refuses namespaces: which setting of it does, and the remedy.
[[nodiscard]] Error refused_namespaces(int error, const host::Surroundings& around);

// The words for an OOM kill before the task was started.
[[nodiscard]] Error memory_too_small(const plan::Plan& plan);

// The words for a step that failed: "mount the overlay of /usr", with the plan's own paths.
// layer: where this attempt has it.
[[nodiscard]] Error step_error(const plan::Plan& plan, const Message& failed,
                               isolate::mounts::Upper layer = isolate::mounts::Upper::InMemory);

}  // namespace mayfly::launch
