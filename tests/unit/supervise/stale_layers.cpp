#include "supervise/stale_layers.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "collected.hpp"
#include "isolate/disk_layer.hpp"
#include "support.hpp"
#include "sys/entries.hpp"

using namespace mayfly;
using namespace mayfly::test;
using supervise::GcMode;
using supervise::GcRequest;
using supervise::Record;
using supervise::RuntimeDir;

namespace {

// A cache directory with layers of our own making.
struct Layers {
  TempDir top;
  RuntimeDir directory = RuntimeDir::open(top / "mayfly").value();
  std::string parent = top / "layers";
  GcRequest request;

  Layers() {
    REQUIRE(::chmod(top.path().c_str(), 0700) == 0);
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

TEST_CASE("gc: layers on disk without an entry go if nobody holds them; nothing else there does") {
  const TempDir top;
  if (::setxattr(top.path().c_str(), "user.test", "1", 1, 0) != 0) return;  // no layer can be there
  REQUIRE(::chmod(top.path().c_str(), 0700) == 0);
  const RuntimeDir directory = RuntimeDir::open(top / "runtime").value();
  const std::string layers = top / "layers";
  const auto make = [&](const char* name) {
    auto made = isolate::disk_layer::make(layers, name, {.uid = ::geteuid(), .gid = ::getegid()});
    REQUIRE(made);
    write_text(made->path + "/file", "x");
    return std::move(*made);
  };
  const auto held = make("held");
  make("job42");
  make("moved.away");
  for (const char* name : {"mine", "new"})
    REQUIRE(::mkdir((layers + "/" + name).c_str(), 0700) == 0);
  write_text(layers + "/mine/keep", "mine");
  write_text(layers + "/text", "mine");
  REQUIRE(::symlink((layers + "/mine").c_str(), (layers + "/link").c_str()) == 0);
  GcRequest request;
  request.layer_parent = layers;
  const auto expected = [&](const std::string& fate) {
    return layers + "/held in use\n" + layers + "/job42 " + fate + "\n" + layers +
           "/link kept: no layer that mayfly made\n" + layers +
           "/mine kept: no layer that mayfly made\n" + layers + "/moved.away " + fate + "\n" +
           layers + "/new in use\n" + layers + "/text kept: no layer that mayfly made\n";
  };
  request.mode = GcMode::DryRun;
  CHECK(collected(directory, request) == expected("would remove"));
  request.mode = GcMode::Remove;
  CHECK(collected(directory, request) == expected("removed"));
  CHECK_FALSE(exists(layers + "/job42"));
  CHECK(exists(held.path + "/file"));
  CHECK(read_text(layers + "/mine/keep") == "mine");

  REQUIRE(::chmod(layers.c_str(), 0777) == 0);
  CHECK(collected(directory, request) == layers + " kept: cannot use the directory " + layers +
                                             " for layers on disk: others may write there\n");
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
    CHECK(recorded("held", held, Layers::inode_of(held)) == "held kept: its layer is in use\n");
    CHECK(exists(held + "/file"));
  }
  CHECK(collected(layers.directory, {}) == "held removed\n");
  CHECK_FALSE(exists(held));
  CHECK(recorded("other", other, Layers::inode_of(other) + 1) ==
        "other removed: the layer of its name is not the recorded one\n");
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
