#include "harness/temp.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace fs = std::filesystem;

namespace harness {

TempDir::TempDir() {
  std::string pattern = (fs::temp_directory_path() / "mayfly-case.XXXXXX").string();
  REQUIRE(::mkdtemp(pattern.data()) != nullptr);
  path_ = fs::canonical(pattern).string();
  // A root caller's task is nobody in particular on the host: it must be able to look in.
  REQUIRE(::chmod(path_.c_str(), 0755) == 0);
}

TempDir::~TempDir() {
  std::error_code ignored;  // what a test made unreadable is not worth a second failure
  fs::remove_all(path_, ignored);
}

std::string TempDir::operator/(std::string_view name) const {
  return (fs::path(path_) / name).string();
}

std::string TempDir::file(std::string_view name, std::string_view content, mode_t mode) const {
  const std::string path = *this / name;
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << content;
  REQUIRE(::chmod(path.c_str(), mode) == 0);
  return path;
}

std::string TempDir::dir(std::string_view name) const {
  const std::string path = *this / name;
  fs::create_directories(path);
  return path;
}

std::string read_file(const std::string& path) {
  const std::ifstream in(path, std::ios::binary);
  REQUIRE_MESSAGE(in.good(), "cannot read " << path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

bool write_file(const std::string& path, const std::string& content) {
  std::ofstream out(path, std::ios::binary | std::ios::in);
  out << content << std::flush;
  return out.good();
}

bool exists(const std::string& path) {
  struct stat ignored;
  return ::lstat(path.c_str(), &ignored) == 0;
}

}  // namespace harness
