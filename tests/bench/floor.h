// What the floor and its init agree on.
#ifndef MAYFLY_BENCH_FLOOR_H
#define MAYFLY_BENCH_FLOOR_H

enum { kSocket = 3, kSupervisor = 4 };  // descriptors that init inherits

struct FloorReport {
  int status;  // of the task, as wait4 gives it
#ifdef FLOOR_TRACE
  long at[5];  // CLOCK_MONOTONIC, see trace.h
#endif
};

#endif
