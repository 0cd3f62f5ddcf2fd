// The start of a task, from the spawn request to the proof that it was executed or was not. One at
// a time; init goes on serving meanwhile.
//
// The proof has two parts. The child holds the write end of a pipe, close-on-exec: its end of file
// says that the child executed or died. Which of the two, the kernel knows exactly: the child is
// cloned with exit signal 0, and an execve that passes its point of no return sets it to SIGCHLD,
// before it closes the pipe. waitid() with __WCLONE waits only for children whose exit signal is
// not SIGCHLD: so it reaps a child that never executed, or answers ECHILD for one that did, even if
// that one is dead by now.
#pragma once

#include <span>

#include "init/channel.hpp"
#include "init/task.hpp"

namespace mayfly::init {

class Start {
 public:
  [[nodiscard]] bool is_running() const noexcept { return pid_ > 0; }
  [[nodiscard]] std::uint32_t slot() const noexcept { return slot_; }
  [[nodiscard]] int pid() const noexcept { return pid_; }
  [[nodiscard]] int exec_pipe() const noexcept { return exec_pipe_; }  // -1 while none runs

  // Maps and checks the request in `received` and takes its descriptors. Ends init if it is not
  // what the protocol says.
  const launch::SpawnHeader& accept(const Received& received) noexcept;

  // Loads the accepted request's filter for init itself, and so for every task after this.
  [[nodiscard]] long load_filter() noexcept { return load_filter_of(job_.request); }
  // The same for a filter that asks. Returns its listener, which is the caller's to close.
  [[nodiscard]] long load_asking_filter() noexcept { return load_asking_filter_of(job_.request); }

  enum class Filter { ByTask, Inherited };

  // Clones the child for the accepted request. On failure reports ExecFailed and answers false.
  [[nodiscard]] bool begin(Filter filter) noexcept;

  // Once the pipe has ended: reports Started or ExecFailed, and answers whether the task runs.
  [[nodiscard]] bool conclude() noexcept;

 private:
  [[nodiscard]] long make_pointers() noexcept;
  [[nodiscard]] long make_stack() noexcept;
  [[nodiscard]] long clone_child() noexcept;
  void report_failure(launch::Step step, long error, std::int64_t signal) noexcept;
  void release() noexcept;
  void unmap_request() noexcept;

  std::uint32_t slot_ = 0;
  int pid_ = 0;
  int pidfd_ = -1;
  int exec_pipe_ = -1;
  char* stack_ = nullptr;  // its top; kept from task to task
  char** pointers_ = nullptr;
  std::size_t pointers_size_ = 0;  // bytes, if mapped
  // For most requests: on init's own stack, of which a page is there already.
  alignas(8) char small_[4096];
  char* few_[256];
  Job job_;
};

}  // namespace mayfly::init
