// Temporary directories and files of a test, gone with the scope.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace harness {

class TempDir {
 public:
  TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir();

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string operator/(std::string_view name) const;
  // Writes a file below it and returns its path; missing directories are made.
  std::string file(std::string_view name, std::string_view content, mode_t mode = 0644) const;
  std::string dir(std::string_view name) const;

 private:
  std::string path_;
};

// The whole file; the test fails if it cannot be read.
[[nodiscard]] std::string read_file(const std::string& path);
// Writes to a file that is there. False: it cannot be.
[[nodiscard]] bool write_file(const std::string& path, const std::string& content);
[[nodiscard]] bool exists(const std::string& path);  // a dangling link exists, too

}  // namespace harness
