// How paths, variables and choices are written.
#include "spec/arguments.hpp"

#include <doctest/doctest.h>

using namespace mayfly;
using namespace mayfly::spec;

namespace {

struct Bad {
  std::string text;
  std::string message;
};

FsEntry entry(FsKind kind, std::string source, std::string target, std::string data = {}) {
  FsEntry made;
  made.kind = kind;
  made.source = std::move(source);
  made.target = std::move(target);
  made.data = std::move(data);
  return made;
}

}  // namespace

TEST_CASE("absolute_path starts at the working directory and is normal as text") {
  CHECK(*absolute_path("/w", "a") == "/w/a");
  CHECK(*absolute_path("/w", ".") == "/w");
  CHECK(*absolute_path("/w/d", "../a/./b//c/..") == "/w/a/b");
  CHECK(*absolute_path("/", "a") == "/a");
  CHECK(*absolute_path("", "/a/") == "/a");
  CHECK(*absolute_path("/w", "~") == "/w/~");
  CHECK(*absolute_path("/w", "a\nb\xff") == "/w/a\nb\xff");
  CHECK(absolute_path("", "a").error().action ==
        "resolve a: the working directory does not exist or cannot be read");
  CHECK(absolute_path("/w", "").error().action == "use '' as a path: it is empty");
}

TEST_CASE("SRC[:DST]: backslashes protect, everything else is itself") {
  const struct {
    const char* text;
    const char* source;
    const char* target;
  } cases[] = {
      {"/a", "/a", "/a"},
      {"/a:/b", "/a", "/b"},
      {"a:/b", "/w/a", "/b"},
      {"a", "/w/a", "/w/a"},
      {".", "/w", "/w"},
      {"../x", "/x", "/x"},
      {"/a/:/b/", "/a", "/b"},
      {"/a\\:b", "/a:b", "/a:b"},
      {"/a\\:b:/c\\:d", "/a:b", "/c:d"},
      {"/a\\\\:/b", "/a\\", "/b"},
      {"/a\\=b:/c=d", "/a=b", "/c=d"},
      {"/a\nb:/c\xff", "/a\nb", "/c\xff"},
      {"/a b:/c,d", "/a b", "/c,d"},
      {"/a:b", "/a", "b"},  // validate() refuses the target, and names it
      {"/a:", "/a", ""},
      {"/a:/b/../c", "/a", "/b/../c"},
  };
  for (const auto& each : cases) {
    const auto& text = each.text;
    const auto& source = each.source;
    const auto& target = each.target;
    CAPTURE(text);
    const auto parsed = parse_tree(FsKind::Ro, "/w", text);
    REQUIRE(parsed);
    CHECK(*parsed == entry(FsKind::Ro, source, target));
  }
  CHECK(parse_tree(FsKind::Cow, "/w", "x")->kind == FsKind::Cow);
  const Bad bad[] = {
      {"", "use '' as a path: it is empty"},
      {":/b", "use '' as a path: it is empty"},
      {"/a:/b:ro", "read /a:/b:ro: there is more than one ':'"},
      {"/a:/b,rw", "read /a:/b,rw: there are no settings behind a path"},
      {"/a:/b:", "read /a:/b:: there is more than one ':'"},
      {"/a\\b", "read /a\\b: a backslash must stand before ':', '=' or '\\'"},
      {"/a\\", "read /a\\: a backslash must stand before ':', '=' or '\\'"},
  };
  for (const auto& each : bad) {
    const auto& text = each.text;
    const auto& message = each.message;
    CAPTURE(text);
    const auto parsed = parse_tree(FsKind::Ro, "/w", text);
    REQUIRE_FALSE(parsed);
    CHECK(parsed.error().action == message);
  }
}

TEST_CASE("DST[:size=SIZE,mode=MODE]") {
  CHECK(*parse_tmpfs("/t") == entry(FsKind::Tmpfs, "", "/t"));
  const auto full = parse_tmpfs("/a\\:b:size=1M,mode=1777");
  REQUIRE(full);
  CHECK(full->target == "/a:b");
  CHECK(full->size == 1u << 20);
  CHECK(full->mode == 01777u);
  CHECK(parse_tmpfs("/t:mode=700")->mode == 0700u);
  const Bad bad[] = {
      {"/t:", "read /t:: '' is not a setting of a tmpfs"},
      {"/t:1M", "read /t:1M: 1M is not a setting of a tmpfs"},
      {"/t:size=1M,", "read /t:size=1M,: '' is not a setting of a tmpfs"},
      {"/t:noexec", "read /t:noexec: noexec is not a setting of a tmpfs"},
      {"/t:size=0", "read /t:size=0: a size of 0 is no size"},
      {"/t:size=", "read '' as a size: it is empty"},
      {"/t:size", "read '' as a size: it is empty"},
      {"/t:size=1M:mode=1", "read 1M:mode=1 as a size: M:mode=1 is not a unit"},
      {"/t:mode=rwx", "read rwx as a mode: r is not an octal digit"},
  };
  for (const auto& each : bad) {
    const auto& text = each.text;
    const auto& message = each.message;
    CAPTURE(text);
    const auto parsed = parse_tmpfs(text);
    REQUIRE_FALSE(parsed);
    CHECK(parsed.error().action == message);
  }
}

TEST_CASE("DST[:MODE]=TEXT or =@SRC") {
  CHECK(*parse_file("/w", "/f=") == entry(FsKind::File, "", "/f"));
  CHECK(*parse_file("/w", "/f=a=b:c\\d\n") == entry(FsKind::File, "", "/f", "a=b:c\\d\n"));
  CHECK(*parse_file("/w", "/f=@src:x=y\\z") == entry(FsKind::File, "/w/src:x=y\\z", "/f"));
  CHECK(*parse_file("/w", "/f=@/abs") == entry(FsKind::File, "/abs", "/f"));
  CHECK(*parse_file("/w", "/f=@@at") == entry(FsKind::File, "", "/f", "@at"));
  CHECK(*parse_file("/w", "/f=@@") == entry(FsKind::File, "", "/f", "@"));
  CHECK(*parse_file("/w", "/a\\=b\\:c=d") == entry(FsKind::File, "", "/a=b:c", "d"));
  const auto with_mode = parse_file("/w", "/f:0600=text");
  REQUIRE(with_mode);
  CHECK(with_mode->mode == 0600u);
  CHECK(with_mode->target == "/f");
  CHECK(with_mode->data == "text");
  const Bad bad[] = {
      {"/f", "read /f: there is no '='"},
      {"/f:600", "read /f:600: there is no '='"},
      {"/f:=x", "read '' as a mode: it is empty"},
      {"/f:rw=x", "read rw as a mode: r is not an octal digit"},
      {"/f=@", "use '' as a path: it is empty"},
      {"", "read '': there is no '='"},
  };
  for (const auto& each : bad) {
    const auto& text = each.text;
    const auto& message = each.message;
    CAPTURE(text);
    const auto parsed = parse_file("/w", text);
    REQUIRE_FALSE(parsed);
    CHECK(parsed.error().action == message);
  }
}

TEST_CASE("DST[:MODE] and DST=TARGET") {
  CHECK(*parse_dir("/d") == entry(FsKind::Dir, "", "/d"));
  CHECK(parse_dir("/d:1777")->mode == 01777u);
  CHECK(parse_dir("/d=x").error().action == "read /d=x: a directory has no content");
  CHECK(parse_dir("/d:").error().action == "read '' as a mode: it is empty");
  CHECK(*parse_symlink("/l=../a:b=c\\d") == entry(FsKind::Symlink, "", "/l", "../a:b=c\\d"));
  CHECK(*parse_symlink("/a\\:b=x") == entry(FsKind::Symlink, "", "/a:b", "x"));
  CHECK(parse_symlink("/l").error().action == "read /l: there is no '=' after the path");
  CHECK(parse_symlink("x:/l").error().action == "read x:/l: there is no '=' after the path");
  CHECK(parse_symlink("x:/l").error().hint == "write it DST=TARGET");
}

TEST_CASE("MODE[:DIR]") {
  CHECK(parse_project("/w", "cow")->mode == spec::ProjectMode::Cow);
  CHECK(parse_project("/w", "rw")->mode == spec::ProjectMode::Rw);
  CHECK(parse_project("/w", "ro")->mode == spec::ProjectMode::Ro);
  CHECK(parse_project("/w", "none")->mode == spec::ProjectMode::None);
  CHECK(parse_project("/w", "rw")->dir.empty());
  CHECK(parse_project("/w", "rw:sub")->dir == "/w/sub");
  CHECK(parse_project("/w", "ro:/a\\:b")->dir == "/a:b");
  const Bad bad[] = {
      {"", "read '': '' is not a way to show the project"},
      {"sideways", "read sideways: sideways is not a way to show the project"},
      {"RW", "read RW: RW is not a way to show the project"},
      {"/w", "read /w: /w is not a way to show the project"},
      {"rw:", "use '' as a path: it is empty"},
      {"rw:/a:/b", "read rw:/a:/b: there is more than one ':'"},
      {"none:/a", "read none:/a: no project is shown, so it has no directory"},
  };
  for (const auto& each : bad) {
    const auto& text = each.text;
    const auto& message = each.message;
    CAPTURE(text);
    const auto parsed = parse_project("/w", text);
    REQUIRE_FALSE(parsed);
    CHECK(parsed.error().action == message);
  }
}

TEST_CASE("NAME[=VALUE] and KEY=VALUE") {
  using spec::EnvKind;
  using spec::EnvRule;
  CHECK(parse_env("A=1") == EnvRule{.kind = EnvKind::Set, .name = "A", .value = "1"});
  CHECK(parse_env("A=") == EnvRule{.kind = EnvKind::Set, .name = "A", .value = ""});
  CHECK(parse_env("A=b=\n") == EnvRule{.kind = EnvKind::Set, .name = "A", .value = "b=\n"});
  CHECK(parse_env("A") == EnvRule{.kind = EnvKind::PassName, .name = "A", .value = ""});
  CHECK(*parse_label("k=v=w") == std::pair<std::string, std::string>("k", "v=w"));
  CHECK(*parse_label("k=") == std::pair<std::string, std::string>("k", ""));
  CHECK(parse_label("k").error().action == "read k: there is no '='");
  CHECK(parse_label("k").error().hint == "write it KEY=VALUE");
}
