#include "plan/etc_files.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "host/accounts.hpp"
#include "plan/identity.hpp"

using namespace mayfly;
using namespace mayfly::plan;

namespace {

host::HostFacts some_host() {
  host::HostFacts facts;
  facts.passwd = host::parse_passwd(
      "root:x:0:0:root:/root:/bin/bash\n"
      "daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n"
      "alice:x:1000:1000:Alice:/home/alice:/bin/bash\n"
      "nobody:x:65534:65534::/nonexistent:/usr/sbin/nologin\n");
  facts.group = host::parse_group("root:x:0:\ndaemon:x:1:alice\nalice:x:1000:\nnogroup:x:65534:\n");
  return facts;
}

Ids task(std::uint32_t id, const char* user, const char* home) {
  Ids ids;
  ids.task_uid = ids.task_gid = id;
  ids.user = user;
  ids.home = home;
  ids.shell = "/bin/sh";
  return ids;
}

}  // namespace

TEST_CASE("passwd of a task that is root inside: no person of the host is in it") {
  const auto passwd = passwd_file(some_host(), task(0, "root", "/root"));
  REQUIRE(passwd);
  CHECK(*passwd ==
        "root:x:0:0::/root:/bin/sh\n"
        "daemon:x:1:1::/usr/sbin:/usr/sbin/nologin\n"
        "nobody:x:65534:65534::/nonexistent:/usr/sbin/nologin\n");
}

TEST_CASE("passwd of an ordinary caller holds its own line and no other person's") {
  host::HostFacts facts = some_host();
  facts.passwd.push_back(
      {.name = "bob", .uid = 1001, .gid = 1001, .home = "/home/bob", .shell = "/bin/sh"});
  const auto passwd = passwd_file(facts, task(1000, "alice", "/home/alice"));
  REQUIRE(passwd);
  CHECK(*passwd ==
        "root:x:0:0::/root:/bin/sh\n"
        "alice:x:1000:1000::/home/alice:/bin/sh\n"
        "daemon:x:1:1::/usr/sbin:/usr/sbin/nologin\n"
        "nobody:x:65534:65534::/nonexistent:/usr/sbin/nologin\n");
}

TEST_CASE("passwd: the task's own line stands for its account, each name is there once") {
  const auto as_daemon = passwd_file(some_host(), task(1, "daemon", "/home/daemon"));
  REQUIRE(as_daemon);
  CHECK(*as_daemon ==
        "root:x:0:0::/root:/bin/sh\n"
        "daemon:x:1:1::/home/daemon:/bin/sh\n"
        "nobody:x:65534:65534::/nonexistent:/usr/sbin/nologin\n");
  // a person whose name a system account has too
  const auto clash = passwd_file(some_host(), task(1000, "daemon", "/home/daemon"));
  REQUIRE(clash);
  CHECK(clash->find("daemon:x:1:1:") == std::string::npos);
  const auto nobody = passwd_file(some_host(), task(kNobody, "nobody", "/home/nobody"));
  REQUIRE(nobody);
  CHECK(*nobody ==
        "root:x:0:0::/root:/bin/sh\n"
        "nobody:x:65534:65534::/home/nobody:/bin/sh\n"
        "daemon:x:1:1::/usr/sbin:/usr/sbin/nologin\n");
}

TEST_CASE("passwd and group: hostile entries of the host cannot add a line") {
  host::HostFacts facts;
  const auto user = [](std::string name, std::string home, std::string shell) {
    return host::PasswdEntry{.name = std::move(name),
                             .uid = 7,
                             .gid = 7,
                             .home = std::move(home),
                             .shell = std::move(shell)};
  };
  facts.passwd = {user("a\nevil:x:0:0::/:/bin/sh", "/", "/bin/sh"), user("b:x", "/", "/bin/sh"),
                  user("c", "/\nevil:x:0:0::/:/bin/sh", "/bin/sh"), user("d", "/", "/bin/sh:x"),
                  user("good", "/", "/bin/sh")};
  facts.group = {{.name = "g\nroot:x:0:evil", .gid = 7}, {.name = "fine", .gid = 8}};
  const auto passwd = passwd_file(facts, task(0, "root", "/root"));
  REQUIRE(passwd);
  CHECK(*passwd ==
        "root:x:0:0::/root:/bin/sh\n"
        "good:x:7:7::/:/bin/sh\n"
        "nobody:x:65534:65534::/nonexistent:/usr/sbin/nologin\n");
  const auto group = group_file(facts, task(0, "root", "/root"));
  REQUIRE(group);
  CHECK(*group == "root:x:0:\nfine:x:8:\nnogroup:x:65534:\n");
}

TEST_CASE("passwd and group: hostile fields of the task itself are refused") {
  for (Ids ids : {task(1000, "a:b", "/home/a"), task(1000, "a\nb", "/home/a"),
                  task(1000, "a", "/home/a:0"), task(1000, "a", "/home/a\nroot::0:0::/:")}) {
    const auto passwd = passwd_file(some_host(), ids);
    REQUIRE_FALSE(passwd);
    CHECK(passwd.error().action.find("write /etc/passwd for the user") == 0);
    CHECK(passwd.error().action.find('\n') == std::string::npos);
  }
  const auto group = group_file(some_host(), task(1000, "a\nb", "/"));
  REQUIRE_FALSE(group);
  CHECK(group.error().action == "write /etc/group for the user a\\x0ab");
}

TEST_CASE("group: the caller's group keeps its name, a range's person group does not") {
  const auto alice = group_file(some_host(), task(1000, "alice", "/home/alice"));
  REQUIRE(alice);
  CHECK(*alice == "root:x:0:\nalice:x:1000:\ndaemon:x:1:\nnogroup:x:65534:\n");
  Ids stranger = task(1000, "user", "/home/user");  // --user 1000 in a throwaway range
  stranger.range = true;
  const auto user = group_file(some_host(), stranger);
  REQUIRE(user);
  CHECK(*user == "root:x:0:\nuser:x:1000:\ndaemon:x:1:\nnogroup:x:65534:\n");
}

TEST_CASE("hosts: both loopback addresses, and only a host name gets in") {
  const auto hosts = hosts_file("mayfly");
  REQUIRE(hosts);
  CHECK(*hosts == "127.0.0.1 localhost mayfly\n::1 localhost ip6-localhost ip6-loopback mayfly\n");
  const auto local = hosts_file("localhost");
  REQUIRE(local);
  CHECK(*local == "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n");
  for (const char* bad : {"", "a b", "a\n6.6.6.6 example.com", "-a", ".a", "a_b", "grün"}) {
    CAPTURE(bad);
    const auto refused = hosts_file(bad);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().action.find("as a host name") != std::string::npos);
  }
  CHECK_FALSE(hosts_file(std::string(65, 'a')));
}

TEST_CASE("etc_files: all files, readable by everybody") {
  const auto files = etc_files(some_host(), task(0, "root", "/root"), "box");
  REQUIRE(files);
  std::vector<std::string> names;
  for (const Node& file : *files) {
    CHECK(file.kind == Node::Kind::File);
    CHECK(file.mode == 0644);
    CHECK_FALSE(file.data.empty());
    CHECK(file.data.back() == '\n');
    names.push_back(file.path);
  }
  CHECK(names == std::vector<std::string>{"passwd", "group", "hosts", "hostname", "resolv.conf",
                                          "nsswitch.conf"});
  CHECK((*files)[3].data == "box\n");
  CHECK_FALSE(etc_files(some_host(), task(0, "root", "/root"), "two words"));
}

TEST_CASE("without a network no lookup waits") {
  CHECK(resolv_conf().find("\nnameserver 127.0.0.1\noptions attempts:1 timeout:1\n") !=
        std::string::npos);
  const std::string text = nsswitch_conf();
  CHECK(text.find("\nhosts: files\n") != std::string::npos);
  CHECK(text.find("dns") == std::string::npos);
}
