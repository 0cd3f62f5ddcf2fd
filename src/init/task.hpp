// The task's child: from init's clone to the task's execve.
//
// Shares init's memory (CLONE_VM) until it executes, on a stack of its own, while init goes on
// serving: so it changes nothing but its own Job::progress. It has its own descriptor table, signal
// actions, ids and limits.
#pragma once

#include "init/request.hpp"
#include "launch/protocol.hpp"

namespace mayfly::init {

// How far the child came. Written by the child only, read by init once the child has executed or
// died.
struct Progress {
  launch::Step step = launch::Step::None;  // the step that it is in
  int error = 0;                           // errno of a failure; 0: none so far
  std::uint32_t index = 0;                 // TaskExec: path candidate. TaskRlimit: which limit
  char interpreter[sizeof(launch::Message::text)] = {};
};

struct Job {
  Request request;
  char** argv = nullptr;
  char** envp = nullptr;
  int stdio[3] = {-1, -1, -1};
  bool load_filter = false;  // the request's filter is the child's to load: init has none
  Progress progress;
};

// Loads the request's filter for the calling process: for a child, or once for init itself.
long load_filter_of(const Request& request) noexcept;
long load_asking_filter_of(const Request& request) noexcept;

// What the child runs: mayfly_clone's `run`. Ends in execve or exit, never returns.
void run_task(void* job) noexcept;

}  // namespace mayfly::init
