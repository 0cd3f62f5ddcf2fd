#include "init/start.hpp"

#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <iterator>

#include "init/kernel.hpp"

namespace mayfly::init {
namespace {

using launch::Message;
using launch::SpawnHeader;
using launch::Step;

constexpr int kNeededSeals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW;
constexpr std::size_t kStackSize = 8 << 10;   // the child uses less than 2 KiB
constexpr std::size_t kGuardSize = 64 << 10;  // one page at least, on both architectures

// The address, or -errno.
long map_memory(std::size_t size, int flags, char* address = nullptr) noexcept {
  return call(__NR_mmap, arg(address), static_cast<long>(size), PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
}

bool is_error(long result) noexcept {
  return result < 0 && result > -4096;
}

template <class T>
void unmap(T*& address, std::size_t size) noexcept {
  if (address != nullptr) call(__NR_munmap, arg(address), static_cast<long>(size));
  address = nullptr;
}

void close_and_forget(int& descriptor) noexcept {
  if (descriptor >= 0) close(descriptor);
  descriptor = -1;
}

// Sealed, so that what is checked is what is used. A small one is copied: to map it costs more than
// its bytes.
Request read_request(int memfd, std::span<char> small) noexcept {
  const long seals = call(__NR_fcntl, memfd, F_GET_SEALS);
  if (seals < 0 || (seals & kNeededSeals) != kNeededSeals) refuse("seals");
  const long size = call(__NR_lseek, memfd, 0, SEEK_END);
  if (size < static_cast<long>(sizeof(SpawnHeader)) ||
      static_cast<std::uint64_t>(size) > launch::kMostSpawnBytes)
    refuse("size");
  if (static_cast<std::size_t>(size) <= small.size()) {
    if (call(__NR_pread64, memfd, arg(small.data()), size, 0) != size) refuse("size");
    return Request{.bytes = small.data(), .size = static_cast<std::uint64_t>(size)};
  }
  const long bytes = call(__NR_mmap, 0, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, memfd, 0);
  if (is_error(bytes)) fail(Step::InitRequest, bytes);
  return Request{.bytes = reinterpret_cast<const char*>(bytes),
                 .size = static_cast<std::uint64_t>(size)};
}

char** point_at(const Request& request, std::uint32_t offset, std::uint32_t count,
                char** out) noexcept {
  const auto* strings = request.table<std::uint32_t>(offset);
  for (std::uint32_t i = 0; i < count; ++i)
    *out++ = const_cast<char*>(request.string(strings[i]));
  *out++ = nullptr;
  return out;
}

}  // namespace

const SpawnHeader& Start::accept(const Received& received) noexcept {
  if (received.descriptor_count != kMostDescriptors) refuse("descriptors");
  unmap_request();
  slot_ = received.message.slot;
  job_.progress = Progress{};
  job_.request = read_request(received.descriptors[0], small_);
  close(received.descriptors[0]);
  if (const char* field = wrong_field(job_.request)) refuse(field);
  for (int i = 0; i < 3; ++i)
    job_.stdio[i] = received.descriptors[1 + i];
  return job_.request.header();
}

bool Start::begin(Filter filter) noexcept {
  job_.load_filter = filter == Filter::ByTask && job_.request.header().filter_count > 0;
  long result = make_pointers();
  if (result >= 0) result = make_stack();
  if (result >= 0) result = clone_child();
  // The child has its own copies, and init must not keep a task's pipes open. The numbers stay as
  // they are: the child reads them.
  for (const int descriptor : job_.stdio)
    close(descriptor);
  if (result >= 0) {
    pid_ = static_cast<int>(result);
    return true;
  }
  report_failure(Step::InitFork, result, 0);
  release();
  return false;
}

long Start::make_pointers() noexcept {
  const SpawnHeader& header = job_.request.header();
  const std::uint64_t count = std::uint64_t{header.argc} + 1 + header.envc + 1;
  pointers_ = few_;
  if (count > std::size(few_)) {
    pointers_size_ = count * sizeof(char*);
    const long memory = map_memory(pointers_size_, MAP_POPULATE);
    if (is_error(memory)) return memory;
    pointers_ = reinterpret_cast<char**>(memory);
  }
  job_.argv = pointers_;
  job_.envp = point_at(job_.request, header.argv_offset, header.argc, job_.argv);
  point_at(job_.request, header.env_offset, header.envc, job_.envp);
  return 0;
}

// Below the stack lies memory that nobody may touch: the child must not grow into init's.
long Start::make_stack() noexcept {
  if (stack_ != nullptr) return 0;
  const long guard =
      call(__NR_mmap, 0, kGuardSize + kStackSize, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (is_error(guard)) return guard;
  char* bottom = reinterpret_cast<char*>(guard) + kGuardSize;
  if (const long result = map_memory(kStackSize, MAP_FIXED | MAP_POPULATE, bottom);
      is_error(result))
    return result;
  stack_ = bottom + kStackSize;
  return 0;
}

long Start::clone_child() noexcept {
  int ends[2];
  if (const long error = call(__NR_pipe2, arg(ends), O_CLOEXEC); error < 0) return error;
  exec_pipe_ = ends[0];
  // Exit signal 0: see start.hpp. Not CLONE_VFORK: init must serve while the child waits for a
  // disk.
  const long pid = mayfly_clone(CLONE_VM | CLONE_PIDFD, stack_, &pidfd_, run_task, &job_);
  close(ends[1]);
  return pid;
}

bool Start::conclude() noexcept {
  siginfo_t info;
  long result = 0;
  do
    result = call(__NR_waitid, P_PID, pid_, arg(&info), WEXITED | __WCLONE);
  while (result == -EINTR);
  const bool executed = result == -ECHILD;
  if (executed) {
    Message message;
    message.kind = launch::Kind::Started;
    message.slot = slot_;
    message.value = pid_;
    send(message, pidfd_);
  } else if (result < 0) {
    fail(Step::InitFork, result);
  } else {
    // It exits by itself only after a failure. Killed by the filter, it met one before: what it did
    // then was to look closer.
    const Progress& progress = job_.progress;
    const bool by_signal = info.si_code != CLD_EXITED && info.si_status != SIGSYS;
    const int error = by_signal ? 0 : progress.error;
    report_failure(progress.step, -error, error == 0 ? info.si_status : 0);
  }
  release();
  return executed;
}

void Start::report_failure(Step step, long error, std::int64_t signal) noexcept {
  Message message;
  message.kind = launch::Kind::ExecFailed;
  message.slot = slot_;
  message.step = step;
  message.index = job_.progress.index;
  message.error = static_cast<std::int32_t>(-error);
  message.value = signal;
  for (std::size_t i = 0; i < sizeof message.text; ++i)
    message.text[i] = job_.progress.interpreter[i];
  send(message);
}

void Start::release() noexcept {
  pid_ = 0;
  close_and_forget(pidfd_);
  close_and_forget(exec_pipe_);
  unmap_request();
}

void Start::unmap_request() noexcept {
  if (pointers_ != few_) unmap(pointers_, pointers_size_);
  if (job_.request.bytes != small_) unmap(job_.request.bytes, job_.request.size);
  pointers_ = nullptr;
  job_.request = Request{};
}

}  // namespace mayfly::init
