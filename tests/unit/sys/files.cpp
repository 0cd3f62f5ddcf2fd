#include "sys/files.hpp"

#include <dirent.h>
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

using namespace mayfly;

namespace {

struct TempDir {
  TempDir() {
    char name[] = "/tmp/mayfly-files-XXXXXX";
    REQUIRE(::mkdtemp(name) != nullptr);
    path = name;
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir() { std::filesystem::remove_all(path); }
  [[nodiscard]] Fd open() const {
    auto fd = sys::openat(AT_FDCWD, path.c_str(), O_RDONLY | O_DIRECTORY);
    REQUIRE(fd);
    return std::move(*fd);
  }
  std::string path;
};

}  // namespace

TEST_CASE("read_whole_file: any size up to the limit, one buffer for several files") {
  TempDir dir;
  std::string big(70'000, 'x');
  big[69'999] = '\0';
  std::ofstream(dir.path + "/big") << big;
  std::ofstream(dir.path + "/small") << "abc";
  std::ofstream(dir.path + "/empty");
  const Fd at = dir.open();
  std::string buffer;
  CHECK(*sys::read_whole_file(at.get(), "big", buffer, 70'000) == big);
  CHECK(*sys::read_whole_file(at.get(), "small", buffer, 3) == "abc");
  CHECK(*sys::read_whole_file(at.get(), "empty", buffer, 0) == "");

  const auto over = sys::read_whole_file(at.get(), "big", buffer, 69'999);
  REQUIRE_FALSE(over);
  CHECK(over.error().sys_errno == EFBIG);
  CHECK(describe(over.error()) ==
        "cannot read big, more than 69999 bytes: read(\"big\"): File too large (EFBIG)");
  const auto missing = sys::read_whole_file(AT_FDCWD, "/no/such", buffer, 1);
  REQUIRE_FALSE(missing);
  CHECK(describe(missing.error()) ==
        "cannot open /no/such: openat(\"/no/such\"): No such file or directory (ENOENT)");
  const auto directory = sys::read_whole_file(AT_FDCWD, dir.path.c_str(), buffer, 1);
  REQUIRE_FALSE(directory);
  CHECK(directory.error().sys_errno == EISDIR);
}

TEST_CASE("openat closes on exec") {
  const auto fd = sys::openat(AT_FDCWD, "/", O_PATH);
  REQUIRE(fd);
  CHECK((::fcntl(fd->get(), F_GETFD) & FD_CLOEXEC) != 0);
}

TEST_CASE("DirectoryReader gives each entry once, over many batches") {
  TempDir dir;
  for (int i = 0; i < 300; ++i)
    std::ofstream(dir.path + "/a-rather-long-file-name-" + std::to_string(i));
  std::filesystem::create_directory(dir.path + "/dir");
  REQUIRE(::symlink("x", (dir.path + "/link").c_str()) == 0);
  const Fd at = dir.open();
  sys::DirectoryReader reader(at, dir.path);
  std::map<std::string, int> seen;
  std::map<std::string, unsigned char> types;
  for (;;) {
    const auto entry = reader.next();
    REQUIRE(entry);
    if (entry->name == nullptr) break;
    ++seen[entry->name];
    types[entry->name] = entry->type;
  }
  CHECK(seen.size() == 302);
  CHECK(std::all_of(seen.begin(), seen.end(), [](const auto& one) { return one.second == 1; }));
  CHECK(types["dir"] == DT_DIR);
  CHECK(types["link"] == DT_LNK);

  std::ofstream(dir.path + "/file");
  const auto file = sys::openat(at.get(), "file", O_RDONLY);
  REQUIRE(file);
  const auto no_directory = sys::DirectoryReader(*file, "some\nname").next();
  REQUIRE_FALSE(no_directory);
  CHECK(no_directory.error().sys_errno == ENOTDIR);
  CHECK(no_directory.error().action == "list some\\x0aname");
}

TEST_CASE("lookup: links are not followed, absence is an answer") {
  TempDir dir;
  std::ofstream(dir.path + "/file");
  REQUIRE(::chmod((dir.path + "/file").c_str(), 04751) == 0);
  REQUIRE(::symlink("file", (dir.path + "/link").c_str()) == 0);
  const Fd at = dir.open();
  const auto file = sys::lookup(at.get(), "file");
  REQUIRE(file);
  REQUIRE(*file);
  CHECK((*file)->type == sys::FileType::Regular);
  CHECK((*file)->mode == 04751);
  CHECK((*file)->uid == ::geteuid());
  CHECK((*sys::lookup(at.get(), "link"))->type == sys::FileType::Symlink);
  CHECK((*sys::lookup(AT_FDCWD, dir.path.c_str()))->type == sys::FileType::Directory);
  CHECK((*sys::lookup(AT_FDCWD, "/dev/null"))->type == sys::FileType::Other);
  CHECK_FALSE(sys::lookup(at.get(), "nothing")->has_value());
  CHECK_FALSE(sys::lookup(at.get(), "file/below")->has_value());
  const auto too_long = sys::lookup(at.get(), std::string(300, 'x').c_str());
  REQUIRE_FALSE(too_long);
  CHECK(too_long.error().sys_errno == ENAMETOOLONG);
}

TEST_CASE("readlinkat and getcwd") {
  TempDir dir;
  REQUIRE(::symlink("to/here", (dir.path + "/link").c_str()) == 0);
  const Fd at = dir.open();
  CHECK(*sys::readlinkat(at.get(), "link") == "to/here");
  CHECK(sys::readlinkat(at.get(), "none").error().sys_errno == ENOENT);
  CHECK(sys::readlinkat(AT_FDCWD, dir.path.c_str()).error().sys_errno == EINVAL);
  CHECK(*sys::getcwd() == std::filesystem::current_path());
}
