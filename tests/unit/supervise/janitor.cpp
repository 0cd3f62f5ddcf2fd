#include "supervise/janitor.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <memory>

#include "collected.hpp"
#include "support.hpp"
#include "sys/entries.hpp"
#include "sys/event.hpp"

using namespace mayfly;
using namespace mayfly::test;
using supervise::Entry;
using supervise::Fate;
using supervise::GcMode;
using supervise::GcRequest;
using supervise::Record;
using supervise::RuntimeDir;
using supervise::Verdict;

namespace {

// A cgroup of our own making, with a process in it if wanted; gone with this object.
class TestCgroup {
 public:
  enum class Holds { Nobody, Sleeper };
  TestCgroup(const std::string& parent, const std::string& name, Holds holds)
      : path_(parent + "/" + name) {
    REQUIRE(::mkdir(path_.c_str(), 0755) == 0);
    if (holds == Holds::Nobody) return;
    sleeper_ = std::make_unique<Child>([] {
      for (;;)
        ::pause();
      return 0;
    });
    std::ofstream(path_ + "/cgroup.procs") << sleeper_->pid() << std::flush;
    REQUIRE(read_text(path_ + "/cgroup.events").find("populated 1") != std::string::npos);
  }
  ~TestCgroup() {
    sleeper_.reset();
    for (int i = 0; i < 100 && exists(path_) && ::rmdir(path_.c_str()) != 0; ++i)
      sleep_ms(10);
  }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::uint64_t inode() const {
    struct stat info {};
    ::stat(path_.c_str(), &info);
    return info.st_ino;
  }
  [[nodiscard]] bool alive() const {
    siginfo_t info{};
    return ::waitid(P_PID, static_cast<id_t>(sleeper_->pid()), &info,
                    WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == 0;
  }

 private:
  std::string path_;
  std::unique_ptr<Child> sleeper_;
};

std::string own_name(const char* suffix) {
  return "t" + std::to_string(::getpid()) + suffix;
}

}  // namespace

TEST_CASE("gc: removes what nobody holds, keeps what somebody does, and says so") {
  for (const unsigned user : users()) {
    CAPTURE(user);
    const TempDir top;
    CHECK(in_child([&] {
            become(user);
            const RuntimeDir directory = RuntimeDir::open(top / "mayfly").value();
            { const Result<Entry> stale = Entry::claim(directory, record_of("stale"), {}); }
            ::mkdir((top / "mayfly/half").c_str(), 0700);  // killed before its state was written
            const Result<Entry> live = Entry::claim(directory, record_of("live"), {});
            GcRequest dry;
            std::string text = collected(directory, {}).find("half removed") == std::string::npos
                                   ? "spared\n"
                                   : "taken\n";
            { const Result<Entry> stale = Entry::claim(directory, record_of("stale"), {}); }
            dry.mode = GcMode::DryRun;
            dry.unfinished_age_ns = 0;
            text += collected(directory, dry);
            text += exists(top / "mayfly/stale/state") ? "untouched\n" : "touched\n";
            dry.mode = GcMode::Remove;
            text += collected(directory, dry);
            return text + (exists(top / "mayfly/stale") ? "left" : "gone");
          }) ==
          "spared\n"
          "half would remove: its state cannot be read\n"
          "live in use\n"
          "stale would remove\n"
          "untouched\n"
          "half removed: its state cannot be read\n"
          "live in use\n"
          "stale removed\n"
          "gone");
  }
}

TEST_CASE("gc: an entry of a killed process is nobody's") {
  const TempDir top;
  const RuntimeDir directory = RuntimeDir::open(top / "mayfly").value();
  int ready[2];
  REQUIRE(::pipe(ready) == 0);
  {
    Child supervisor([&] {
      const Result<Entry> entry = Entry::claim(directory, record_of("job"), {});
      if (::write(ready[1], "r", 1) != 1) return 1;
      ::pause();
      return entry ? 0 : 1;
    });
    char byte = 0;
    REQUIRE(::read(ready[0], &byte, 1) == 1);
    CHECK(collected(directory, {}) == "job in use\n");
  }
  CHECK(collected(directory, {}) == "job removed\n");
}

TEST_CASE("gc: hostile content is harmless") {
  for (const unsigned user : users()) {
    CAPTURE(user);
    const TempDir top;
    write_text(top / "precious", "keep me");
    ::mkdir((top / "dir").c_str(), 0777);
    write_text(top / "dir/state", "keep me too");
    CHECK(in_child([&] {
            become(user);
            const std::string base = top / "mayfly";
            const RuntimeDir directory = RuntimeDir::open(base).value();
            const auto folder = [&](const char* name) {
              ::mkdir((base + "/" + name).c_str(), 0700);
              return base + "/" + name;
            };
            ::symlink((top / "dir").c_str(), (base + "/link").c_str());
            ::mkfifo((base + "/fifo").c_str(), 0600);
            write_text(base + "/file", "");
            folder("bad name");
            write_text(base + "/.hidden", "");
            ::symlink((top / "precious").c_str(), (folder("statelink") + "/state").c_str());
            ::mkfifo((folder("statefifo") + "/state").c_str(), 0600);
            ::mkdir((folder("statedir") + "/state").c_str(), 0700);
            write_text(folder("huge") + "/state", std::string(200'000, '['));
            write_text(folder("garbage") + "/state", std::string("\0\xff{", 3));
            write_text(folder("stranger") + "/state", to_json(record_of("other")));
            write_text(folder("foreign") + "/notes.txt", "mine");
            GcRequest of_any_age;
            of_any_age.unfinished_age_ns = 0;
            return collected(directory, of_any_age);
          }) ==
          "bad name kept: no name that mayfly gives\n"
          "fifo kept: not a directory\n"
          "file kept: not a directory\n"
          "foreign kept: its folder holds files that mayfly did not put there\n"
          "garbage removed: its state cannot be read\n"
          "huge removed: its state cannot be read\n"
          "link kept: not a directory\n"
          "statedir kept: cannot remove state: unlinkat(state): Is a directory (EISDIR)\n"
          "statefifo removed: its state cannot be read\n"
          "statelink removed: its state cannot be read\n"
          "stranger removed: its state names another sandbox\n");
    CHECK(read_text(top / "precious") == "keep me");
    CHECK(read_text(top / "dir/state") == "keep me too");
    CHECK(read_text(top / "mayfly/foreign/notes.txt") == "mine");
  }
}

TEST_CASE("gc: not a word about entries that are being made and removed beside it") {
  const TempDir top;
  const RuntimeDir directory = RuntimeDir::open(top / "mayfly").value();
  std::vector<std::unique_ptr<Child>> starts;
  for (int i = 0; i < 3; ++i) {
    starts.push_back(std::make_unique<Child>([&, i] {
      const Record record = record_of("start" + std::to_string(i));
      for (;;) {
        Result<Entry> entry = Entry::claim(directory, record, {});
        if (!entry) return 1;
        entry->remove(directory);
      }
    }));
  }
  // Two janitors, which meet each other, too.
  const auto janitor = [&] {
    const std::int64_t end = sys::boottime_ns() + 500'000'000;
    while (sys::boottime_ns() < end) {
      const auto verdicts = supervise::collect(directory, {});
      if (!verdicts) return 1;
      for (const Verdict& verdict : *verdicts)
        if (verdict.fate != Fate::InUse) return 2;
    }
    return 0;
  };
  Child first(janitor), second(janitor);
  CHECK(first.wait() == 0);
  CHECK(second.wait() == 0);
}

TEST_CASE("gc: a folder of somebody else is kept (root)") {
  if (::geteuid() != 0) return skip("needs root, to make a folder of another user");
  const TempDir top;
  const RuntimeDir directory = RuntimeDir::open(top / "mayfly").value();
  REQUIRE(::mkdir((top / "mayfly/x").c_str(), 0777) == 0);
  REQUIRE(::chown((top / "mayfly/x").c_str(), 1000, 1000) == 0);
  CHECK(collected(directory, {}) == "x kept: it belongs to somebody else\n");
}

TEST_CASE("gc: kills and removes the recorded cgroup, and no other") {
  const std::string parent = writable_cgroup();
  if (parent.empty()) return skip("needs a cgroup v2 directory that this user may write");
  using enum TestCgroup::Holds;
  const TempDir top;
  const RuntimeDir directory = RuntimeDir::open(top / "mayfly").value();
  GcRequest request;
  request.cgroup_mount = cgroup_mount();
  const std::string left_alone = " removed: its record names a cgroup that is not one of ours\n";
  const std::string id = own_name("a");
  TestCgroup ours(parent, "mayfly-" + id, Sleeper);
  TestCgroup other(parent, "other-" + id, Sleeper);
  const auto gc = [&](const Record& record) {
    leave_entry(directory, record);
    return collected(directory, request);
  };

  // The name, the base, the inode and the boot must all be right.
  CHECK(gc(record_of(id, other.path(), other.inode())) == id + left_alone);
  CHECK(gc(record_of(id, "/tmp/mayfly-" + id, ours.inode())) == id + left_alone);
  CHECK(gc(record_of(id, parent + "/x/../mayfly-" + id, ours.inode())) == id + left_alone);
  CHECK(gc(record_of(id, ours.path(), ours.inode() + 1)) ==
        id + " removed: the cgroup of its name is not the recorded one\n");
  Record earlier_boot = record_of(id, ours.path(), ours.inode());
  earlier_boot.boot_id = "another";
  CHECK(gc(earlier_boot) == id + " removed\n");
  CHECK(ours.alive());
  CHECK(other.alive());

  // Without an inode it is not killed; the entry stays, to be tried again.
  CHECK(gc(record_of(id, ours.path())) == id + " kept: its cgroup is not empty\n");
  CHECK(ours.alive());
  {
    GcRequest no_cgroups = request;
    no_cgroups.cgroup_mount.clear();
    CHECK(collected(directory, no_cgroups) == id + left_alone);
  }

  CHECK(gc(record_of(id, ours.path(), ours.inode())) == id + " removed\n");
  CHECK_FALSE(ours.alive());
  CHECK_FALSE(exists(ours.path()));
  CHECK(other.alive());
  CHECK(gc(record_of(id, ours.path(), 7)) == id + " removed\n");  // the cgroup is gone already
}

TEST_CASE("gc: a start that was killed half-way leaves an empty cgroup, which goes too") {
  const std::string parent = writable_cgroup();
  if (parent.empty()) return skip("needs a cgroup v2 directory that this user may write");
  const TempDir top;
  const RuntimeDir directory = RuntimeDir::open(top / "mayfly").value();
  const std::string id = own_name("b");
  const TestCgroup cgroup(parent, "mayfly-" + id, TestCgroup::Holds::Nobody);
  leave_entry(directory, record_of(id, cgroup.path()));
  GcRequest request;
  request.cgroup_mount = cgroup_mount();
  CHECK(collected(directory, request) == id + " removed\n");
  CHECK_FALSE(exists(cgroup.path()));
}

TEST_CASE("gc: cgroups without an entry go if they are empty, nobody's and have a random name") {
  const std::string top_cgroup = writable_cgroup();
  if (top_cgroup.empty()) return skip("needs a cgroup v2 directory that this user may write");
  using enum TestCgroup::Holds;
  const TempDir top;
  const RuntimeDir directory = RuntimeDir::open(top / "mayfly").value();
  // A parent of our own: others' sandboxes may be starting in the one above.
  const TestCgroup own(top_cgroup, own_name("-parent"), Nobody);
  const std::string& parent = own.path();
  const std::string id = supervise::random_id().value();
  const TestCgroup orphan(parent, "mayfly-" + id, Nobody);
  const TestCgroup busy(parent, "mayfly-" + supervise::random_id().value(), Sleeper);
  const TestCgroup named(parent, "mayfly-" + own_name("-name"), Nobody);
  GcRequest request;
  request.cgroup_mount = cgroup_mount();
  request.cgroup_parents = {parent};
  static_cast<void>(collected(directory, request));
  CHECK(exists(orphan.path()));  // too young: a start may be about to use it

  request.orphan_age_ns = 0;
  {
    const Result<Entry> entry = Entry::claim(directory, record_of(id), {});
    CHECK(collected(directory, request) == id + " in use\n");
  }
  CHECK(collected(directory, {}) == id + " removed\n");
  {
    // A start holds it from the moment it has made it.
    const Fd held(::open(orphan.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    REQUIRE(sys::try_lock(held, "cgroup").value());
    CHECK(collected(directory, request) == "");
  }
  request.mode = GcMode::DryRun;
  CHECK(collected(directory, request) == orphan.path() + " would remove\n");
  request.mode = GcMode::Remove;
  CHECK(collected(directory, request) == orphan.path() + " removed\n");
  CHECK_FALSE(exists(orphan.path()));
  CHECK(exists(busy.path()));
  CHECK(busy.alive());
  CHECK(exists(named.path()));
}

TEST_CASE("sweep: at most 16 entries, at most once a minute") {
  const TempDir top;
  const RuntimeDir directory = RuntimeDir::open(top / "mayfly").value();
  const auto entries = [&] { return supervise::list(directory).value().size(); };
  for (int i = 0; i < 20; ++i)
    leave_entry(directory, record_of("e" + std::to_string(i)));
  supervise::sweep(directory, {}, {});
  CHECK(entries() == 4);
  supervise::sweep(directory, {}, {});
  CHECK(entries() == 4);
  // A minute later.
  const timespec old[2] = {{.tv_sec = ::time(nullptr) - 61, .tv_nsec = 0},
                           {.tv_sec = ::time(nullptr) - 61, .tv_nsec = 0}};
  REQUIRE(::utimensat(AT_FDCWD, (top / "mayfly/.sweep").c_str(), old, 0) == 0);
  supervise::sweep(directory, {}, {});
  CHECK(entries() == 0);
}

TEST_CASE("sweep: a stamp that is a link is not followed") {
  const TempDir top;
  const RuntimeDir directory = RuntimeDir::open(top / "mayfly").value();
  leave_entry(directory, record_of("stale"));
  REQUIRE(::symlink((top / "victim").c_str(), (top / "mayfly/.sweep").c_str()) == 0);
  // The link itself is young; then it is old, and still no file may be made through it.
  supervise::sweep(directory, {}, {});
  const timespec old[2] = {{.tv_sec = 1000, .tv_nsec = 0}, {.tv_sec = 1000, .tv_nsec = 0}};
  REQUIRE(::utimensat(AT_FDCWD, (top / "mayfly/.sweep").c_str(), old, AT_SYMLINK_NOFOLLOW) == 0);
  supervise::sweep(directory, {}, {});
  CHECK_FALSE(exists(top / "victim"));
}

TEST_CASE("list: who lives, who does not, and what cannot be read") {
  const TempDir top;
  const RuntimeDir directory = RuntimeDir::open(top / "mayfly").value();
  const Result<Entry> live = Entry::claim(directory, record_of("live"), {});
  leave_entry(directory, record_of("stale"));
  REQUIRE(::mkdir((top / "mayfly/half").c_str(), 0700) == 0);
  std::vector<supervise::Listed> all = supervise::list(directory).value();
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  REQUIRE(all.size() == 3);
  CHECK(all[0].id == "half");
  CHECK_FALSE(all[0].live);
  CHECK_FALSE(all[0].record);
  CHECK(all[0].problem.rfind("cannot open state", 0) == 0);
  CHECK(all[1].id == "live");
  CHECK(all[1].live);
  CHECK(all[1].record == record_of("live"));
  CHECK(all[2].id == "stale");
  CHECK_FALSE(all[2].live);
  CHECK(all[2].record == record_of("stale"));
}
