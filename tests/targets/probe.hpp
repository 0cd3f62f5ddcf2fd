// probe: looks around from inside a sandbox and tries what it should not be able to do.
//
// Prints "key value" lines. Each sub-command gets the words after its name and returns the exit
// code. Static and small: it runs in an empty root, too.
#pragma once

#include <string>
#include <vector>

namespace probe {

using Words = std::vector<std::string>;

// look.cpp
int ids(const Words&);         // uid euid suid gid egid sgid, groups
int fds(const Words&);         // every open descriptor: "3 /path flags"
int namespaces(const Words&);  // "pid 4026531836"
int limits(const Words&);      // "nofile SOFT HARD"
int signals(const Words&);     // "ignored 13,17", "blocked none"
int processes(const Words&);   // "PID STATE NAME" of all in /proc

// attempt.cpp
int call(const Words&);          // NAME ARG…: one system call
int call_ia32(const Words&);     // NUMBER ARG…: through int 0x80
int call_x32(const Words&);      // NUMBER ARG…: with the x32 bit
int open_as(const Words&);       // PATH r|w|rw: open(2)
int writable(const Words&);      // DIRECTORY…: every file below that opens for writing
int connect_unix(const Words&);  // PATH or @ABSTRACT
int connect_tcp(const Words&);   // ADDRESS PORT
int send_udp(const Words&);      // ADDRESS PORT
int loopback(const Words&);      // listen, connect and talk on 127.0.0.1 and ::1
int terminal(const Words&);      // TIOCSTI and TIOCLINUX on a pty of our own, also with upper bits

// crowd.cpp
int hold(const Words&);     // [MARKER]: prints "ready" and sleeps
int crowd(const Words&);    // MARKER: descendants that do all they can to stay
int orphans(const Words&);  // N: children of children that end; prints how many zombies stay
int spin(const Words&);     // [MARKER]: a busy loop
int flood(const Words&);    // BYTES: that many on stdout and on stderr, in turns

// "EPERM": the name of an errno.
std::string errno_word(int number);
// Prints "WHAT ok VALUE", or "WHAT EPERM" where `result` is -EPERM. Returns 0.
int report(const std::string& what, long result);
// -errno where a libc call returned -1, else what it returned.
long outcome(long returned);

}  // namespace probe
