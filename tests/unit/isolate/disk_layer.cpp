#include "isolate/disk_layer.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "../supervise/support.hpp"
#include "supervise/layer_meter.hpp"
#include "sys/entries.hpp"
#include "sys/event.hpp"

using namespace mayfly;
using namespace mayfly::isolate;
using mayfly::test::in_child;
using mayfly::test::read_text;
using mayfly::test::skip;
using mayfly::test::write_text;

namespace {

// As a cache directory: others cannot come there.
struct TempDir : mayfly::test::TempDir {
  TempDir() { ::chmod(path().c_str(), 0700); }
};

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

disk_layer::Owner own_ids() {
  return {.uid = ::geteuid(), .gid = ::getegid()};
}

// Without user xattrs a layer that holds something cannot be told from another directory; no
// sandbox starts there.
bool holds_marks(const TempDir& dir) {
  return ::setxattr(dir.path().c_str(), "user.test", "1", 1, 0) == 0;
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

struct stat status_of(const std::string& path) {
  struct stat info = {};
  ::stat(path.c_str(), &info);
  return info;
}

unsigned mode_of(const std::string& path) {
  return status_of(path).st_mode & 07777;
}

// Its ctime: a mode that was changed and put back shows there.
std::int64_t changed_ns(const std::string& path) {
  const timespec time = status_of(path).st_ctim;
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

void make_files(const std::string& directory, int count) {
  for (int i = 0; i < count; ++i)
    write_text(directory + "/" + std::to_string(i), "");
}

// However many slices a whole walk takes.
bool is_over(supervise::LayerMeter& meter) {
  for (;;) {
    const std::int64_t now = sys::boottime_ns();
    if (meter.look(now)) return true;
    if (meter.next_ns() - now > 100'000'000) return false;  // it rests
  }
}

// What the work says, in a process of that user, of a layer with a directory of so many files.
using InLayer = std::function<std::string(const disk_layer::Made&, const std::string& path)>;
std::string in_layer_of(unsigned user, int files, const InLayer& work) {
  return in_child([&]() -> std::string {
    mayfly::test::become(user);
    const TempDir dir;
    const disk_layer::Made made = make_in(dir);
    const std::string path = made.path + "/d";
    ::mkdir(path.c_str(), 0700);
    make_files(path, files);
    const std::string said = work(made, path);
    return disk_layer::remove(made, 0) ? said : "not removed";
  });
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
  CHECK(describe(second.error()).find("there is a layer of that name") != std::string::npos);
  CHECK(second.error().hint == "choose another --name");
}

TEST_CASE("disk layer: a directory in which others may write is refused") {
  const TempDir dir;
  REQUIRE(::mkdir((dir / "layers").c_str(), 0700) == 0);
  REQUIRE(::chmod((dir / "layers").c_str(), 0777) == 0);
  const auto made = disk_layer::make(dir / "layers", "abc", {});
  REQUIRE_FALSE(made);
  CHECK(describe(made.error()).find("others may write there") != std::string::npos);
  CHECK(made.error().hint.rfind("chmod go-w " + (dir / "layers"), 0) == 0);
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
  CHECK(describe(made.error()).find("it belongs to user 1234") != std::string::npos);
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
  CHECK(answer.find("it lies on an overlay itself, as in a container | XDG_CACHE_HOME can name") !=
        std::string::npos);
}

TEST_CASE("disk layer: what is above is judged, too: modes, owners and links") {
  const TempDir dir;
  const auto answer = [&](const std::string& cache) {
    const auto made = disk_layer::make(cache + "/mayfly/layers", "abc", own_ids());
    if (!made) return describe(made.error());
    REQUIRE(disk_layer::remove(*made, 0));
    return std::string("made");
  };
  const auto unfit = [](const std::string& path, const std::string& why) {
    return "cannot use the directory " + path + " for layers on disk: " + why;
  };
  CHECK(answer(dir / "new/cache") == "made");
  REQUIRE(::chmod(dir.path().c_str(), 0711) == 0);

  const std::string mayfly = dir / "new/cache/mayfly";
  REQUIRE(::chmod(mayfly.c_str(), 0777) == 0);
  CHECK(answer(dir / "new/cache") == unfit(mayfly, "others may write there"));
  REQUIRE(::chmod(mayfly.c_str(), 01777) == 0);
  CHECK(answer(dir / "new/cache") == unfit(mayfly, "others may write there"));
  REQUIRE(::chmod(mayfly.c_str(), 0755) == 0);
  CHECK(answer(dir / "new/cache") == "made");

  // Further above it matters whether others can come there, and what they can do there.
  REQUIRE(::chmod((dir / "new").c_str(), 0777) == 0);
  CHECK(answer(dir / "new/cache") == unfit(dir / "new", "others may write there"));
  REQUIRE(::chmod((dir / "new").c_str(), 01777) == 0);
  CHECK(answer(dir / "new/cache") == "made");
  REQUIRE(::chmod((dir / "new").c_str(), 0775) == 0);
  REQUIRE(::chmod(dir.path().c_str(), 0700) == 0);
  CHECK(answer(dir / "new/cache") == "made");

  REQUIRE(::chmod((dir / "new").c_str(), 0755) == 0);
  REQUIRE(::chmod((dir / "new/cache").c_str(), 0777) == 0);
  CHECK(answer(dir / "new/cache") == "made");
  const TempDir outside;
  REQUIRE(::mkdir((outside / "cache").c_str(), 0755) == 0);
  REQUIRE(::chmod(outside.path().c_str(), 0777) == 0);
  REQUIRE(::symlink((outside / "cache").c_str(), (dir / "out").c_str()) == 0);
  CHECK(answer(dir / "out") == unfit(outside.path(), "others may write there"));

  REQUIRE(::symlink("new/../new/cache", (dir / "link").c_str()) == 0);
  CHECK(answer(dir / "link") == "made");
  REQUIRE(::mkdir((dir / "other").c_str(), 0700) == 0);
  REQUIRE(::symlink(mayfly.c_str(), (dir / "other/mayfly").c_str()) == 0);
  CHECK(answer(dir / "other") ==
        unfit(dir / "other/mayfly", "it is not a directory, or a symbolic link"));
  REQUIRE(::symlink("circle", (dir / "circle").c_str()) == 0);
  CHECK(answer(dir / "circle") == unfit(dir / "circle", "its links go in circles"));
  write_text(dir / "file", "");
  CHECK(answer(dir / "file") == unfit(dir / "file", "it is not a directory"));

  if (::geteuid() != 0) return;
  REQUIRE(::chown((dir / "new/cache").c_str(), 1000, 1000) == 0);
  CHECK(answer(dir / "new/cache") == unfit(dir / "new/cache", "it belongs to user 1000"));
  REQUIRE(::lchown((dir / "link").c_str(), 1000, 1000) == 0);
  CHECK(answer(dir / "link") == unfit(dir / "link", "it belongs to user 1000"));
}

TEST_CASE("disk layer: removed where it is, whatever has its name or its path by now") {
  const TempDir dir;
  REQUIRE(::mkdir((dir / "mayfly").c_str(), 0700) == 0);
  const auto made = disk_layer::make(dir / "mayfly/layers", "abc", own_ids());
  REQUIRE(made);
  write_text(made->path + "/file", "x");
  REQUIRE(::rename((dir / "mayfly").c_str(), (dir / "moved").c_str()) == 0);
  for (const char* each : {"mine", "mine/layers", "mine/layers/abc"})
    REQUIRE(::mkdir((dir / each).c_str(), 0700) == 0);
  write_text(dir / "mine/layers/abc/precious", "keep");
  REQUIRE(::symlink((dir / "mine").c_str(), (dir / "mayfly").c_str()) == 0);
  REQUIRE(disk_layer::remove(*made, 0));
  CHECK(read_text(dir / "mine/layers/abc/precious") == "keep");
  CHECK_FALSE(is_there(dir / "moved/layers/abc"));

  const disk_layer::Made second = make_in(dir);
  write_text(second.path + "/file", "x");
  REQUIRE(::rename(second.path.c_str(), (dir / "layers/x").c_str()) == 0);
  REQUIRE(::mkdir(second.path.c_str(), 0700) == 0);
  write_text(second.path + "/keep", "mine");
  const Result<void> removed = disk_layer::remove(second, 0);
  REQUIRE_FALSE(removed);
  CHECK(describe(removed.error()).find("it was moved, and is empty now") != std::string::npos);
  CHECK(read_text(second.path + "/keep") == "mine");
  CHECK(::rmdir((dir / "layers/x").c_str()) == 0);  // empty
}

TEST_CASE("disk layer: what a killed run left makes way for the next of its name") {
  const TempDir dir;
  if (!holds_marks(dir)) return;
  write_text(make_in(dir).path + "/file", "x");  // and nobody holds it
  const disk_layer::Made again = make_in(dir);
  CHECK_FALSE(is_there(again.path + "/file"));
  REQUIRE(::mkdir((dir / "layers/mine").c_str(), 0700) == 0);
  write_text(dir / "layers/mine/keep", "mine");
  const auto refused = disk_layer::make(dir / "layers", "mine", own_ids());
  REQUIRE_FALSE(refused);
  CHECK(describe(refused.error()).find("mine is no layer of mayfly's") != std::string::npos);
  CHECK(read_text(dir / "layers/mine/keep") == "mine");
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

TEST_CASE("layer meter: changes no mode of what it can read and search") {
  for (const unsigned user : mayfly::test::users()) {
    CAPTURE(user);
    CHECK(in_layer_of(
              user, 100, [](const disk_layer::Made& made, const std::string& path) -> std::string {
                for (const mode_t mode : {0755U, 0700U, 0555U, 0500U}) {
                  ::chmod(path.c_str(), mode);
                  const std::int64_t before = changed_ns(path);
                  supervise::LayerMeter meter(made.directory, {.bytes = 1 << 20, .inodes = 1000});
                  if (meter.measure().inodes != 101) return "not all was found";
                  if (changed_ns(path) != before) return "changed: " + std::to_string(mode);
                }
                return "fine";
              }) == "fine");
  }
}

TEST_CASE(
    "layer meter: what is closed is as it was between two looks and a chmod meanwhile stays") {
  for (const unsigned user : mayfly::test::users()) {
    CAPTURE(user);
    CHECK(in_layer_of(
              user, 500, [](const disk_layer::Made& made, const std::string& path) -> std::string {
                supervise::LayerMeter meter(made.directory, {.bytes = 1 << 20, .inodes = 1000});
                int looks = 0;
                for (const mode_t mode : {0U, 0100U, 0200U, 0400U}) {
                  ::chmod(path.c_str(), mode);
                  for (bool rests = false; !rests; ++looks) {
                    constexpr std::int64_t kOneSlice = 10'000'000;
                    const std::int64_t then = sys::boottime_ns() - kOneSlice;
                    if (meter.look(then)) return "too much: " + meter.why_not_all();
                    if (mode_of(path) != mode) return "seen: " + std::to_string(mode_of(path));
                    rests = meter.next_ns() - then > 100'000'000;
                  }
                }
                if (looks < 20) return "too few looks: " + std::to_string(looks);
                ::chmod(path.c_str(), 0);
                for (int i = 0; i < 3; ++i)
                  if (meter.look(sys::boottime_ns() - 10'000'000)) return "too much";
                ::chmod(path.c_str(), 0755);
                if (meter.measure().inodes != 501) return "not all was found";
                if (mode_of(path) != 0755) return "reverted";
                return "fine";
              }) == "fine");
  }
}

TEST_CASE("layer meter: what a lack of descriptors hides is too much") {
  CHECK(in_child([]() -> std::string {
          const TempDir dir;
          const disk_layer::Made made = make_in(dir);
          make_deep(made.directory, 90);
          constexpr supervise::LayerMeter::Size kMuch = {.bytes = 1ull << 40, .inodes = 1'000'000};
          supervise::LayerMeter before(made.directory, kMuch);
          if (is_over(before)) return "with enough of them";
          const rlimit few = {64, 64};
          ::setrlimit(RLIMIT_NOFILE, &few);
          if (!is_over(before)) return "a walk ran out of them";
          static_cast<void>(before.measure());
          if (before.why_not_all().find("(EMFILE)") == std::string::npos)
            return before.why_not_all();
          supervise::LayerMeter after(made.directory, kMuch);
          if (!is_over(after)) return "half of them";
          if (after.why_not_all() != "more than 32 directories are in one another")
            return after.why_not_all();
          const rlimit none = {static_cast<rlim_t>(made.directory.get()) + 1, 64};
          ::setrlimit(RLIMIT_NOFILE, &none);
          static_cast<void>(after.measure());
          if (after.measure().inodes != 0 || !is_over(after)) return "none";
          ::setrlimit(RLIMIT_NOFILE, &few);
          return disk_layer::remove(made, 0) ? "fine" : "not removed";
        }) == "fine");
}

TEST_CASE("layer meter: what goes or is replaced while it is listed is passed over") {
  const TempDir dir;
  const disk_layer::Made made = make_in(dir);
  for (const std::string name : {"a", "b", "c", "d"}) {
    REQUIRE(::mkdir((made.path + "/" + name).c_str(), 0700) == 0);
    make_files(made.path + "/" + name, 100);
  }
  supervise::LayerMeter meter(made.directory, {.bytes = 1 << 20, .inodes = 1000});
  CHECK_FALSE(meter.look(sys::boottime_ns() - 10'000'000));  // in the first of them
  for (const std::string name : {"a", "b", "c", "d"}) {
    REQUIRE(std::filesystem::remove_all(made.path + "/" + name) == 101);
    if (name > "b") REQUIRE(::symlink("/", (made.path + "/" + name).c_str()) == 0);
  }
  CHECK_FALSE(is_over(meter));
  CHECK(meter.why_not_all().empty());
  CHECK(disk_layer::remove(made, 0));
}
