#include "supervise/registry.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <set>

#include "supervise/janitor.hpp"
#include "support.hpp"

using namespace mayfly;
using namespace mayfly::test;
using supervise::Entry;
using supervise::Record;
using supervise::RuntimeDir;

namespace {

Record record_of(const std::string& id) {
  return {.id = id,
          .name = id,
          .pid = ::getpid(),
          .boot_id = supervise::boot_id(),
          .started_ns = 1,
          .cgroup = "",
          .cgroup_inode = 0,
          .labels = {{"job", "17"}}};
}

// The answer of one claim, in words.
std::string claim(const RuntimeDir& directory, const std::string& id, Entry* keep = nullptr) {
  Result<Entry> entry = Entry::claim(directory, record_of(id), {});
  if (!entry) return describe(entry.error());
  if (keep != nullptr) *keep = std::move(*entry);
  return "claimed";
}

std::string open_error(const std::string& path) {
  const Result<RuntimeDir> directory = RuntimeDir::open(path);
  return directory ? "opened" : describe(directory.error()) + " | " + directory.error().hint;
}

}  // namespace

TEST_CASE("registry: the runtime directory is made private, and judged") {
  for (const unsigned user : users()) {
    CAPTURE(user);
    const TempDir top;
    const std::string answer = in_child([&] {
      become(user);
      const std::string path = top / "mayfly";
      if (open_error(path) != "opened") return open_error(path);
      struct stat info {};
      ::stat(path.c_str(), &info);
      if ((info.st_mode & 07777) != 0700) return std::string("mode");
      if (open_error(path) != "opened") return std::string("again");

      ::symlink(path.c_str(), (top / "link").c_str());
      write_text(top / "file", "");
      ::mkdir((top / "open").c_str(), 0755);
      return open_error(top / "link") + "\n" + open_error(top / "file") + "\n" +
             open_error(top / "open") + "\n" + open_error(top / "none/x");
    });
    const std::string hint = " | remove it, or set XDG_RUNTIME_DIR to a directory of your own\n";
    const std::string none = top / "none/x";
    CHECK(answer ==
          "cannot use the runtime directory " + (top / "link") +
              ": it is not a directory, or a symbolic link" + hint +
              "cannot use the runtime directory " + (top / "file") +
              ": it is not a directory, or a symbolic link" + hint +
              "cannot use the runtime directory " + (top / "open") + ": others may enter it | " +
              "chmod 700 " + (top / "open") + "\n" + "cannot make the directory " + none +
              ": mkdir(" + none + "): No such file or directory (ENOENT) | " +
              (user == 0 ? "make " + (top / "none") + " a directory that can be written to"
                         : "set XDG_RUNTIME_DIR to a directory that you can write to, or "
                           "unset it"));
  }
}

TEST_CASE("registry: a directory of another user is refused (root)") {
  if (::geteuid() != 0) return skip("needs root, to make a directory of another user");
  const TempDir top;
  const std::string path = top / "mayfly";
  REQUIRE(::mkdir(path.c_str(), 0700) == 0);
  REQUIRE(::chown(path.c_str(), 1000, 1000) == 0);
  CHECK(open_error(path) == "cannot use the runtime directory " + path +
                                ": it belongs to user 1000 | remove it, or set XDG_RUNTIME_DIR to "
                                "a directory of your own");
  // To others, that of /tmp is closed: only another one helps.
  REQUIRE(::chmod(top.path().c_str(), 0755) == 0);
  for (const mode_t mode : {mode_t{0700}, mode_t{0755}}) {
    REQUIRE(::chmod(path.c_str(), mode) == 0);
    CHECK(in_child([&] {
            become(1001);
            return open_error(path);
          }) == "cannot use the runtime directory " + path +
                    ": it belongs to user 1000 | set XDG_RUNTIME_DIR to a directory of your own, "
                    "or have this one removed");
  }
}

TEST_CASE("registry: one id, one sandbox") {
  for (const unsigned user : users()) {
    CAPTURE(user);
    const TempDir top;
    CHECK(in_child([&] {
            become(user);
            const RuntimeDir directory = RuntimeDir::open(top / "mayfly").value();
            Entry held;
            std::string text = claim(directory, "build", &held) + "\n";
            text += claim(directory, "build") + "\n";
            text += claim(directory, "other") + "\n";
            held.remove(directory);
            text += exists(top / "mayfly/build") ? "left\n" : "removed\n";
            return text + claim(directory, "build");
          }) ==
          "claimed\n"
          "cannot start a sandbox named build: one of that name is running\n"
          "claimed\n"
          "removed\n"
          "claimed");
  }
}

TEST_CASE("registry: a limit of file sizes is told with its remedy") {
  const TempDir top;
  CHECK(in_child([&] {
          const RuntimeDir directory = RuntimeDir::open(top / "mayfly").value();
          ::signal(SIGXFSZ, SIG_IGN);
          const rlimit none = {};
          ::setrlimit(RLIMIT_FSIZE, &none);
          const Result<Entry> entry = Entry::claim(directory, record_of("build"), {});
          return entry ? std::string("claimed")
                       : errno_name(entry.error().sys_errno) + " | " + entry.error().hint;
        }) == "EFBIG | raise the limit of file sizes, as with ulimit -f unlimited");
}

TEST_CASE("registry: a claim that has no descriptor left for its folder leaves none behind") {
  const TempDir top;
  CHECK(in_child([&]() -> std::string {
          const Result<RuntimeDir> directory = RuntimeDir::open(top / "mayfly");
          if (!directory) return describe(directory.error());
          const rlimit none = {static_cast<rlim_t>(directory->fd().get()) + 1, 4096};
          ::setrlimit(RLIMIT_NOFILE, &none);
          const std::string answer = claim(*directory, "build");
          if (answer.find("(EMFILE)") == std::string::npos) return answer;
          const std::string folder = top / "mayfly/build";
          return ::access(folder.c_str(), F_OK) == 0 ? "left behind" : "fine";
        }) == "fine");
}

TEST_CASE("registry: of many that claim one id at once, exactly one gets it") {
  const TempDir top;
  const RuntimeDir directory = RuntimeDir::open(top / "mayfly").value();
  for (int round = 0; round < 5; ++round) {
    int ready[2], go[2], answers[2];
    REQUIRE(::pipe(ready) == 0);
    REQUIRE(::pipe(go) == 0);
    REQUIRE(::pipe(answers) == 0);
    constexpr int kClaimants = 8;
    {
      std::vector<std::unique_ptr<Child>> children;
      for (int i = 0; i < kClaimants; ++i)
        children.push_back(std::make_unique<Child>([&] {
          char byte = 'r';
          if (::write(ready[1], &byte, 1) != 1 || ::read(go[0], &byte, 1) != 1) return 1;
          Entry entry;
          byte = claim(directory, "build", &entry) == "claimed" ? '1' : '0';
          if (::write(answers[1], &byte, 1) != 1) return 1;
          ::pause();  // holds it until all have answered
          return 0;
        }));
      char bytes[kClaimants];
      for (char& byte : bytes)
        REQUIRE(::read(ready[0], &byte, 1) == 1);
      REQUIRE(::write(go[1], bytes, kClaimants) == kClaimants);
      int winners = 0;
      for (char& byte : bytes) {
        REQUIRE(::read(answers[0], &byte, 1) == 1);
        winners += byte == '1' ? 1 : 0;
      }
      CHECK(winners == 1);
    }
    // All of them were killed: what is left is nobody's, and the next round may have it.
    for (const int fd : {ready[0], ready[1], go[0], go[1], answers[0], answers[1]})
      ::close(fd);
  }
}

TEST_CASE("registry: claims and a janitor at work on the same id never lose a live entry") {
  const TempDir top;
  const RuntimeDir directory = RuntimeDir::open(top / "mayfly").value();
  Child janitor([&] {
    for (;;)
      static_cast<void>(supervise::collect(directory, {}));
    return 0;
  });
  for (int i = 0; i < 200; ++i) {
    Entry entry;
    CAPTURE(i);
    REQUIRE(claim(directory, "build", &entry) == "claimed");
    CHECK(exists(top / "mayfly/build/state"));
    REQUIRE(entry.publish(record_of("build")));
    CHECK(exists(top / "mayfly/build/state"));
    entry.remove(directory);
    CHECK_FALSE(exists(top / "mayfly/build"));
  }
}

TEST_CASE("registry: ids") {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    const std::string id = supervise::random_id().value();
    CHECK(supervise::is_random_id(id));
    CHECK(supervise::is_valid_id(id));
    seen.insert(id);
  }
  CHECK(seen.size() == 1000);
  for (const char* good : {"a", "A-b_c.9", "0"})
    CHECK(supervise::is_valid_id(good));
  for (const std::string& bad :
       {std::string(), std::string("."), std::string(".."), std::string(".x"), std::string("-x"),
        std::string("a/b"), std::string("a b"), std::string("a\n"), std::string("ä"),
        std::string("a\0b", 3), std::string(65, 'x')}) {
    CAPTURE(bad);
    CHECK_FALSE(supervise::is_valid_id(bad));
  }
  const TempDir top;
  const RuntimeDir directory = RuntimeDir::open(top / "mayfly").value();
  CHECK(claim(directory, "../x") == "cannot name a sandbox ../x");
}

TEST_CASE("registry: a record reads back as it was written, hostile labels included") {
  Record record = record_of("build");
  record.cgroup = "/sys/fs/cgroup/x/mayfly-build";
  record.cgroup_inode = 18446744073709551615u;
  record.labels = {{"a", "line\nbreak \"quoted\" \\ \x01"}, {"grün", "€"}};
  CHECK(supervise::parse_record(supervise::to_json(record)).value() == record);

  const TempDir top;
  const RuntimeDir directory = RuntimeDir::open(top / "mayfly").value();
  record.labels = {{"long", std::string(70'000, 'x')}};
  const Result<Entry> entry = Entry::claim(directory, record, {});
  REQUIRE_FALSE(entry);
  CHECK(describe(entry.error()) == "cannot register the sandbox: its labels are too long");
  CHECK_FALSE(exists(top / "mayfly/build"));
}

TEST_CASE("registry: malformed records are refused, each with a word on why") {
  const std::string good = supervise::to_json(record_of("build"));
  REQUIRE(supervise::parse_record(good));
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
  };
  for (const std::string& bad :
       {std::string(), std::string("null"), std::string("[]"), std::string("{}"),
        std::string(60'000, '['), std::string("{\"v\":1,"), good.substr(0, good.size() / 2),
        with("\"v\":1", "\"v\":2"), with("\"id\":\"build\"", "\"id\":7"),
        with("\"cgroup_inode\":0", "\"cgroup_inode\":-1"),
        with("\"cgroup_inode\":0", "\"cgroup_inode\":1.5"), with("{\"job\":\"17\"}", "[]"),
        with("\"17\"", "17"), std::string(70'000, ' ') + good, good + std::string(1, '\0')}) {
    CAPTURE(bad.substr(0, 80));
    const Result<Record> read = supervise::parse_record(bad);
    REQUIRE_FALSE(read);
    CHECK(describe(read.error()).rfind("cannot read a sandbox's state: ", 0) == 0);
  }
}
