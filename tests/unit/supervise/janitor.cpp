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

#include "support.hpp"
#include "sys/entries.hpp"

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

std::string fate_name(Fate fate) {
  switch (fate) {
    case Fate::Removed:
      return "removed";
    case Fate::WouldRemove:
      return "would remove";
    case Fate::InUse:
      return "in use";
    case Fate::Kept:
      return "kept";
  }
  return "?";
}

// All verdicts, sorted, one per line.
std::string collected(const RuntimeDir& directory, const GcRequest& request) {
  const Result<std::vector<Verdict>> verdicts = supervise::collect(directory, request);
  if (!verdicts) return describe(verdicts.error());
  std::vector<std::string> lines;
  for (const Verdict& verdict : *verdicts) {
    lines.push_back(verdict.what + " " + fate_name(verdict.fate) +
                    (verdict.why.empty() ? "" : ": " + verdict.why) + "\n");
  }
  std::sort(lines.begin(), lines.end());
  std::string text;
  for (const std::string& line : lines)
    text += line;
  return text;
}

// What a killed supervisor leaves: an entry that nobody holds.
void leave_entry(const RuntimeDir& directory, const Record& record) {
  const Result<Entry> entry = Entry::claim(directory, record, {});
  REQUIRE(entry);
}

Record record_of(const std::string& id, const std::string& cgroup = {}, std::uint64_t inode = 0) {
  return {.id = id,
          .name = {},
          .pid = 1,
          .boot_id = supervise::boot_id(),
          .started_ns = 1,
          .cgroup = cgroup,
          .cgroup_inode = inode,
          .labels = {}};
}

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
            dry.mode = GcMode::DryRun;
            std::string text = collected(directory, dry);
            text += exists(top / "mayfly/stale/state") ? "untouched\n" : "touched\n";
            text += collected(directory, {});
            return text + (exists(top / "mayfly/stale") ? "left" : "gone");
          }) ==
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
            return collected(directory, {});
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

TEST_CASE("gc: a folder of somebody else is kept") {
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

namespace {

// A cache directory with layers of our own making.
struct Layers {
  TempDir top;
  RuntimeDir directory = RuntimeDir::open(top / "mayfly").value();
  std::string parent = top / "layers";
  GcRequest request;

  Layers() {
    REQUIRE(::mkdir(parent.c_str(), 0700) == 0);
    request.layer_parent = parent;
    request.orphan_age_ns = 0;
  }
  // With a file in it.
  std::string add(const std::string& name) const {
    const std::string path = parent + "/" + name;
    REQUIRE(::mkdir(path.c_str(), 0700) == 0);
    write_text(path + "/file", "x");
    return path;
  }
  static Fd held(const std::string& path) {
    Fd layer(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    REQUIRE(sys::try_lock(layer, path).value());
    return layer;
  }
  static std::uint64_t inode_of(const std::string& path) {
    struct stat info {};
    REQUIRE(::stat(path.c_str(), &info) == 0);
    return info.st_ino;
  }
};

}  // namespace

TEST_CASE("gc: layers on disk without an entry go if nobody holds them and their name is random") {
  Layers layers;
  const std::string id = supervise::random_id().value();
  const std::string stale = layers.add(id), named = layers.add("named");
  layers.request.orphan_age_ns = 3'600'000'000'000;
  CHECK(collected(layers.directory, layers.request) == "");  // a start may be about to hold it
  CHECK(exists(stale));
  layers.request.orphan_age_ns = 0;
  {
    const Fd held = Layers::held(stale);
    CHECK(collected(layers.directory, layers.request) == stale + " in use: its layer is in use\n");
    CHECK(exists(stale + "/file"));
  }
  {
    const Result<Entry> entry = Entry::claim(layers.directory, record_of(id), {});
    CHECK(collected(layers.directory, layers.request) == id + " in use\n");
    CHECK(exists(stale + "/file"));
  }
  CHECK(collected(layers.directory, {}) == id + " removed\n");
  layers.request.mode = GcMode::DryRun;
  CHECK(collected(layers.directory, layers.request) == stale + " would remove\n");
  CHECK(exists(stale + "/file"));
  layers.request.mode = GcMode::Remove;
  CHECK(collected(layers.directory, layers.request) == stale + " removed\n");
  CHECK_FALSE(exists(stale));
  CHECK(exists(named + "/file"));
}

TEST_CASE("gc: layers in a directory in which others may write are left alone") {
  const Layers layers;
  const std::string stale = layers.add(supervise::random_id().value());
  REQUIRE(::chmod(layers.parent.c_str(), 0770) == 0);
  CHECK(collected(layers.directory, layers.request).find("others may write there") !=
        std::string::npos);
  CHECK(exists(stale + "/file"));
}

TEST_CASE("gc: the recorded layer goes with its entry, and no other") {
  const Layers layers;
  const auto recorded = [&](const std::string& id, const std::string& path, std::uint64_t inode) {
    Record record = record_of(id);
    record.layer = path;
    record.layer_inode = inode;
    leave_entry(layers.directory, record);
    return collected(layers.directory, {});
  };
  const std::string plain = layers.add("plain"), other = layers.add("other"),
                    held = layers.add("held");
  CHECK(recorded("plain", plain, Layers::inode_of(plain)) == "plain removed\n");
  CHECK_FALSE(exists(plain));
  CHECK(recorded("plain", plain, 1) == "plain removed\n");  // it is gone already
  {
    const Fd lock = Layers::held(held);
    CHECK(recorded("held", held, 0) == "held kept: its layer is in use\n");
    CHECK(exists(held + "/file"));
  }
  CHECK(collected(layers.directory, {}) == "held removed\n");
  CHECK_FALSE(exists(held));
  CHECK(recorded("other", other, Layers::inode_of(other) + 1) ==
        "other kept: the layer of its name is not the recorded one\n");
  CHECK(exists(other + "/file"));
}

TEST_CASE("gc: a record that names a layer elsewhere, or another's, removes nothing") {
  for (const char* name : {"precious", "layers/precious", "layers/../layers/a", "layers/a/"}) {
    CAPTURE(name);
    const Layers layers;
    const std::string precious = layers.add("precious"), a = layers.add("a");
    Record record = record_of("a");
    record.layer = layers.top / name;
    leave_entry(layers.directory, record);
    CHECK(collected(layers.directory, {}) ==
          "a kept: its record names a layer that is not one of ours\n");
    CHECK(exists(precious + "/file"));
    CHECK(exists(a + "/file"));
  }
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
