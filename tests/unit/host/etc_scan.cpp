#include "host/etc_scan.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

using namespace mayfly;
using namespace mayfly::host;

namespace {

// A directory that stands for /etc, gone with the test.
struct FakeEtc {
  FakeEtc() {
    char name[] = "/tmp/mayfly-etc-XXXXXX";
    REQUIRE(::mkdtemp(name) != nullptr);
    path = name;
  }
  FakeEtc(const FakeEtc&) = delete;
  FakeEtc& operator=(const FakeEtc&) = delete;
  ~FakeEtc() { std::filesystem::remove_all(path); }

  void file(const std::string& name, mode_t mode) const {
    std::ofstream(path + "/" + name) << "x";
    REQUIRE(::chmod((path + "/" + name).c_str(), mode) == 0);
  }
  void dir(const std::string& name, mode_t mode) const {
    std::filesystem::create_directories(path + "/" + name);
    REQUIRE(::chmod((path + "/" + name).c_str(), mode) == 0);
  }

  std::string path;
};

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("private_entries: what is not for everybody, without looking into what is hidden") {
  FakeEtc etc;
  etc.file("passwd", 0644);
  etc.file("shadow", 0640);
  etc.file("group-only", 0660);
  etc.dir("ssl/private", 0755);
  etc.file("ssl/private/key", 0600);
  etc.dir("ssl/private", 0710);
  etc.dir("sudoers.d", 0755);
  etc.file("sudoers.d/secret", 0400);
  etc.dir("listable-only", 0754);    // names are seen, files are not
  etc.dir("searchable-only", 0751);  // files are seen by who knows their names
  etc.dir("open/deep/deeper", 0755);
  etc.file("open/deep/deeper/key", 0600);
  REQUIRE(::symlink("shadow", (etc.path + "/link").c_str()) == 0);
  REQUIRE(::mkfifo((etc.path + "/fifo").c_str(), 0600) == 0);

  const auto whole = private_entries(etc.path, EtcScan::Whole);
  REQUIRE(whole);
  CHECK(*whole == Names{"fifo", "group-only", "listable-only", "open/deep/deeper/key",
                        "searchable-only", "shadow", "ssl/private", "sudoers.d/secret"});

  const auto known = private_entries(etc.path, EtcScan::Known);
  REQUIRE(known);
  CHECK(*known == Names{"shadow", "ssl/private"});

  const auto none = private_entries(etc.path, EtcScan::None);
  REQUIRE(none);
  CHECK(none->empty());
}

TEST_CASE("private_entries: a missing /etc has none, endless depth is refused") {
  const auto missing = private_entries("/tmp/mayfly-no-such-etc", EtcScan::Whole);
  REQUIRE(missing);
  CHECK(missing->empty());

  FakeEtc etc;
  std::string deep;
  for (int i = 0; i < 40; ++i)
    deep += "d/";
  etc.dir(deep, 0755);
  const auto refused = private_entries(etc.path, EtcScan::Whole);
  REQUIRE_FALSE(refused);
  CHECK(describe(refused.error()) ==
        "cannot look for private files in /etc: directories more than 32 deep");
  CHECK_FALSE(refused.error().hint.empty());
}

TEST_CASE("needed_scan: only what the caller's own ids could reach") {
  HostFacts facts;
  facts.uid = facts.gid = 1000;
  CHECK(needed_scan(facts) == EtcScan::Known);
  facts.groups = {27};
  CHECK(needed_scan(facts) == EtcScan::Whole);
  facts.groups.clear();
  facts.gid = 42;  // shadow, say
  CHECK(needed_scan(facts) == EtcScan::Whole);
  facts.uid = facts.gid = 0;  // root of a rootless container owns its /etc
  CHECK(needed_scan(facts) == EtcScan::Whole);
  facts.owns_all_ids = true;
  CHECK(needed_scan(facts) == EtcScan::None);
}
