// What a start asks the kernel before it clones: each thing once.
#include <doctest/doctest.h>

#include <algorithm>

#include "harness/sandbox.hpp"
#include "harness/suite.hpp"

using namespace harness;

namespace {

// The calls of `mayfly run` up to its clone, with stdout on a regular file.
std::vector<std::string> calls_before_clone() {
  const TempDir place;
  const std::string trace = place / "trace";
  const Run traced({"--project", "none"}, {"/bin/true"},
                   {"sh", "-c", "exec strace -o \"$0\" \"$@\" > \"$0.out\"", trace});
  const Ended ended = traced.end();
  CAPTURE(ended.err);
  REQUIRE(ended.code == 0);
  std::vector<std::string> calls = lines(read_file(trace));
  const auto clone = std::find_if(calls.begin(), calls.end(), [](const std::string& call) {
    return call.starts_with("clone3(");
  });
  REQUIRE(clone != calls.end());
  calls.erase(clone, calls.end());
  return calls;
}

std::size_t count(const std::vector<std::string>& calls, const std::string& beginning) {
  return static_cast<std::size_t>(
      std::count_if(calls.begin(), calls.end(),
                    [&](const std::string& call) { return call.starts_with(beginning); }));
}

}  // namespace

TEST_CASE("a start asks for nothing twice") {
  const std::vector<std::string> calls = calls_before_clone();
  CAPTURE(joined(calls));
  CHECK(count(calls, "getcwd(") == 1);
  CHECK(count(calls, "fstatfs(1,") == 1);  // a regular file: is it one of the kernel's handles?
  CHECK(count(calls, "getppid(") == 2);    // before and after the caller's pidfd
  // Only a file of /proc that comes in pieces is read to an empty read: the table of mounts.
  std::size_t empty_reads = 0;
  for (std::size_t i = 1; i < calls.size(); ++i) {
    const bool again = calls[i].starts_with("read(") && calls[i - 1].starts_with("read(");
    empty_reads += again && calls[i].ends_with(" = 0");
  }
  CHECK(empty_reads == 1);
  // What is shown by an overlay is not searched for sockets, which are dead in it.
  for (const std::string& call : calls) {
    CHECK_FALSE((contains(call, "\"" + targets_path() + "\"") && contains(call, "O_DIRECTORY")));
  }
  // /usr and /etc are never empty: nobody lists them to find out.
  for (const char* never : {"openat(AT_FDCWD, \"/usr\"", "openat(AT_FDCWD, \"/etc\""}) {
    CAPTURE(never);
    if (!is_root()) continue;  // who may see private files of /etc has it looked through
    CHECK(count(calls, never) == 0);
  }
}
