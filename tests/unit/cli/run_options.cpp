// Each option of `mayfly run` sets its field, and what is wrong is refused with one clear line.
#include <doctest/doctest.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>

#include "cli/say.hpp"
#include "command_line.hpp"

using namespace mayfly;
using namespace mayfly::cli;
using spec::EnvKind;
using spec::FsKind;

namespace {

using List = std::vector<std::string>;

spec::Spec spec_of(List words) {
  words.emplace_back("true");
  const Parsed parsed = read_words(kRunVerb, std::move(words));
  INFO((parsed.result ? std::string() : describe(parsed.result.error())));
  REQUIRE(parsed.result);
  return parsed.request.spec;
}

std::string complaint_about(List words) {
  words.emplace_back("true");
  const Parsed parsed = read_words(kRunVerb, std::move(words));
  REQUIRE_FALSE(parsed.result);
  CHECK(parsed.result.error().kind == ErrorKind::Usage);
  return complaint(parsed.result.error());
}

// A file for --env-file that goes with the test.
class TempFile {
 public:
  explicit TempFile(std::string_view text) {
    const int fd = ::mkstemp(path_);
    REQUIRE(fd >= 0);
    CHECK(::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
    ::close(fd);
  }
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;
  ~TempFile() { ::unlink(path_); }
  [[nodiscard]] std::string path() const { return path_; }

 private:
  char path_[32] = "/tmp/mayfly-test-XXXXXX";
};

}  // namespace

TEST_CASE("without options the spec is the default with a command") {
  spec::Spec expected;
  expected.argv = {"true"};
  CHECK(spec_of({}) == expected);
}

TEST_CASE("each option sets its field and no other") {
  const struct {
    List words;
    void (*set)(spec::Spec& spec);
  } cases[] = {
      {{"--root", "host"}, [](spec::Spec&) {}},
      {{"--root", "empty"}, [](spec::Spec& s) { s.root = spec::RootKind::Empty; }},
      {{"--root", "./host"},
       [](spec::Spec& s) {
         s.root = spec::RootKind::Directory;
         s.root_dir = "/home/dir/host";
       }},
      {{"--project", "ro:sub"},
       [](spec::Spec& s) {
         s.project = spec::ProjectMode::Ro;
         s.project_is_asked = true;
         s.project_dir = "/home/dir/sub";
       }},
      {{"--project=none"},
       [](spec::Spec& s) {
         s.project = spec::ProjectMode::None;
         s.project_is_asked = true;
       }},
      {{"--chdir", "/a//b/"}, [](spec::Spec& s) { s.chdir = "/a/b"; }},
      {{"--user", "1:2"}, [](spec::Spec& s) { s.user = "1:2"; }},
      {{"-u", "bob"}, [](spec::Spec& s) { s.user = "bob"; }},
      {{"--hostname", "h"}, [](spec::Spec& s) { s.hostname = "h"; }},
      {{"--umask", "077"}, [](spec::Spec& s) { s.umask = 077; }},
      {{"--stdin", "inherit"}, [](spec::Spec&) {}},
      {{"--stdin", "null"}, [](spec::Spec& s) { s.stdin_kind = spec::StdinKind::Null; }},
      {{"--stdin", "./null"},
       [](spec::Spec& s) {
         s.stdin_kind = spec::StdinKind::File;
         s.stdin_file = "/home/dir/null";
       }},
      {{"--ttl", "1.5m"}, [](spec::Spec& s) { s.ttl = std::chrono::seconds(90); }},
      {{"--ttl", "0"}, [](spec::Spec& s) { s.ttl.reset(); }},
      {{"--grace", "0"}, [](spec::Spec& s) { s.grace = spec::Nanoseconds::zero(); }},
      {{"--grace", "300ms"}, [](spec::Spec& s) { s.grace = std::chrono::milliseconds(300); }},
      {{"--linger"}, [](spec::Spec& s) { s.linger = true; }},
      {{"--keep-running"}, [](spec::Spec& s) { s.keep_running = true; }},
      {{"--pids", "24"}, [](spec::Spec& s) { s.limits.pids = 24; }},
      {{"--layer-size", "1G"}, [](spec::Spec& s) { s.limits.layer_bytes = 1u << 30; }},
      {{"--layer-inodes", "300"}, [](spec::Spec& s) { s.limits.layer_inodes = 300; }},
      {{"--name", "n"}, [](spec::Spec& s) { s.name = "n"; }},
      {{"--status-fd", "9"}, [](spec::Spec& s) { s.status_fd = 9; }},
      {{"--result", "r.json"}, [](spec::Spec& s) { s.result_file = "/home/dir/r.json"; }},
      {{"--quiet"}, [](spec::Spec& s) { s.quiet = true; }},
      {{"--keep-caps"}, [](spec::Spec& s) { s.unsafe.unsafe_keep_caps = true; }},
      {{"--unsafe-ids=host"}, [](spec::Spec& s) { s.unsafe.unsafe_host_ids = true; }},
      {{"--unsafe-nesting"}, [](spec::Spec& s) { s.unsafe.unsafe_nesting = true; }},
      {{"--unsafe-sockets"}, [](spec::Spec& s) { s.unsafe.unsafe_sockets = true; }},
      {{"--unsafe-tty"}, [](spec::Spec& s) { s.unsafe.unsafe_tty = true; }},
  };
  for (const auto& each : cases) {
    const auto& words = each.words;
    const auto& set = each.set;
    CAPTURE(words[0]);
    spec::Spec expected;
    expected.argv = {"true"};
    set(expected);
    CHECK(spec_of(words) == expected);
  }
}

TEST_CASE("given twice: the last scalar wins, whole; lists keep their order") {
  CHECK(spec_of({"--ttl", "5", "--ttl", "0"}).ttl == std::nullopt);
  CHECK(spec_of({"--root", "/r", "--root", "host"}) == spec_of({}));
  CHECK(spec_of({"--project", "ro:/p", "--project", "cow"}) == spec_of({"--project", "cow"}));
  CHECK(spec_of({"--stdin", "f", "--stdin", "inherit"}) == spec_of({}));

  const spec::Spec files =
      spec_of({"--ro",   "/a",    "--tmpfs",  "/t",        "--file", "/f=x",      "--rw",
               "b:/b",   "--dir", "/d",       "--cow",     "/c",     "--symlink", "/l=x",
               "--mask", "/m:\\", "--device", "/dev/fuse", "--ro",   "/a"});
  const FsKind kinds[] = {FsKind::Ro,  FsKind::Tmpfs,   FsKind::File, FsKind::Rw,     FsKind::Dir,
                          FsKind::Cow, FsKind::Symlink, FsKind::Mask, FsKind::Device, FsKind::Ro};
  REQUIRE(files.fs.size() == std::size(kinds));
  for (std::size_t i = 0; i < std::size(kinds); ++i)
    CHECK(files.fs[i].kind == kinds[i]);
  CHECK(files.fs[3].source == "/home/dir/b");
  CHECK(files.fs[7].target == "/m:\\");  // a path alone needs no escapes
  CHECK(files.fs[8].source == "/dev/fuse");
  CHECK(files.fs[8].target == "/dev/fuse");

  const spec::Spec labels = spec_of({"--label", "a=1", "--label", "b=2", "--label", "a=3"});
  CHECK(labels.labels == std::vector<std::pair<std::string, std::string>>{{"a", "3"}, {"b", "2"}});
}

TEST_CASE("rules for the environment stay in the order of the command line, files included") {
  const TempFile file("F=1\n# no\nG=\n");
  const spec::Spec spec =
      spec_of({"--env", "A=1", "--env-file", file.path(), "--pass-env", "CI_*", "--env", "HOME"});
  const std::vector<spec::EnvRule> expected = {
      {.kind = EnvKind::Set, .name = "A", .value = "1"},
      {.kind = EnvKind::Set, .name = "F", .value = "1"},
      {.kind = EnvKind::Set, .name = "G", .value = ""},
      {.kind = EnvKind::PassPattern, .name = "CI_*", .value = ""},
      {.kind = EnvKind::PassName, .name = "HOME", .value = ""},
  };
  CHECK(spec.env == expected);

  const TempFile bad("A=1\nB\n");
  CHECK(complaint_about({"--env-file", bad.path()}) ==
        "mayfly: cannot read the environment file: " + bad.path() +
            ":2: there is no '=' (--env-file)\n"
            "hint: each line is NAME=VALUE, or a comment that begins with #\n");
  const std::string missing = complaint_about({"--env-file", "/no/such/file"});
  CHECK(missing.find("/no/such/file") != std::string::npos);
  CHECK(missing.find("(ENOENT)") != std::string::npos);
}

TEST_CASE("bad values: one line that names value and option, and a hint") {
  const struct {
    List words;
    const char* text;
  } cases[] = {
      {{"--ttl", "10x"},
       "mayfly: cannot read 10x as a duration: x is not a unit (--ttl)\n"
       "hint: a number with ns, us, ms, s, m, h or d, like 300ms, 1.5h or 2d; without a unit it is "
       "seconds\n"},
      {{"--grace", "-1"},
       "mayfly: cannot read -1 as a duration: a sign is not allowed (--grace)\n"
       "hint: a number with ns, us, ms, s, m, h or d, like 300ms, 1.5h or 2d; without a unit it is "
       "seconds\n"},
      {{"--layer-size", "lots"},
       "mayfly: cannot read lots as a size: it does not start with a digit (--layer-size)\n"
       "hint: a number with K, M, G or T (powers of 1024), like 64K or 1.5G; without a unit it is "
       "bytes\n"},
      {{"--layer-size", "0"},
       "mayfly: cannot use 0 as a layer size: the least is 64K\n"
       "hint: without a unit it is bytes: write 64M for 64 MiB; the default is 512M\n"},
      {{"--pids", ""},
       "mayfly: cannot read '' as a number: it is empty (--pids)\n"
       "hint: a whole number from 2 to 4194304\n"},
      {{"--pids", "0"},
       "mayfly: cannot use 0 as a limit of processes: it is not from 2 to 4194304\n"
       "hint: the sandbox's init is one, the command the second; the default is 512; a build with "
       "many processes takes some thousands\n"},
      {{"--umask", "9"},
       "mayfly: cannot read 9 as a mode: 9 is not an octal digit (--umask)\n"
       "hint: octal permission bits, like 644 or 0700\n"},
      {{"--umask", "1000"},
       "mayfly: cannot use a umask of more than 0777\n"
       "hint: octal permission bits, like 022\n"},
      {{"--status-fd", "-1"},
       "mayfly: cannot read -1 as a number: a sign is not allowed (--status-fd)\n"
       "hint: the number of an open descriptor, from 3 on\n"},
      {{"--status-fd", "1"},
       "mayfly: cannot use 1 as a status descriptor: 0, 1 and 2 belong to the command, which could "
       "forge what is read there\n"
       "hint: use 3 or more, and open it: mayfly run --status-fd 3 ... 3>FILE\n"},
      {{"--label", "no-value"},
       "mayfly: cannot read no-value: there is no '=' (--label)\n"
       "hint: write it KEY=VALUE\n"},
      {{"--label", "a b=c"},
       "mayfly: cannot use 'a b' as a label: its name may have at most 64 letters, digits, '_', "
       "'.', '-' and '/'\n"
       "hint: choose another name\n"},
      {{"--env", "=x"},
       "mayfly: cannot use '' as an environment name: it is empty (--env)\n"
       "hint: write NAME=VALUE, or NAME for the caller's; a variable in its place may be unset\n"},
      {{"--pass-env", ""},
       "mayfly: cannot use '' as an environment pattern: it is empty (--pass-env)\n"
       "hint: write NAME=VALUE, or NAME for the caller's; a variable in its place may be unset\n"},
      {{"--result", "-"},
       "mayfly: cannot write the result to -: standard output is the command's (--result)\n"
       "hint: --status-fd N writes it to a descriptor; a file of that name is ./-\n"},
      {{"--name", "a/b"},
       "mayfly: cannot use a/b as a sandbox name: only letters, digits, '_', '.' and '-' are "
       "allowed\n"
       "hint: at most 64 letters, digits, '_', '.' and '-', the first a letter or digit\n"},
      {{"--hostname", "a b"},
       "mayfly: cannot use 'a b' as a host name: only letters, digits, '-' and '.' are allowed\n"
       "hint: at most 64 letters, digits, '-' and '.', the first a letter or digit\n"},
      {{"--unsafe-ids=guest"},
       "mayfly: cannot read guest: the only choice is host (--unsafe-ids)\n"
       "hint: write --unsafe-ids=host\n"},
      {{"--project", "sideways"},
       "mayfly: cannot read sideways: sideways is not a way to show the project (--project)\n"
       "hint: one of cow, rw, ro and none, then :DIR if it is not here\n"},
      {{"--tmpfs", "relative"},
       "mayfly: cannot use relative as a path inside: it is not absolute (--tmpfs relative)\n"
       "hint: write it from / on\n"},
      {{"--mask", ""},
       "mayfly: cannot use '' as a path inside: it is empty (--mask '')\n"
       "hint: write it from / on\n"},
      {{"--ro", "/a:b"},
       "mayfly: cannot use b as a path inside: it is not absolute (--ro /a:b)\n"
       "hint: write it from / on; a ':' in the host's path is written \\:\n"},
      {{"--cow", "a:b"},
       "mayfly: cannot use b as a path inside: it is not absolute (--cow /home/dir/a:b)\n"
       "hint: write it from / on; a ':' in the host's path is written \\:\n"},
      {{"--file", "f=secret"},
       "mayfly: cannot use f as a path inside: it is not absolute (--file f=...)\n"
       "hint: write it from / on\n"},
      {{"--dir", "/:700"},
       "mayfly: cannot use / as a path inside: it is the root itself (--dir /:0700)\n"
       "hint: --root chooses what the root is\n"},
      {{"--memory", "4G", "--layer-size", "8G"},
       "mayfly: cannot limit memory to 4G: the layer and the tmpfs mounts, which are memory, could "
       "hold 8G\n"
       "hint: raise --memory, or lower the layer, as by --layer-size 2G, so that a full one is an "
       "error (ENOSPC) to the command and not its death\n"},
      {{"--ro", "/a:/b/../c"},
       "mayfly: cannot use /b/../c as a path inside: it has a '..' (--ro /a:/b/../c)\n"
       "hint: write the path without it\n"},
      {{"--rw", "/"},
       "mayfly: cannot use / as a path inside: it is the root itself (--rw /)\n"
       "hint: --root chooses what the root is\n"},
      {{"--device", "fuse"},
       "mayfly: cannot use fuse as a path inside: it is not absolute (--device fuse)\n"
       "hint: write it from / on\n"},
      {{"--chdir", "sub"},
       "mayfly: cannot use sub as a working directory inside: it is not absolute\n"
       "hint: write it from / on\n"},
      {{"--root", ""},
       "mayfly: cannot use '' as a path: it is empty (--root)\n"
       "hint: write a path; a variable in its place may be unset\n"},
      {{"--stdin", ""},
       "mayfly: cannot use '' as a path: it is empty (--stdin)\n"
       "hint: write a path; a variable in its place may be unset\n"},
  };
  for (const auto& each : cases) {
    const auto& words = each.words;
    const auto& text = each.text;
    CAPTURE(words[0]);
    CHECK(complaint_about(words) == text);
  }
}

TEST_CASE("no command, and an empty one") {
  const Parsed none = read_words(kRunVerb, {"--ttl", "5"});
  CHECK(complaint(none.result.error()) ==
        "mayfly: cannot run nothing: no command was given\n"
        "hint: write the command after the options: mayfly run [OPTION...] COMMAND\n");
  const Parsed dashes = read_words(kRunVerb, {"--"});
  CHECK(dashes.result.error() == none.result.error());
  const Parsed empty = read_words(kRunVerb, {""});
  CHECK(complaint(empty.result.error()) ==
        "mayfly: cannot use '' as a command: its name is empty\n"
        "hint: name a program; a variable in its place may be unset\n");
}

TEST_CASE("a working directory that is gone matters only to relative paths") {
  CHECK(read_words(kRunVerb, {"--ro", "/a", "true"}, "").result);
  const Parsed relative = read_words(kRunVerb, {"--ro", "a", "true"}, "");
  CHECK(complaint(relative.result.error()) ==
        "mayfly: cannot resolve a: the working directory does not exist or cannot be read (--ro)\n"
        "hint: write the path from / on, or change to another directory\n");
}

TEST_CASE("unsafe choices are in Unsafe, and nowhere by default") {
  CHECK(spec::Spec().unsafe == spec::Unsafe());
  CHECK_FALSE(spec::Unsafe().unsafe_keep_caps);
  CHECK(spec_of({}).unsafe == spec::Unsafe());
}
