#include "isolate/disk_layer.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../supervise/support.hpp"
#include "supervise/layer_meter.hpp"
#include "sys/entries.hpp"
#include "sys/event.hpp"

using namespace mayfly;
using namespace mayfly::isolate;
using mayfly::test::in_child;
using mayfly::test::read_text;
using mayfly::test::skip;
using mayfly::test::TempDir;
using mayfly::test::write_text;

namespace {

disk_layer::Made make_in(const TempDir& dir, const std::string& id = "abc") {
  Result<disk_layer::Made> made =
      disk_layer::make(dir / "layers", id, {.uid = ::geteuid(), .gid = ::getegid()});
  REQUIRE_MESSAGE(made, describe(made.error()));
  return std::move(*made);
}

bool is_there(const std::string& path) {
  struct stat info = {};
  return ::lstat(path.c_str(), &info) == 0;
}

// d/d/d/…, made by descriptor: no path of this length exists.
void make_deep(const Fd& top, int levels) {
  Fd at(::fcntl(top.get(), F_DUPFD_CLOEXEC, 0));
  for (int i = 0; i < levels; ++i) {
    REQUIRE(::mkdirat(at.get(), "d", 0700) == 0);
    at = Fd(::openat(at.get(), "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    REQUIRE(static_cast<bool>(at));
  }
}

// However many slices a whole walk takes.
bool is_over(supervise::LayerMeter& meter) {
  for (;;) {
    const std::int64_t now = sys::boottime_ns();
    if (meter.look(now)) return true;
    if (meter.next_ns() - now > 100'000'000) return false;  // it rests
  }
}

}  // namespace

TEST_CASE("disk layer: made locked and for its owner alone; no second one of its name") {
  const TempDir dir;
  const disk_layer::Made made = make_in(dir);
  struct stat info = {};
  REQUIRE(::stat(made.path.c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0700);
  const Result<Fd> again = sys::open_directory_at(AT_FDCWD, made.path.c_str());
  REQUIRE(again);
  const Result<bool> locked = sys::try_lock(*again, made.path);
  REQUIRE(locked);
  CHECK_FALSE(*locked);
  const auto second = disk_layer::make(dir / "layers", "abc", {});
  REQUIRE_FALSE(second);
  CHECK(second.error().hint == "`mayfly gc` removes what nobody uses");
}

TEST_CASE("disk layer: a directory in which others may write is refused") {
  const TempDir dir;
  REQUIRE(::mkdir((dir / "layers").c_str(), 0700) == 0);
  REQUIRE(::chmod((dir / "layers").c_str(), 0777) == 0);
  const auto made = disk_layer::make(dir / "layers", "abc", {});
  REQUIRE_FALSE(made);
  CHECK(describe(made.error()).find("others may write there") != std::string::npos);
  ::rmdir((dir / "layers").c_str());
  REQUIRE(::symlink("/tmp", (dir / "layers").c_str()) == 0);
  CHECK_FALSE(disk_layer::make(dir / "layers", "abc", {}));
}

TEST_CASE("disk layer: a directory of somebody else's, or that a group may write, is refused") {
  const TempDir dir;
  const std::string layers = dir / "layers";
  REQUIRE(::mkdir(layers.c_str(), 0700) == 0);
  REQUIRE(::chmod(layers.c_str(), 0770) == 0);
  CHECK_FALSE(disk_layer::make(layers, "abc", {}));
  REQUIRE(::chmod(layers.c_str(), 0700) == 0);
  if (::geteuid() != 0) return;
  REQUIRE(::chown(layers.c_str(), 1234, 0) == 0);
  const auto made = disk_layer::make(layers, "abc", {});
  REQUIRE_FALSE(made);
  CHECK(describe(made.error()).find("it belongs to somebody else") != std::string::npos);
}

TEST_CASE("disk layer: on an overlay it is refused, with the remedy") {
  if (::geteuid() != 0) return;
  const TempDir dir;
  for (const char* name : {"lower", "upper", "work", "merged"})
    REQUIRE(::mkdir((dir / name).c_str(), 0755) == 0);
  const std::string options =
      "lowerdir=" + dir / "lower" + ",upperdir=" + dir / "upper" + ",workdir=" + dir / "work";
  const std::string answer = in_child([&]() -> std::string {
    if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr))
      return "no mount namespace";
    if (::mount("overlay", (dir / "merged").c_str(), "overlay", 0, options.c_str()) != 0)
      return "no overlay";
    const auto made = disk_layer::make(dir / "merged/layers", "abc", {});
    return made ? "made" : describe(made.error()) + " | " + made.error().hint;
  });
  if (answer.starts_with("no ")) return skip(answer + " here");
  CHECK(answer.find("it lies on an overlay itself, as in a container | mount a file system") !=
        std::string::npos);
}

TEST_CASE("disk layer: all of it is removed: deep, closed, full of links that lead out") {
  const TempDir dir;
  const disk_layer::Made made = make_in(dir);
  write_text(dir / "precious", "keep");
  make_deep(made.directory, 3000);
  REQUIRE(::mkdir((made.path + "/closed").c_str(), 0700) == 0);
  write_text(made.path + "/closed/file", "x");
  REQUIRE(::mkdir((made.path + "/closed/in").c_str(), 0700) == 0);
  write_text(made.path + "/closed/in/file", "x");
  REQUIRE(::chmod((made.path + "/closed/in").c_str(), 0) == 0);
  REQUIRE(::chmod((made.path + "/closed").c_str(), 0) == 0);
  REQUIRE(::symlink((dir / "precious").c_str(), (made.path + "/link").c_str()) == 0);
  REQUIRE(::symlink(dir.path().c_str(), (made.path + "/up").c_str()) == 0);
  REQUIRE(::mkfifo((made.path + "/fifo").c_str(), 0600) == 0);
  const Result<void> removed = disk_layer::remove(made, 0);
  REQUIRE_MESSAGE(removed, describe(removed.error()));
  CHECK_FALSE(is_there(made.path));
  CHECK(read_text(dir / "precious") == "keep");
}

TEST_CASE("disk layer: removal gives up in time") {
  const TempDir dir;
  const disk_layer::Made made = make_in(dir);
  write_text(made.path + "/file", "x");
  const Result<void> removed = disk_layer::remove(made, 1);
  REQUIRE_FALSE(removed);
  CHECK(removed.error().sys_errno == ETIMEDOUT);
  REQUIRE(disk_layer::remove(made, 0));
}

TEST_CASE("layer meter: counts files, directories and what is closed; says when it is too much") {
  const TempDir dir;
  const disk_layer::Made made = make_in(dir);
  supervise::LayerMeter meter(made.directory, {.bytes = 1 << 20, .inodes = 6});
  CHECK(meter.measure().inodes == 0);
  REQUIRE(::mkdir((made.path + "/closed").c_str(), 0700) == 0);
  write_text(made.path + "/closed/file", std::string(100'000, 'x'));
  REQUIRE(::link((made.path + "/closed/file").c_str(), (made.path + "/same").c_str()) == 0);
  REQUIRE(::chmod((made.path + "/closed").c_str(), 0) == 0);
  const auto size = meter.measure();
  CHECK(size.inodes == 3);
  CHECK(size.bytes >= 100'000);
  CHECK(size.bytes < 150'000);
  struct stat info = {};
  REQUIRE(::stat((made.path + "/closed").c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0);
  CHECK_FALSE(is_over(meter));
  CHECK(meter.next_ns() > sys::boottime_ns());
  for (const char* name : {"/a", "/b", "/c"})
    write_text(made.path + name, "");
  CHECK_FALSE(is_over(meter));  // as many as may be
  write_text(made.path + "/d", "");
  CHECK(is_over(meter));
  CHECK(disk_layer::remove(made, 0));
}

TEST_CASE("layer meter: bytes, and depth without end") {
  const TempDir dir;
  const disk_layer::Made made = make_in(dir);
  supervise::LayerMeter small(made.directory, {.bytes = 50'000, .inodes = 1'000'000});
  write_text(made.path + "/file", std::string(100'000, 'x'));
  CHECK(is_over(small));
  const std::uint64_t used = small.measure().bytes;
  supervise::LayerMeter exact(made.directory, {.bytes = used, .inodes = 1'000'000});
  CHECK_FALSE(is_over(exact));
  supervise::LayerMeter less(made.directory, {.bytes = used - 1, .inodes = 1'000'000});
  CHECK(is_over(less));
  supervise::LayerMeter wide(made.directory, {.bytes = 1ull << 40, .inodes = 1'000'000});
  CHECK_FALSE(is_over(wide));
  make_deep(made.directory, 250);
  CHECK(is_over(wide));
  CHECK(disk_layer::remove(made, 0));
}
