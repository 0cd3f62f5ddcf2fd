#include "host/accounts.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace mayfly::host;

TEST_CASE("parse_id takes decimal ids only") {
  CHECK(parse_id("0") == 0u);
  CHECK(parse_id("4294967294") == 4294967294u);
  for (const char* bad : {"", "-1", "+1", " 1", "1 ", "0x10", "4294967295", "4294967296", "1e3"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_id(bad).has_value());
  }
}

TEST_CASE("parse_passwd keeps well-formed lines in their order and skips all others") {
  const std::string text =
      "root:x:0:0:root:/root:/bin/bash\n"
      "# a comment:x:1:1::/:/bin/sh\n"
      "\n"
      "+::::::\n"                          // NIS
      ":x:5:5::/:/bin/sh\n"                // no name
      "few:x:6:6::/home/few\n"             // a field is missing
      "many:x:7:7::/home:/bin/sh:extra\n"  // one too many
      "minus:x:-1:7::/home:/bin/sh\n"
      "huge:x:4294967295:7::/home:/bin/sh\n"
      "alice:x:1000:1001:Alice,,,:/home/alice:/bin/zsh\n"
      "last:x:1:2:::";  // no line end, empty home and shell
  const auto entries = parse_passwd(text);
  REQUIRE(entries.size() == 3);
  CHECK(entries[0] ==
        PasswdEntry{.name = "root", .uid = 0, .gid = 0, .home = "/root", .shell = "/bin/bash"});
  CHECK(entries[1] ==
        PasswdEntry{
            .name = "alice", .uid = 1000, .gid = 1001, .home = "/home/alice", .shell = "/bin/zsh"});
  CHECK(entries[2] == PasswdEntry{.name = "last", .uid = 1, .gid = 2, .home = "", .shell = ""});
}

TEST_CASE("parse_passwd: a NUL makes a line worthless, not the file") {
  const std::string text("evil\0:x:0:0::/:/bin/sh\nok:x:3:3::/:/bin/sh\n", 43);
  const auto entries = parse_passwd(text);
  REQUIRE(entries.size() == 1);
  CHECK(entries[0].name == "ok");
}

TEST_CASE("parse_group and parse_subordinate") {
  const auto groups = parse_group("root:x:0:\nbad:x:\nadm:x:4:alice,bob\nodd:x:5:a:b\n");
  REQUIRE(groups.size() == 2);
  CHECK(groups[0] == GroupEntry{.name = "root", .gid = 0});
  CHECK(groups[1] == GroupEntry{.name = "adm", .gid = 4});

  const auto ranges = parse_subordinate("alice:100000:65536\nbob:165536\n1001:x:1\nc:4294967295:9");
  REQUIRE(ranges.size() == 2);
  CHECK(ranges[0] == SubordinateRange{.first = 100000, .count = 65536});
  CHECK(ranges[1] == SubordinateRange{.first = 4294967295u, .count = 9});
}

TEST_CASE("find_user and find_group give the first match") {
  const auto passwd = parse_passwd("root:x:0:0::/root:/bin/sh\ntoor:x:0:0::/:/bin/sh\n");
  REQUIRE(find_user(passwd, 0) != nullptr);
  CHECK(find_user(passwd, 0)->name == "root");
  REQUIRE(find_user(passwd, "toor") != nullptr);
  CHECK(find_user(passwd, 7) == nullptr);
  CHECK(find_user(passwd, "") == nullptr);
  const std::vector<GroupEntry> group = {{.name = "adm", .gid = 4}};
  REQUIRE(find_group(group, "adm") != nullptr);
  CHECK(find_group(group, 4) == find_group(group, "adm"));
  CHECK(find_group(group, 5) == nullptr);
}
