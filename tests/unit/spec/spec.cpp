#include "spec/spec.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace mayfly;
using namespace mayfly::spec;
using namespace std::string_literals;

namespace {

// A spec that is right, and one change that makes it wrong.
struct Case {
  const char* message;
  void (*spoil)(Spec& spec);
};

Spec right() {
  Spec spec;
  spec.argv = {"true"};
  return spec;
}

void add(Spec& spec, FsKind kind, std::string source, std::string target, std::string data = {}) {
  FsEntry entry;
  entry.kind = kind;
  entry.source = std::move(source);
  entry.target = std::move(target);
  entry.data = std::move(data);
  spec.fs.push_back(std::move(entry));
}

}  // namespace

TEST_CASE("validate accepts the defaults and what uses every field") {
  CHECK(validate(right()));
  Spec spec = right();
  spec.argv = {"sh", "", "\xff\n"};
  spec.root = RootKind::Directory;
  spec.root_dir = "/srv/root";
  spec.project_dir = "/home/me/project";
  add(spec, FsKind::Ro, "/a\nb", "/c\xff");
  add(spec, FsKind::Tmpfs, "", "/t");
  add(spec, FsKind::File, "", "/f", "text");
  add(spec, FsKind::File, "/src", "/f");
  add(spec, FsKind::Symlink, "", "/l", "../x:y");
  spec.env = {{.kind = EnvKind::Set, .name = "A.b", .value = "\xff"},
              {.kind = EnvKind::PassPattern, .name = "CI_*", .value = ""}};
  spec.chdir = "/";
  spec.hostname = std::string(64, 'h');
  spec.umask = 0777;
  spec.stdin_kind = StdinKind::File;
  spec.stdin_file = "/in";
  spec.ttl = std::nullopt;
  spec.grace = Nanoseconds::zero();
  spec.limits.pids = 2;
  spec.status_fd = 3;
  spec.result_file = "/r.json";
  spec.name = "job-1.x_Y";
  spec.labels = {{"a/b", "ü"}, {"c", ""}};
  for (const char* user :
       {"", "0", "1000:1000", "4294967294", "build-bot$", "a.b@c:users", "000001"}) {
    CAPTURE(user);
    spec.user = user;
    CHECK(validate(spec));
  }
}

TEST_CASE("validate refuses what cannot be, and says why") {
  const Case cases[] = {
      {"run nothing: no command was given", [](Spec& s) { s.argv.clear(); }},
      {"use '' as a command: its name is empty", [](Spec& s) { s.argv = {""}; }},
      {"use a\\x00b as a word of the command: it has a NUL byte",
       [](Spec& s) { s.argv.push_back("a\0b"s); }},

      {"use '' as a root directory: it is empty", [](Spec& s) { s.root = RootKind::Directory; }},
      {"use x as a project directory: it is not absolute", [](Spec& s) { s.project_dir = "x"; }},

      {"use t as a path inside: it is not absolute",
       [](Spec& s) { add(s, FsKind::Mask, "", "t"); }},
      {"use / as a path inside: it is the root itself",
       [](Spec& s) { add(s, FsKind::Tmpfs, "", "/"); }},
      {"use /a/../b as a path inside: it has a '..'",
       [](Spec& s) { add(s, FsKind::Dir, "", "/a/../b"); }},
      {"use /a//b as a path inside: it is not in its normal form",
       [](Spec& s) { add(s, FsKind::Dir, "", "/a//b"); }},
      {"use /proc/./sys as a path inside: it is not in its normal form",
       [](Spec& s) { add(s, FsKind::Mask, "", "/proc/./sys"); }},
      {"use /a/ as a path on the host: it is not in its normal form",
       [](Spec& s) { add(s, FsKind::Ro, "/a/", "/a"); }},
      {"use '' as a path on the host: it is empty", [](Spec& s) { add(s, FsKind::Rw, "", "/a"); }},
      {"use dev/fuse as a path on the host: it is not absolute",
       [](Spec& s) { add(s, FsKind::Device, "dev/fuse", "/dev/fuse"); }},
      {"use f as a path on the host: it is not absolute",
       [](Spec& s) { add(s, FsKind::File, "f", "/f"); }},
      {"use /f as a file: it has both a text and a source",
       [](Spec& s) { add(s, FsKind::File, "/s", "/f", "t"); }},
      {"use /l as a link: it points nowhere", [](Spec& s) { add(s, FsKind::Symlink, "", "/l"); }},
      {"use a\\x00b as where a link points: it has a NUL byte",
       [](Spec& s) { add(s, FsKind::Symlink, "", "/l", "a\0b"s); }},
      {"use /d as a path inside: its mode is more than 07777",
       [](Spec& s) {
         add(s, FsKind::Dir, "", "/d");
         s.fs.back().mode = 010000;
       }},

      {"use '' as an environment name: it is empty", [](Spec& s) { s.env = {{}}; }},
      {"use A=B as an environment name: it has a '='",
       [](Spec& s) { s.env = {{.kind = EnvKind::PassName, .name = "A=B", .value = {}}}; }},
      {"use a=* as an environment pattern: it has a '='",
       [](Spec& s) { s.env = {{.kind = EnvKind::PassPattern, .name = "a=*", .value = {}}}; }},
      {"use A as an environment name: its value has a NUL byte",
       [](Spec& s) { s.env = {{.kind = EnvKind::Set, .name = "A", .value = "\0"s}}; }},

      {"use src as a working directory inside: it is not absolute",
       [](Spec& s) { s.chdir = "src"; }},
      {"use 1000: as a user: a name in it is empty", [](Spec& s) { s.user = "1000:"; }},
      {"use :1000 as a user: a name in it is empty", [](Spec& s) { s.user = ":1000"; }},
      {"use a\\x00 as a user: it has a NUL byte", [](Spec& s) { s.user = "a\0"s; }},
      {"use 4294967295 as a user: 4294967295 is more than 4294967294",
       [](Spec& s) { s.user = "4294967295"; }},
      {"use bob:99999999999999999999 as a user: 99999999999999999999 is more than 4294967294",
       [](Spec& s) { s.user = "bob:99999999999999999999"; }},
      {"use 1:2:3 as a user: it has more than one ':'", [](Spec& s) { s.user = "1:2:3"; }},
      {"use '' as a host name: it is empty", [](Spec& s) { s.hostname.clear(); }},
      {"use a_b as a host name: only letters, digits, '-' and '.' are allowed",
       [](Spec& s) { s.hostname = "a_b"; }},
      {"use -a as a host name: it does not start with a letter or digit",
       [](Spec& s) { s.hostname = "-a"; }},
      {"use a umask of more than 0777", [](Spec& s) { s.umask = 01000; }},
      {"use in as standard input: it is not absolute",
       [](Spec& s) {
         s.stdin_kind = StdinKind::File;
         s.stdin_file = "in";
       }},

      {"use a time to live that is not above 0", [](Spec& s) { s.ttl = Nanoseconds::zero(); }},
      {"use a grace time below 0", [](Spec& s) { s.grace = Nanoseconds(-1); }},
      {"use 0 as a limit of processes: it is not from 2 to 4194304",
       [](Spec& s) { s.limits.pids = 0; }},
      {"use 4194305 as a limit of processes: it is not from 2 to 4194304",
       [](Spec& s) { s.limits.pids = 4194305; }},
      {"use 0 as a layer size: the least is 64K", [](Spec& s) { s.limits.layer_bytes = 0; }},
      {"use 63 as a limit of inodes: the least is 64", [](Spec& s) { s.limits.layer_inodes = 63; }},
      {"use 1000000000000001 as a limit of inodes: the most is 1000000000000000",
       [](Spec& s) { s.limits.layer_inodes = 1'000'000'000'000'001; }},
      {"limit the processors to 1000001: the most is 1000000",
       [](Spec& s) { s.limits.cpu_thousandths = 1'000'001'000; }},

      {"use 2 as a status descriptor: 0, 1 and 2 belong to the command, which could forge what is "
       "read there",
       [](Spec& s) { s.status_fd = 2; }},
      {"use -2 as a status descriptor: 0, 1 and 2 belong to the command, which could forge what "
       "is read there",
       [](Spec& s) { s.status_fd = -2; }},
      {"use r as a result file: it is not absolute", [](Spec& s) { s.result_file = "r"; }},
      {"use a/b as a sandbox name: only letters, digits, '_', '.' and '-' are allowed",
       [](Spec& s) { s.name = "a/b"; }},
      {"use .a as a sandbox name: it does not start with a letter or digit",
       [](Spec& s) { s.name = ".a"; }},
      {"use '' as a label: its name is empty",
       [](Spec& s) {
         s.labels = {{"", "v"}};
       }},
      {"use 'a b' as a label: its name may have at most 64 letters, digits, '_', '.', '-' and '/'",
       [](Spec& s) {
         s.labels = {{"a b", "v"}};
       }},
      {"use a as a label: its value is not UTF-8",
       [](Spec& s) {
         s.labels = {{"a", "\xff"}};
       }},
      {"use a as a label: its value is longer than 1024 bytes",
       [](Spec& s) {
         s.labels = {{"a", std::string(1025, 'v')}};
       }},
      {"use a as a label: it is there twice",
       [](Spec& s) {
         s.labels = {{"a", "1"}, {"b", ""}, {"a", "2"}};
       }},
  };
  for (const auto& each : cases) {
    const auto& message = each.message;
    const auto& spoil = each.spoil;
    CAPTURE(message);
    Spec spec = right();
    spoil(spec);
    const auto valid = validate(spec);
    REQUIRE_FALSE(valid);
    CHECK(valid.error().kind == ErrorKind::Usage);
    CHECK(valid.error().action == message);
  }
}

TEST_CASE("validate refuses paths and names that no kernel takes") {
  Spec spec = right();
  spec.chdir = "/" + std::string(4095, 'x');
  CHECK(validate(spec).error().action.ends_with("it is longer than 4095 bytes"));
  spec.chdir = "/" + std::string(256, 'x');
  CHECK(validate(spec).error().action.ends_with("a name in it is longer than 255 bytes"));
  spec.chdir = "/" + std::string(255, 'x');
  CHECK(validate(spec));
  spec.hostname = std::string(65, 'h');
  CHECK(validate(spec).error().action.ends_with("it is longer than 64 bytes"));
  spec.hostname = "h";
  spec.name = std::string(65, 'n');
  CHECK(validate(spec).error().action.ends_with("it is longer than 64 bytes"));
}
