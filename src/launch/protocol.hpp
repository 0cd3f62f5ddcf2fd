// What the supervisor, the child half and init say to each other: fixed messages on one
// SEQPACKET socket, and the spawn request in a sealed memfd.
//
// One socket pair serves the whole life of a sandbox: first the child half owns the inner end, then
// init inherits it as descriptor kInitSocket. Every message is one `Message`; a short or long
// record, or one with an unknown kind, is a failure. End of file means that the other side died.
// Included by init, which has no libc: plain data and fixed-width integers only.
#pragma once

#include <cstdint>

namespace mayfly::launch {

// Descriptors that init inherits; everything else is closed before it is executed.
inline constexpr int kInitSocket = 3;      // the inner end of the socket pair
inline constexpr int kInitSupervisor = 4;  // a pidfd of the supervisor: readable once it is dead

// Where the launch failed. One list for both sides; words belong to launch::words(). Steps that
// exist more than once (mounts, files) are told apart by Message::index, an index into the plan.
enum class Step : std::uint32_t {
  None = 0,
  Clone,
  IdMap,
  Groups,
  User,
  ParentDeath,
  Layer,
  LayerXattr,
  Mount,
  Seal,
  PivotRoot,
  Marker,
  Terminal,
  Ready,
  Hostname,
  Loopback,
  Rlimit,
  UserNamespaceBan,
  UserNamespaceProof,
  Capabilities,
  NoNewPrivs,
  Landlock,
  Keyring,
  Descriptors,
  Cgroup,
  ExecInit,
  // init's own steps
  InitStart,
  InitDeadline,
  InitRequest,
  InitFilter,
  InitFork,
  // the task's child, between init's fork and execve
  TaskSession,
  TaskStdio,
  TaskUser,
  TaskChdir,
  TaskRlimit,
  TaskFilter,
  TaskExec,
};

enum class Kind : std::uint32_t {
  // parent → child half
  Go = 1,  // id maps are written: go on
  // child half → parent, before anything else; carries a socket of the new network namespace
  Network,
  // parent → child half: the lower trees are id-mapped, mount them. Carries init's image
  Image,
  // child half → parent; carries the root directory of the layer; then, where the plan has a
  // terminal, its master and slave; then, where the plan asks for it, the sandbox's /proc
  Ready,
  // child half or init → supervisor: step, index, error. The sender exits after it. Where a node's
  // place is taken (Step::Mount), value = the type (S_IFMT) of what is there. Where init refuses a
  // request (Step::InitRequest), text = the field that is wrong.
  Failed,
  // supervisor → init; slot = a free one; carries memfd, stdin, stdout, stderr (in that order).
  // One at a time: the next Spawn follows the Started or ExecFailed of the last.
  Spawn,
  // init → supervisor: the task in slot was executed. value = its pid inside. Carries its pidfd.
  Started,
  // init → supervisor: the task in slot could not be executed. step, error, index = which path
  // candidate (TaskExec) or limit (TaskRlimit) failed, text = the interpreter that is missing, if
  // that is the reason. error 0: it was killed in that step, value = the signal. After that of the
  // main task init exits.
  ExecFailed,
  // init → supervisor: the task in slot ended. As waitid gives it: index = si_code (CLD_EXITED,
  // CLD_KILLED, CLD_DUMPED), value = si_status. After that of the main task init exits, unless
  // linger was asked for.
  Exited,
  // init → supervisor: no process but init is left (sent only if Spawn asked for linger)
  Drained,
  // init → supervisor, before Started, if the first Spawn asked for it (kTellRefusals). Carries the
  // listener of the filter.
  Listener,
  // init → supervisor: the main task was stopped by the signal in value. index = that of the last
  // Signal. Only for a foreground job, and not again before the next Signal.
  Stopped,
  // supervisor → init: value = signal number for the process group of the task in slot. index = a
  // number that Stopped repeats
  Signal,
  // supervisor → init: value = nanoseconds from now until init's own key turns. 0: never
  Deadline,
};

// The tasks of one sandbox: slot 0 is the main task, the others are executed beside it.
inline constexpr std::uint32_t kMainSlot = 0;
inline constexpr std::uint32_t kMostSlots = 64;

struct Message {
  Kind kind = Kind::Go;
  Step step = Step::None;
  std::uint32_t index = 0;
  std::int32_t error = 0;  // errno, positive
  std::int64_t value = 0;
  std::uint32_t slot = kMainSlot;  // which task of this sandbox
  char text[228] = {};             // NUL-terminated where used
};
static_assert(sizeof(Message) == 256);

// How init exits. The kernel kills what is left in the sandbox, whichever it is.
enum InitExit : int {
  kInitDone = 0,        // the main task ended, or could not be executed, and that was reported
  kInitOrphan = 101,    // the supervisor died or hung up
  kInitDeadline = 102,  // init's own key turned
  kInitBroken = 103,    // a call that init needs failed, or a report could not be sent
  kInitRefused = 104,   // the supervisor broke the protocol
};

// The set-up deadline that init arms at entry, until the first Spawn replaces it. CLOCK_BOOTTIME.
inline constexpr std::int64_t kSetupDeadlineNs = 30'000'000'000;

// The spawn request: one sealed memfd (F_SEAL_WRITE|SHRINK|GROW), mapped read-only by init.
//
//   SpawnHeader, then at the offsets it names (8-byte aligned, in bytes from the start):
//   argv_offset     argc × u32: offset of each NUL-terminated string
//   env_offset      envc × u32, likewise ("NAME=VALUE")
//   path_offset     pathc × u32, likewise: the program's path candidates, tried in order
//   filter_offset   filter_count × sock_filter (8 bytes): the policy's seccomp program
//   stacked_offset  stacked_count × SpawnFilter: what each task loads on top of that, in order
//   rlimit_offset   rlimit_count × SpawnRlimit
//
// init trusts nothing in it: each offset and each string's end is checked against `size`, which
// must equal the memfd's size.
struct SpawnHeader {
  static constexpr std::uint64_t kMagic = 0x31'79'6c'66'79'61'6d'00;  // "\0mayfly1"
  std::uint64_t magic = kMagic;
  std::uint64_t size = 0;
  std::uint32_t flags = 0;  // SpawnFlag
  std::uint32_t argc = 0, argv_offset = 0;
  std::uint32_t envc = 0, env_offset = 0;
  std::uint32_t pathc = 0, path_offset = 0;
  std::uint32_t filter_count = 0, filter_offset = 0;
  std::uint32_t stacked_count = 0, stacked_offset = 0;
  std::uint32_t rlimit_count = 0, rlimit_offset = 0;
  std::uint32_t chdir_offset = 0;  // NUL-terminated absolute path inside
  std::uint32_t umask = 022;
  std::uint32_t uid = 0, gid = 0;       // the task's ids inside; used with kSetIds
  std::uint64_t keep_capabilities = 0;  // a capability mask that the task keeps (unsafe)
  std::int64_t deadline_ns = 0;         // init's key: from receipt of the request. 0: none
  std::uint64_t ignored_signals = 0;  // bit n-1: init inherited signal n ignored; the task must not
};

// A seccomp program in the request.
struct SpawnFilter {
  std::uint32_t count = 0, offset = 0;
};
inline constexpr std::uint32_t kMostStacked = 4;

// RLIMIT_CORE is refused: it is 1, soft and hard, for everything inside.
struct SpawnRlimit {
  std::uint32_t resource = 0, unused = 0;
  std::uint64_t soft = 0, hard = 0;
};

enum SpawnFlag : std::uint32_t {
  kSetIds = 1,      // setgroups([]), setresgid, setresuid before exec (a range is mapped)
  kInitFilter = 2,  // the filter allows init's own calls: init loads it once and all tasks inherit
  kLinger = 4,      // after the main process ended wait for all others, then send Drained
  kControllingTty = 8,  // stdin is a terminal of the sandbox's own devpts: make it the controlling
  kTellRefusals = 16,   // with kInitFilter: the filter asks a listener, which is sent to us
  kForegroundJob = 32,  // stdin is the terminal of init's session: the task is its foreground job
};

// The most that one request may hold: argv and environment are bounded by the kernel to 6 MiB.
inline constexpr std::uint64_t kMostSpawnBytes = 16u << 20;

}  // namespace mayfly::launch
