#include "spec/entries.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace mayfly;
using namespace mayfly::spec;

namespace {

FsEntry at(FsKind kind, std::string target) {
  FsEntry entry;
  entry.kind = kind;
  entry.target = std::move(target);
  if (kind == FsKind::Symlink) entry.data = "elsewhere";
  const bool shown =
      kind == FsKind::Ro || kind == FsKind::Rw || kind == FsKind::Cow || kind == FsKind::Device;
  if (shown) entry.source = "/source";
  return entry;
}

struct Order {
  std::vector<FsEntry> entries;
  const char* refused;  // null: it can be made
};

}  // namespace

TEST_CASE("entries that can be made one after the other are told from those that never can") {
  using enum FsKind;
  const Order orders[] = {
      {{at(File, "/a"), at(Dir, "/a")},
       "make /a (--dir): /a (--file) comes first, so that /a is a file"},
      {{at(File, "/a"), at(Tmpfs, "/a/b")},
       "make /a/b (--tmpfs): /a (--file) comes first, so that /a is a file"},
      {{at(File, "/a/b/c"), at(File, "/a")},
       "make /a (--file): /a/b/c (--file) comes first, so that /a is a directory"},
      {{at(Ro, "/a/b"), at(Symlink, "/a")},
       "make /a (--symlink): /a/b (--ro) comes first, so that /a is a directory"},
      {{at(Symlink, "/a"), at(Symlink, "/a")},
       "make /a (--symlink): /a (--symlink) comes first, so that /a is a symbolic link"},
      {{at(Ro, "/a"), at(Symlink, "/a")},
       "make /a (--symlink): /a (--ro) comes first, so that /a is there already"},
      {{at(Rw, "/a"), at(Symlink, "/a")},
       "make /a (--symlink): /a (--rw) comes first, so that /a is there already"},
      {{at(Symlink, "/a"), at(Ro, "/a")},
       "make /a (--ro): /a (--symlink) comes first, so that /a is a symbolic link"},
      {{at(Symlink, "/a"), at(File, "/a/b")},
       "make /a/b (--file): /a (--symlink) comes first, so that /a is a symbolic link"},
      {{at(Cow, "/a"), at(File, "/a")},
       "make /a (--file): /a (--cow) comes first, so that /a is a directory"},
      {{at(Tmpfs, "/a"), at(Device, "/a")},
       "make /a (--device): /a (--tmpfs) comes first, so that /a is a directory"},
      {{at(Device, "/a"), at(File, "/a")},
       "make /a (--file): /a (--device) comes first, so that /a is a device"},
      {{at(File, "/a"), at(Dir, "/b"), at(Mask, "/c"), at(Cow, "/a")},
       "make /a (--cow): /a (--file) comes first, so that /a is a file"},
      // A directory hides nothing.
      {{at(File, "/a/b"), at(Dir, "/a"), at(Dir, "/a/b")},
       "make /a/b (--dir): /a/b (--file) comes first, so that /a/b is a file"},

      {{at(File, "/a"), at(File, "/a")}, nullptr},
      {{at(File, "/a"), at(Device, "/a")}, nullptr},
      {{at(Device, "/a"), at(Device, "/a")}, nullptr},
      {{at(File, "/a"), at(File, "/ab"), at(File, "/b/a")}, nullptr},
      {{at(Dir, "/a"), at(Dir, "/a"), at(Tmpfs, "/a"), at(Cow, "/a")}, nullptr},
      {{at(File, "/a/b"), at(Dir, "/a"), at(Ro, "/a/b")}, nullptr},
      // Only the host knows what is there.
      {{at(Ro, "/a"), at(File, "/a")}, nullptr},
      {{at(Rw, "/a"), at(Dir, "/a/b")}, nullptr},
      {{at(File, "/a"), at(Ro, "/a")}, nullptr},
      // What is mounted hides what was made there.
      {{at(Symlink, "/a/b"), at(Tmpfs, "/a"), at(File, "/a/b")}, nullptr},
      {{at(Symlink, "/a/b/c"), at(Ro, "/a"), at(File, "/a/b/c")}, nullptr},
      {{at(Symlink, "/a"), at(Mask, "/a")},
       "make /a (--mask): /a (--symlink) comes first, so that /a is a symbolic link"},
      {{at(File, "/a"), at(Mask, "/a/b")},
       "make /a/b (--mask): /a (--file) comes first, so that /a is a file"},
      // A mask takes what there is, if anything.
      {{at(File, "/a"), at(Mask, "/a"), at(Dir, "/b"), at(Mask, "/b")}, nullptr},
      {{at(Mask, "/a"), at(Symlink, "/a")}, nullptr},
      {{at(Mask, "/a/b"), at(File, "/a")}, nullptr},
  };
  for (const Order& order : orders) {
    std::string said;
    for (const FsEntry& entry : order.entries)
      said += place_of(entry) + " ";
    CAPTURE(said);
    const Result<void> checked = check_entries(order.entries);
    CHECK(static_cast<bool>(checked) == (order.refused == nullptr));
    if (checked || order.refused == nullptr) continue;
    CHECK(checked.error().kind == ErrorKind::Usage);
    CHECK(checked.error().action == order.refused);
    CHECK_FALSE(checked.error().hint.empty());
  }
}
