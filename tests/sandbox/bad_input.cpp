// Wrong requests: each is refused before anything starts, with words that name what is wrong. And
// requests that only look wrong.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "harness/host.hpp"
#include "harness/sandbox.hpp"
#include "harness/suite.hpp"

using namespace harness;

namespace {

struct Wrong {
  Words options;
  const char* words;  // of the message, which is one line and a hint
};

void check_refused(const Wrong& wrong) {
  CAPTURE(joined(wrong.options));
  const Ended ended = sh("echo started", wrong.options);
  CAPTURE(ended.err);
  CHECK(ended.code == 125);
  CHECK(ended.out.empty());
  CHECK(ended.err.starts_with("mayfly: cannot "));
  CHECK(contains(ended.err, wrong.words));
  const std::size_t said = lines(ended.err).size();
  CHECK(said == 2);  // SECURITY.md promises a remedy with each
  if (said != 2) return;
  CHECK(lines(ended.err)[1].starts_with("hint: "));
  CHECK(lines(ended.err)[1].size() > 10);
}

// `count` times the words that `make` gives for a number.
template <class Make>
Words many(int count, Make make) {
  Words words;
  for (int i = 0; i < count; ++i) {
    const Words more = make(i);
    words.insert(words.end(), more.begin(), more.end());
  }
  return words;
}

// The kernel lets a quarter of this be arguments, and at most 6 MiB.
void raise_stack_limit() {
  const rlimit limit = {64u << 20, 64u << 20};
  ::setrlimit(RLIMIT_STACK, &limit);
}

}  // namespace

TEST_CASE("durations, sizes and numbers that are none: the message shows what was read") {
  for (const Wrong& wrong : {
           Wrong{{"--ttl", "10x"}, "10x as a duration: x is not a unit (--ttl)"},
           {{"--ttl", "-1"}, "-1 as a duration: a sign is not allowed (--ttl)"},
           {{"--ttl", ""}, "'' as a duration: it is empty"},
           {{"--ttl", "1\n0"}, "1\\x0a0 as a duration"},
           {{"--ttl", "99999999999999999999"}, "it is more than 9223372036s"},
           {{"--grace", "-1"}, "-1 as a duration"},
           {{"--layer-size", "10x"}, "10x as a size: x is not a unit"},
           {{"--layer-size", "-1"}, "-1 as a size: a sign is not allowed"},
           {{"--layer-size", "99999999999T"}, "it is more than 9223372036854775807 bytes"},
           {{"--layer-inodes", "-1"}, "-1 as a number: a sign is not allowed"},
           {{"--tmpfs", "/x:size=10x"}, "10x as a size"},
           {{"--tmpfs", "/x:mode=9"}, "9 is not an octal digit"},
           {{"--dir", "/x:-1"}, "-1 as a mode"},
           {{"--pids", "99999999999999999999"}, "it is more than 4194304"},
           {{"--pids", "0"}, "it is not from 2 to"},
           {{"--layer-size", "1"}, "the least is 64K"},
           {{"--env", "1X=2"}, "use 1X as an environment name"},
           {{"--status-fd", "-1"}, "-1 as a number"},
           {{"--status-fd", "99999999999"}, "it is more than 2147483647"},
           {{"--umask", "99"}, "9 is not an octal digit"},
       })
    check_refused(wrong);
}

TEST_CASE("unknown options, options without their argument, arguments without an option") {
  for (const Wrong& wrong : {
           Wrong{{"--no-such-option"}, "unknown option --no-such-option"},
           {{"--tll", "5s"}, "unknown option --tll"},
           {{"--tt", "5s"}, "unknown option --tt"},  // no abbreviations
           {{"-Z"}, "unknown option -Z"},
           {{"--quiet=yes"}, "--quiet takes no argument"},
       })
    check_refused(wrong);
  const Finished last = Command({mayfly_path(), "run", "--ttl"}).run();
  CHECK(last.code == 125);
  CHECK(contains(last.err, "--ttl needs an argument: "));
}

TEST_CASE("paths of the wrong kind are refused by name: directories, files, what is no device") {
  const TempDir host;
  const std::string file = host.file("file", "x");
  for (const Wrong& wrong : {
           Wrong{{"--file", "/x=@" + host.path()}, "Is a directory (EISDIR)"},
           {{"--stdin", host.path()}, "it is a directory"},
           {{"--env-file", host.path()}, "Is a directory (EISDIR)"},
           {{"--env-file", "/no/such/file"}, "/no/such/file"},
           {{"--stdin", "/no/such/file"}, "use /no/such/file of the host (--stdin)"},
           {{"--project", "cow:" + file}, "as the project: it is not a directory"},
           {{"--project", "cow:/no/such"}, "use /no/such of the host (--project)"},
           {{"--root", "/no/such"}, "use /no/such of the host (--root)"},
           {{"--ro", "/no/such:/x"}, "use /no/such of the host (--ro)"},
           {{"--device", "/dev/no-such"}, "use /dev/no-such of the host (--device)"},
           {{"--ro", file + ":/proc/x"}, "/proc/x"},
           {{"--ro", "/proc:/p"}, "/proc"},
           {{"--ro", "/dev/null:/x"},
            "it is a device (--ro /dev/null:/x)\nhint: --device /dev/null shows one"},
           {{"--ro", "/proc/1:/x"}, "hint: the sandbox has its own /proc; copy"},
           {{"--ro", "/dev/pts:/x"}, "hint: the sandbox has its own /dev/pts; --tty yes"},
           {{"--ro", "/a:b"}, "(--ro /a:b)\nhint: write it from / on; a ':' in the host's path"},
           {{"--policy", "build", "--memory", "4G"}, "hold 8G (layer-size at stock policy build:"},
           {{"--policy", "build", "--memory", "4G"}, "as by --layer-size 2G"},
           {{"--print-spec", "--tmpfs", "z"}, "it is not absolute (--tmpfs z)"},
           {{"--result", "-"}, "a file of that name is ./-"},
           {{"--json"}, "hint: before run it is an option of explain"},
           {{"--user", ""}, "run as user '': it is empty"},
           {{"--chdir", ""}, "start in '': it is empty"},
           {{"--ro", file + ":/l", "--symlink", "/l=x"}, "so that /l is there already"},
           {{"--deny-syscalls", "process"}, "hint: leave the group process allowed"},
           {{"--ro", file + ":/x,rw"}, "there are no settings behind a path"},
           {{"--mask", "/bin"}, "mask /bin"},
           {{"--root", file}, "Not a directory (ENOTDIR)"},
           {{"--result", host.path()}, "it is a directory"},
           {{"--result", host / "no/such/place"}, "No such file or directory (ENOENT)"},
           {{"--device", host.path()}, "as a device: it is none"},
           {{"--device", file}, "as a device: it is none"},
           {{"--ro", file + "/below"}, "Not a directory (ENOTDIR)"},
           {{"--ro", ""}, "'' as a path: it is empty"},
       })
    check_refused(wrong);
}

TEST_CASE(
    "a symbolic link in the project in the place of a mount is told with its option and target") {
  for (const std::string option : {"--ro", "--rw", "--cow"}) {
    CAPTURE(option);
    Run linked({option, "build"}, {"true"});
    const std::string real = linked.project().dir("real");
    std::filesystem::create_directory_symlink(real, linked.project() / "build");
    const Ended ended = linked.end();
    CHECK(ended.code == 125);
    CHECK(contains(ended.err, "(" + option + " " + (linked.project() / "build") + ")"));
    CHECK(contains(ended.err, "name where it leads, " + real + "\n"));
  }
}

TEST_CASE("a file that is read is told with the option that names it, and with its own bound") {
  const TempDir host;
  const std::string large = host.file("large", std::string(2u << 20, ' ') + "{}");
  for (const std::string option : {"--seccomp", "--env-file", "--spec"}) {
    CAPTURE(option);
    const std::string named = "(" + option + ")";
    check_refused({{option, "/no/such/file"}, ("open /no/such/file " + named).c_str()});
    check_refused({{option, host.path()}, ("read " + host.path() + " " + named).c_str()});
    check_refused({{option, large}, ("more than 1048576 bytes " + named).c_str()});
    check_refused({{option, "/dev/zero"}, "name a smaller file"});
  }
}

TEST_CASE("a seccomp profile that is wrong or missing is told as one, with its whole path") {
  const TempDir host;
  const std::string wrong = host.file("wrong.json", "garbage");
  check_refused(
      {{"--seccomp", wrong},
       ("cannot read the seccomp profile " + wrong + ":1:1: no value begins so (--seccomp)")
           .c_str()});
  const std::string policy = host.file("p.toml", "seccomp = 'none.json'\n");
  Command command({mayfly_path(), "run", "-p", policy, "true"});
  command.cwd(host.path());
  const Finished finished = command.run();
  CHECK(contains(finished.err, "cannot open " + host.path() + "/none.json (seccomp at " + policy));
}

TEST_CASE("a result that names a directory is refused, whatever is there, and a long name once") {
  const TempDir host;
  for (const std::string& path : {host / "missing", host.file("file", "kept"), host.dir("dir")}) {
    for (const char* end : {"/", "/.", "/.."})
      check_refused({{"--result", path + end}, "that is the name of a directory"});
  }
  CHECK_FALSE(exists(host / "missing"));
  CHECK(read_file(host / "file") == "kept");
  const Finished named =
      Command({mayfly_path(), "run", "--result", host / std::string(256, 'x'), "true"}).run();
  CHECK(named.code == 125);
  CHECK(contains(named.err, "its name is longer than 255 bytes\nhint: choose a shorter one\n"));
  CHECK(named.err.find("mayfly: ") == named.err.rfind("mayfly: "));
  check_refused({{"--root", "/"}, "hint: --root host"});
  check_refused({{"--project", "rw:/"}, "as the project: it is the root of the host"});
}

TEST_CASE("a terminal or a FIFO in the place of a file is refused at once, whatever leads to it") {
  const TempDir host;
  const Fd screen(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  REQUIRE(screen);
  REQUIRE(::unlockpt(screen.get()) == 0);
  char name[64];
  REQUIRE(::ptsname_r(screen.get(), name, sizeof name) == 0);
  REQUIRE(::symlink(name, (host / "terminal").c_str()) == 0);
  REQUIRE(::mkfifo((host / "fifo").c_str(), 0600) == 0);
  for (const std::string option : {"--env-file", "--spec", "--seccomp", "--file"}) {
    CAPTURE(option);
    const std::string before = option == "--file" ? "/x=@" : "";
    for (const std::string& path : {host / "terminal", host / "fifo"}) {
      const std::string what = path == host / "fifo" ? "FIFO" : "terminal";
      const std::string words = "it is a " + what + ", which may never end (" + option;
      check_refused({{option, before + path}, words.c_str()});
      check_refused({{option, before + path}, "hint: name a file, or use a process"});
    }
  }
  check_refused({{"--policy", host / "fifo"}, "no regular file"});
}

TEST_CASE("what a process substitution says is read as a file") {
  const TempDir host;
  const std::string script =
      "exec 8< <(echo A=said); exec \"$0\" run --project none --env-file /dev/fd/8 --file "
      "/copy=@<(echo copied) -- sh -c 'echo $A; cat /copy'";
  const Finished ended = Command({"/bin/bash", "-c", script, mayfly_path()}).run();
  CHECK(ended.err == "");
  CHECK(ended.out == "said\ncopied\n");
  // Its relative paths begin where the caller is, as on the command line.
  host.file("there", "found");
  const Finished named = Command({"/bin/bash", "-c",
                                  "exec \"$0\" run --project none --spec <(echo 'command = "
                                  "[\"cat\", \"/copy\"]'; echo 'mounts = [{ file = "
                                  "\"/copy=@there\" }]')",
                                  mayfly_path()})
                             .cwd(host.path())
                             .run();
  CHECK(named.err == "");
  CHECK(named.out == "found");
  const Finished typed = Command({mayfly_path(), "run", "--project", "none", "--spec", "-"})
                             .in("command = ['echo', 'x']")
                             .run();
  CHECK(typed.out == "x\n");
}

TEST_CASE("a value of a policy that only a start finds wrong is told with its place") {
  const TempDir host;
  struct Line {
    const char* text;
    const char* said;
  };
  for (const Line& line : {
           Line{"mounts = [ { mask = '/x' }, { ro = '/no/such' } ]", "(ro at FILE:1:36)"},
           {"mounts = [ { file = '/x=@/no/such' } ]", "(file at FILE:1:21)"},
           {"user = 'no-such'", "(user at FILE:1:8)"},
           {"user = ''", "cannot read FILE:1:8: user: "},
           {"syscalls = { deny = ['process'] }", "(syscalls at FILE:1:22)"},
           {"root = 'no-such'", "(root at FILE:1:8)"},
           {"seccomp = 'no-such'", "(seccomp at FILE:1:11)"},
           {"stdin = 'no-such'", "(stdin at FILE:1:9)"},
           {"rlimits = { stack = 1048576, nofile = 'unlimited' }", "(rlimits.nofile at FILE:1:39)"},
           {"seccomp = 'p.toml'", "(seccomp at FILE:1:11)"},
       }) {
    CAPTURE(line.text);
    const std::string file = host.file("p.toml", std::string(line.text) + "\n");
    const std::string derived = host.file("derived.toml", "extends = './p.toml'\n");
    std::string wanted = line.said;
    wanted.replace(wanted.find("FILE"), 4, file);
    check_refused({{"--policy", derived}, wanted.c_str()});
  }
  const std::string file = host.file("p.toml", "root = 'no-such'\n");
  check_refused({{"--policy", file, "--root", "/no/such"}, "(--root)"});
  check_refused({{"--rlimit", "nofile=unlimited"}, "(--rlimit)"});
}

TEST_CASE("what the caller may not read is refused by name") {
  if (is_root()) return;  // there is nothing that root may not read
  const TempDir host;
  const std::string closed = host.file("closed", "x", 0000);
  for (const Wrong& wrong : {
           Wrong{{"--file", "/x=@" + closed}, "Permission denied (EACCES)"},
           {{"--stdin", closed}, "Permission denied (EACCES)"},
           {{"--env-file", closed}, "Permission denied (EACCES)"},
           {{"--ro", "/root/something"}, "Permission denied (EACCES)"},
           {{"--ro", "/root"}, "Permission denied (EACCES)"},
           {{"--cow", "/root:/x"}, "Permission denied (EACCES)"},
       })
    check_refused(wrong);
  host.dir("mine");
  REQUIRE(::chmod((host / "mine").c_str(), 0) == 0);
  CHECK(run({"--ro", (host / "mine") + ":/mine"}, {"/bin/true"}).code == 0);
  REQUIRE(::chmod((host / "mine").c_str(), 0700) == 0);
}

TEST_CASE("names with a newline or with bytes that are no UTF-8 are shown so that one can see it") {
  for (const Wrong& wrong : {
           Wrong{{"--name", "a\nb"}, "use a\\x0ab as a sandbox name"},
           {{"--name", "a\xff"}, "use a\\xff as a sandbox name"},
           {{"--hostname", "a\nb"}, "use a\\x0ab as a host name"},
           {{"--label", "a\n=b"}, "use a\\x0a as a label"},
           {{"--label", "a=\xff"}, "its value is not UTF-8"},
           {{"--user", "ro\not"}, "run as user ro\\x0aot"},
           {{"--ro", "/no/such\nthing"}, "/no/such\\x0athing"},
           {{"--ro", "/no/such\xff"}, "/no/such\\xff"},
           {{"--chdir", "/a\nb"}, "start in /a\\x0ab"},
       })
    check_refused(wrong);
  const Ended missing = run({}, {"no\nsuch\xff"});
  CHECK(missing.code == 127);
  CHECK(contains(missing.err, "run no\\x0asuch\\xff in the sandbox"));
}

TEST_CASE("a path with a newline and bytes that are no UTF-8 works as any other") {
  const TempDir host;
  const std::string odd = "line\nbreak \xff\xfe:=\\";
  host.file(odd + "/file", "content");
  std::string escaped;
  for (const char c : host / odd) {
    if (c == ':' || c == '=' || c == '\\') escaped += '\\';
    escaped += c;
  }
  Run shown(
      {"--ro", escaped, "--cow", escaped + ":/mine", "--label", "odd=é\n"},
      {"/bin/sh", "-c", "cat \"$0/file\"; echo more >> /mine/file; cat /mine/file", host / odd});
  const Ended ended = shown.end();
  CAPTURE(ended.err);
  CHECK(ended.code == 0);
  CHECK(ended.out == "contentcontentmore\n");
  CHECK(ended.result.at("labels").at("odd") == "é\n");
}

TEST_CASE("arguments and environment beyond 2 MiB arrive, what the kernel cannot take is refused") {
  const std::string long_word(100'000, 'x');
  const auto count_words = [&](int count) {
    Words task = {"/bin/sh", "-c", "echo $#", "sh"};
    for (int i = 0; i < count; ++i)
      task.push_back(long_word);
    Run run({}, task);
    run.command.before_exec(raise_stack_limit);
    return run.end();
  };
  for (const int count : {20, 30, 58}) {  // 2, 3 and 5.8 MB
    const Ended ended = count_words(count);
    CAPTURE(ended.err);
    CHECK(ended.code == 0);
    CHECK(ended.out == std::to_string(count) + "\n");
  }
  // With --env the same bytes are in the program's own arguments first.
  const auto with_variables = [&](int count, void (*before)()) {
    Run run(many(count,
                 [&](int i) {
                   return Words{"--env", "V" + std::to_string(i) + "=" + long_word};
                 }),
            {"/bin/sh", "-c", "echo ${#V0}"});
    if (before != nullptr) run.command.before_exec(before);
    return run.end();
  };
  CHECK(with_variables(30, raise_stack_limit).out == "100000\n");

  Run too_long({"--env-file", "0", "--env-file", "1", "--env-file", "2"}, {"/bin/true"});
  for (int i = 0; i < 30; ++i) {
    const std::string path = too_long.project() / std::to_string(i / 10);
    const std::string others = i % 10 == 0 ? "" : read_file(path);
    too_long.project().file(std::to_string(i / 10),
                            others + "V" + std::to_string(i) + "=" + long_word + "\n");
  }
  too_long.command.before_exec([] {
    const rlimit usual = {8u << 20, 8u << 20};
    ::setrlimit(RLIMIT_STACK, &usual);
  });
  const Ended refused = too_long.end();
  CAPTURE(refused.err);
  CHECK(refused.code == 125);
  CHECK(contains(refused.err, "the arguments and the environment together is"));
  CHECK(contains(refused.err, "hint: "));

  Run one_too_long({"--env-file", "variables"}, {"/bin/true"});
  one_too_long.project().file("variables", "BIG=" + std::string(200'000, 'x') + "\n");
  const Ended one = one_too_long.end();
  CHECK(one.code == 125);
  CHECK(contains(one.err, "the environment variable BIG is 200004 bytes long"));
}

TEST_CASE("100,000 words or options: in seconds they work, or are refused as too many") {
  const auto timed = [](const Words& options, const Words& task) {
    Run run(options, task);
    run.command.before_exec(raise_stack_limit);
    const Ended ended = run.end();
    CAPTURE(ended.err);
    CHECK_FALSE(ended.timed_out);
    CHECK(ended.exited_after < paced(10'000));
    return ended;
  };
  Words task = {"/bin/sh", "-c", "echo $#", "sh"};
  task.resize(task.size() + 100'000, "x");
  CHECK(timed({}, task).out == "100000\n");
  CHECK(timed(Words(100'000, "--linger"), {"/bin/echo", "hi"}).out == "hi\n");
  CHECK(timed(many(50'000,
                   [](int) {
                     return Words{"--env", "A=1"};
                   }),
              {"/bin/echo", "hi"})
            .out == "hi\n");

  const auto check_too_many = [&](const std::string& option, const char* value, const char* words) {
    CAPTURE(option);
    const Ended ended = timed(many(50'000,
                                   [&](int i) {
                                     return Words{option, value + std::to_string(i) + "=1"};
                                   }),
                              {"/bin/echo", "hi"});
    CHECK(ended.code == 125);
    CHECK(ended.out.empty());
    CHECK(contains(ended.err, words));
  };
  check_too_many("--env", "V", "more than 10000 environment variables");
  check_too_many("--label", "l", "more than 100 labels");
  check_too_many("--file", "/f", "50001 paths inside");
}
