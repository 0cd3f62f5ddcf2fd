// What the floor's two halves share: the state made before the clone, and calls that must succeed.
#ifndef MAYFLY_BENCH_FLOOR_PARTS_H
#define MAYFLY_BENCH_FLOOR_PARTS_H

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "floor.h"
#include "raw.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

extern struct Floor {
  char cwd[PATH_MAX], path[PATH_MAX + 8], project[PATH_MAX + 64];  // "/x", "s/x", overlay options
  char** task_argv;
  int pair[2], supervisor, init_image, usr_tree, cwd_tree;
  unsigned uid, gid;
  sigset_t caller_mask;
} the;

void child(void* unused);  // runs on its own stack in our memory; ends in init or exit code 125

static inline _Noreturn void fail(const char* call, const char* what, long error) {
  char line[PATH_MAX + 256];
  const char* words = strerror((int)-error);
  const int n = snprintf(line, sizeof line, "floor: %s(%s): %s\n", call, what, words);
  RAW(write, 2, line, n);
  for (;;)
    RAW(exit_group, 125);
}
static inline long need(const char* call, const char* what, long result) {
  if (result < 0) fail(call, what, result);
  return result;
}
#define NEED(what, call, ...) need(#call, what, RAW(call, ##__VA_ARGS__))

static inline void put(const char* file, int flags, unsigned mode, const char* text) {
  const long fd = NEED(file, openat, AT_FDCWD, file, O_WRONLY | O_CLOEXEC | flags, mode);
  const size_t size = strlen(text);
  if (size && NEED(file, write, fd, text, size) != (long)size) fail("write", file, -EIO);
  NEED(file, close, fd);
}

#endif
