// Where the floor's time goes: with FLOOR_TRACE each TRACE(name) notes the clock, and the parent
// prints the differences at the end. Without it nothing is left.
#ifndef MAYFLY_BENCH_TRACE_H
#define MAYFLY_BENCH_TRACE_H
#ifdef FLOOR_TRACE
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "floor.h"
#include "raw.h"

struct TracePoint {
  const char* name;
  long ns;
};
extern struct TracePoint trace_child[32], trace_parent[32];
extern int trace_children, trace_parents;
static inline long trace_now(void) {
  struct timespec t;
  RAW(clock_gettime, CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000 + t.tv_nsec;
}
#define TRACE(what) (trace_child[trace_children++] = (struct TracePoint){what, trace_now()})
#define TRACE_PARENT(what) (trace_parent[trace_parents++] = (struct TracePoint){what, trace_now()})

static inline void trace_line(const char* who, const char* name, long from, long to) {
  fprintf(stderr, "%s\t%s\t%.1f\n", who, name, (double)(to - from) / 1000.0);
}
// FLOOR_T0: CLOCK_MONOTONIC in ns when the caller started us.
static inline void trace_print(const struct FloorReport* report) {
  const char* start = getenv("FLOOR_T0");
  long last = start != NULL ? atol(start) : trace_parent[0].ns;
  long clone_call = last;
  for (int i = 0; i < trace_parents; ++i) {
    if (trace_parent[i].name[0] == '>') clone_call = last;
    trace_line("parent", trace_parent[i].name, last, trace_parent[i].ns);
    last = trace_parent[i].ns;
  }
  last = clone_call;
  for (int i = 0; i < trace_children; ++i) {
    trace_line("child", trace_child[i].name, last, trace_child[i].ns);
    last = trace_child[i].ns;
  }
  static const char* const init[] = {"exec of init", "death signal, dumpable", "filter",
                                     "task: vfork, exec", "task: run to reaped"};
  for (int i = 0; i < 5; ++i) {
    trace_line("init", init[i], last, report->at[i]);
    last = report->at[i];
  }
  trace_line("end", "report received", last, trace_parent[trace_parents - 3].ns);
}
#define TRACE_STORAGE                                  \
  struct TracePoint trace_child[32], trace_parent[32]; \
  int trace_children, trace_parents;
#else
#define TRACE_STORAGE
#define TRACE(what) ((void)0)
#define TRACE_PARENT(what) ((void)0)
#define trace_print(report) ((void)0)
#endif
#endif
