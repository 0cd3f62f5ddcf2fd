// The test program: as its caller, or with --ordinary-user as one, wherever the caller is root.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
#include <grp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>

#include "harness.hpp"

namespace mayfly::init::test {
namespace {

std::string scratch_directory;
std::string target_path;
std::string nothing_path;

// As this process's user, and readable for others: the build tree need not be.
bool make_scratch() {
  char name[] = "/tmp/mayfly-init-tests-XXXXXX";
  if (mkdtemp(name) == nullptr) return false;
  scratch_directory = name;
  return chmod(name, 0755) == 0;
}

std::string read_program(const char* path) {
  std::string bytes;
  FILE* file = std::fopen(path, "rb");
  if (file == nullptr) return bytes;
  char buffer[65536];
  for (std::size_t count; (count = std::fread(buffer, 1, sizeof buffer, file)) > 0;)
    bytes.append(buffer, count);
  std::fclose(file);
  return bytes;
}

bool write_program(const std::string& path, const std::string& bytes) {
  FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return false;
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  return std::fclose(file) == 0 && written && chmod(path.c_str(), 0755) == 0;
}

bool become_ordinary() {
  if (getuid() != 0) return true;
  return setgroups(0, nullptr) == 0 && setresgid(1000, 1000, 1000) == 0 &&
         setresuid(1000, 1000, 1000) == 0 &&
         prctl(PR_SET_DUMPABLE, 1) == 0;  // else /proc/PID/uid_map belongs to root
}

}  // namespace

const std::string& target() {
  return target_path;
}
const std::string& nothing() {
  return nothing_path;
}
const std::string& scratch() {
  return scratch_directory;
}

int run_tests(int argc, char** argv) {
  const std::string target_bytes = read_program(INIT_TARGET);
  const std::string nothing_bytes = read_program(INIT_NOTHING);
  for (int i = 1; i < argc; ++i)
    if (std::strcmp(argv[i], "--ordinary-user") == 0 && !become_ordinary()) return 2;
  if (!make_scratch()) return 3;
  target_path = scratch_directory + "/target";
  nothing_path = scratch_directory + "/nothing";
  if (!write_program(target_path, target_bytes) || !write_program(nothing_path, nothing_bytes))
    return 4;
  // Tests that kill a supervisor adopt what it leaves.
  if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) return 5;
  const int result = doctest::Context(argc, argv).run();
  std::error_code ignored;
  std::filesystem::remove_all(scratch_directory, ignored);
  return result;
}

}  // namespace mayfly::init::test

int main(int argc, char** argv) {
  return mayfly::init::test::run_tests(argc, argv);
}
