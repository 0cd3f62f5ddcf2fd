#include "plan/identity.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "host/accounts.hpp"

using namespace mayfly;
using namespace mayfly::plan;

namespace {

host::HostFacts host_with_accounts() {
  host::HostFacts facts;
  facts.passwd = host::parse_passwd(
      "root:x:0:0:root:/root:/bin/bash\n"
      "games:x:5:60::/usr/games:/usr/sbin/nologin\n"
      "odd:x:998:70000::/:/bin/sh\n"
      "nobody:x:65534:65534::/nonexistent:/usr/sbin/nologin\n"
      "alice:x:1000:1000::/home/alice:/bin/bash\n"
      "bob:x:1001:1002::/home/bob:/bin/zsh\n"
      "../../etc:x:1003:1003::/home/evil:/bin/sh\n");
  facts.group = host::parse_group("root:x:0:\ngames:x:60:\nalice:x:1000:\nstaff:x:1002:\n");
  return facts;
}

host::HostFacts as_root() {
  host::HostFacts facts = host_with_accounts();
  facts.owns_all_ids = true;
  return facts;
}

host::HostFacts as_user(std::uint32_t uid, std::uint32_t gid) {
  host::HostFacts facts = host_with_accounts();
  facts.uid = uid;
  facts.gid = gid;
  return facts;
}

Ids ids_of(const spec::Spec& spec, const host::HostFacts& facts) {
  auto ids = choose_ids(spec, facts);
  REQUIRE_MESSAGE(ids, describe(ids.error()));
  return std::move(ids).value();
}

std::string refusal(const std::string& user, const host::HostFacts& facts,
                    bool unsafe_host_ids = false) {
  spec::Spec spec;
  spec.user = user;
  spec.unsafe.unsafe_host_ids = unsafe_host_ids;
  const auto ids = choose_ids(spec, facts);
  REQUIRE_FALSE(ids);
  CHECK(ids.error().kind == ErrorKind::Usage);
  return describe(ids.error()) + " | " + ids.error().hint;
}

bool says(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("an ordinary caller keeps its one id and cannot drop its groups") {
  const Ids ids = ids_of({}, as_user(1001, 1002));
  CHECK_FALSE(ids.range);
  CHECK(ids.uids == std::vector<IdRange>{{1001, 1001, 1}});
  CHECK(ids.gids == std::vector<IdRange>{{1002, 1002, 1}});
  CHECK(ids.deny_setgroups);
  CHECK(ids.task_uid == 1001);
  CHECK(ids.task_gid == 1002);
  CHECK(ids.init_uid == 1001);
  CHECK(ids.init_gid == 1002);
  CHECK(ids.user == "bob");
  CHECK(ids.home == "/home/bob");
  CHECK(ids.shell == "/bin/sh");  // zsh may not be there
  CHECK(ids_of({}, as_user(1000, 1000)).shell == "/bin/bash");
}

TEST_CASE("a caller without a usable name is called user") {
  CHECK(ids_of({}, as_user(4242, 4242)).user == "user");
  CHECK(ids_of({}, as_user(4242, 4242)).home == "/home/user");
  CHECK(ids_of({}, as_user(1003, 1003)).user == "user");  // "../../etc"
  CHECK(ids_of({}, as_user(1003, 1003)).home == "/home/user");
}

TEST_CASE("root of a container that does not own all ids is an ordinary caller") {
  const Ids ids = ids_of({}, as_user(0, 0));
  CHECK_FALSE(ids.range);
  CHECK(ids.uids == std::vector<IdRange>{{0, 0, 1}});
  CHECK(ids.deny_setgroups);
  CHECK(ids.user == "root");
  CHECK(ids.home == "/root");
}

TEST_CASE("root gives a throwaway range; the task is its root, init has an id of its own") {
  const Ids ids = ids_of({}, as_root());
  CHECK(ids.range);
  CHECK(ids.uids == std::vector<IdRange>{{0, kThrowawayBase, kRangeSize}});
  CHECK(ids.gids == ids.uids);
  CHECK_FALSE(ids.deny_setgroups);
  CHECK(ids.task_uid == 0);
  CHECK(ids.task_gid == 0);
  CHECK(ids.init_uid == kInitId);
  CHECK(ids.init_gid == kInitId);
  CHECK(ids.user == "root");
  CHECK(ids.home == "/root");
  CHECK(ids.shell == "/bin/bash");
}

TEST_CASE("--user in a throwaway range") {
  const auto ids_as = [](const char* user) {
    spec::Spec spec;
    spec.user = user;
    return ids_of(spec, as_root());
  };
  SUBCASE("a system account by name, with its group") {
    const Ids ids = ids_as("games");
    CHECK(ids.task_uid == 5);
    CHECK(ids.task_gid == 60);
    CHECK(ids.user == "games");
    CHECK(ids.home == "/home/games");
    CHECK(ids.shell == "/bin/sh");
  }
  SUBCASE("a number without a name: the group has the same number") {
    const Ids ids = ids_as("1000");  // alice outside, but nobody in particular inside
    CHECK(ids.task_uid == 1000);
    CHECK(ids.task_gid == 1000);
    CHECK(ids.user == "user");
  }
  SUBCASE("user and group") {
    CHECK(ids_as("1000:50").task_gid == 50);
    CHECK(ids_as("nobody:games").task_gid == 60);
    CHECK(ids_as("nobody:nogroup").task_gid == 65534);
    CHECK(ids_as("65535:root").task_gid == 0);
  }
  SUBCASE("nobody and root are always known") {
    CHECK(ids_as("nobody").task_uid == 65534);
    CHECK(ids_as("nobody").user == "nobody");
    CHECK(ids_as("root").task_uid == 0);
    CHECK(ids_as("root").home == "/root");
  }
}

TEST_CASE("--user in a throwaway range: what is refused, and why") {
  CHECK(says(refusal("alice", as_root()), "run as user alice: the sandbox has no such user"));
  CHECK(says(refusal("alice", as_root()), "can be given as a number from 0 to 65535"));
  CHECK(
      says(refusal("1000:staff", as_root()), "run as group staff: the sandbox has no such group"));
  CHECK(says(refusal("65536", as_root()), "run as uid 65536: a sandbox has the ids 0 to 65535"));
  CHECK(says(refusal("65536", as_root()), "or choose a smaller number"));
  CHECK(says(refusal("0:70000", as_root()), "run as gid 70000: a sandbox has the ids 0 to 65535"));
  CHECK(says(refusal("odd", as_root()), "run as gid 70000"));
  CHECK(
      says(refusal("65533", as_root()), "run as uid 65533: that id belongs to the sandbox's init"));
  CHECK(says(refusal("0:65533", as_root()), "run as gid 65533: that id belongs"));
  for (const char* malformed : {":", "a:", ":5"}) {
    CAPTURE(malformed);
    CHECK(says(refusal(malformed, as_root()), "understand the user"));
  }
  for (const char* stranger : {"-1", "4294967295", " root", "root ", "a:b:c", "x\ny"}) {
    CAPTURE(stranger);
    CHECK(says(refusal(stranger, as_root()), "has no such"));
  }
}

TEST_CASE("--user with a root directory of the user's own: the host's accounts say nothing") {
  spec::Spec spec;
  spec.root = spec::RootKind::Directory;
  spec.user = "games";
  const auto refused = choose_ids(spec, as_root());
  REQUIRE_FALSE(refused);
  CHECK(says(describe(refused.error()), "run as user games: the sandbox has no such user"));
  spec.user = "nobody";
  CHECK(ids_of(spec, as_root()).task_uid == kNobody);
  spec.user = "";
  CHECK(ids_of(spec, as_root()).shell == "/bin/sh");  // no promise of a bash there
}

TEST_CASE("--user of an ordinary caller: itself or a refusal") {
  const host::HostFacts alice = as_user(1000, 1000);
  for (const char* own : {"alice", "1000", "1000:1000", "alice:alice", "alice:1000"}) {
    spec::Spec spec;
    spec.user = own;
    CAPTURE(own);
    CHECK(ids_of(spec, alice) == ids_of({}, alice));
  }
  for (const char* other : {"root", "0", "bob", "1001", "alice:staff", "1000:0", "nosuch"}) {
    CAPTURE(other);
    const std::string text = refusal(other, alice);
    CHECK(says(text, "only the caller's own id, 1000:1000, is mapped"));
    CHECK(says(text, "leave out --user, or run mayfly as root"));
  }
}

TEST_CASE("--unsafe-ids=host: the caller's own id, for root too, whose groups are dropped") {
  spec::Spec spec;
  spec.unsafe.unsafe_host_ids = true;
  const Ids root = ids_of(spec, as_root());
  CHECK_FALSE(root.range);
  CHECK(root.uids == std::vector<IdRange>{{0, 0, 1}});
  CHECK_FALSE(root.deny_setgroups);
  CHECK(root.init_uid == 0);
  CHECK(root.taken.empty());
  CHECK(ids_of(spec, as_user(1000, 1000)) == ids_of({}, as_user(1000, 1000)));
  CHECK(says(refusal("games", as_root(), true), "leave out --unsafe-ids=host"));
}

TEST_CASE("taken_ids: subordinate ranges and accounts within the reach of throwaway ranges") {
  host::HostFacts facts = as_root();
  CHECK(taken_ids(facts).empty());                         // ordinary ids are below every range
  facts.subordinate = {{.first = 100000, .count = 65536},  // wholly below
                       {.first = 0x7FFFF, .count = 1},     // just below
                       {.first = 0x7FFFF, .count = 2},     // touches the first range
                       {.first = 0x100000, .count = 65536},
                       {.first = 4294967290u, .count = UINT64_MAX}};
  facts.passwd.push_back(
      {.name = "ldap", .uid = 0x200005, .gid = 0x300005, .home = "/", .shell = ""});
  facts.group.push_back({.name = "ldap", .gid = 0x400000});
  const auto taken = taken_ids(facts);
  const auto has = [&](std::uint32_t first, std::uint32_t count) {
    return std::find(taken.begin(), taken.end(),
                     IdRange{.inside = 0, .outside = first, .count = count}) != taken.end();
  };
  CHECK(taken.size() == 6);
  CHECK(has(0x7FFFF, 2));
  CHECK(has(0x100000, 65536));
  CHECK(has(4294967290u, 5));  // cut at the end of the id space
  CHECK(has(0x200005, 1));
  CHECK(has(0x300005, 1));
  CHECK(has(0x400000, 1));
  CHECK(ids_of({}, facts).taken == taken);
}

TEST_CASE("is_account_name") {
  for (const char* good : {"alice", "a.b-c_d", "svc$", "jörg", "user@domain", "DOM\\user", "x1"}) {
    CAPTURE(good);
    CHECK(is_account_name(good));
  }
  for (const char* bad :
       {"", ".", "..", "a/b", "a:b", "a\nb", "a b", "a,b", "-rf", "\xff", "a\x7f"}) {
    CAPTURE(bad);
    CHECK_FALSE(is_account_name(bad));
  }
  CHECK_FALSE(is_account_name(std::string(65, 'a')));
  CHECK_FALSE(is_account_name(std::string_view("a\0b", 3)));
}
