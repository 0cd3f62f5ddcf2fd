#include "plan/environment.hpp"

#include <doctest/doctest.h>

using namespace mayfly;
using namespace mayfly::plan;
using spec::EnvKind;
using spec::EnvRule;

namespace {

using Env = std::vector<std::string>;

Ids alice() {
  Ids ids;
  ids.user = "alice";
  ids.home = "/home/alice";
  ids.shell = "/bin/bash";
  return ids;
}

EnvRule set(std::string name, std::string value) {
  return {.kind = EnvKind::Set, .name = std::move(name), .value = std::move(value)};
}
EnvRule pass(std::string name) {
  return {.kind = EnvKind::PassName, .name = std::move(name), .value = {}};
}
EnvRule pass_all(std::string pattern) {
  return {.kind = EnvKind::PassPattern, .name = std::move(pattern), .value = {}};
}

Env env_of(std::vector<EnvRule> rules, const Env& caller = {}, Terminal tty = Terminal::None) {
  spec::Spec spec;
  spec.env = std::move(rules);
  auto env = task_environment(spec, alice(), caller, tty);
  REQUIRE_MESSAGE(env, describe(env.error()));
  return std::move(env).value();
}

std::string value(const Env& env, std::string_view name) {
  const char* found = find_variable(env, name);
  return found != nullptr ? found : "(unset)";
}

}  // namespace

TEST_CASE("the base environment, and nothing of the caller's") {
  const Env caller = {"SECRET=x",         "PATH=/evil", "LD_PRELOAD=/evil.so",
                      "HOME=/home/other", "TERM=xterm", "LANG=de_DE"};
  CHECK(env_of({}, caller) ==
        Env{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/home/alice",
            "USER=alice", "LOGNAME=alice", "SHELL=/bin/bash", "TMPDIR=/tmp", "LANG=C.UTF-8",
            "MAYFLY=1"});
}

TEST_CASE("TZ comes from the caller if it is a plain zone name") {
  for (const char* good : {"Europe/Berlin", "UTC", "Etc/GMT+3", "America/Port-au-Prince"}) {
    CHECK(value(env_of({}, {"TZ=" + std::string(good)}), "TZ") == good);
  }
  for (const char* bad : {"", ":/etc/shadow", "/etc/localtime", "../../x", "a b", "<x>"}) {
    CAPTURE(bad);
    CHECK(value(env_of({}, {"TZ=" + std::string(bad)}), "TZ") == "(unset)");
  }
  CHECK(value(env_of({}, {"TZ=" + std::string(65, 'a')}), "TZ") == "(unset)");
}

TEST_CASE("TERM is set only for a terminal") {
  CHECK(value(env_of({}, {"TERM=xterm-256color"}), "TERM") == "(unset)");
  CHECK(value(env_of({}, {"TERM=xterm-256color"}, Terminal::Present), "TERM") == "xterm-256color");
  CHECK(value(env_of({}, {"TERM=../../evil"}, Terminal::Present), "TERM") == "dumb");
  CHECK(value(env_of({}, {}, Terminal::Present), "TERM") == "dumb");
}

TEST_CASE("rules: later ones win, over the base too, and keep the variable's place") {
  const Env caller = {"A=caller", "B=caller", "A=second", "PATH=/caller"};
  const Env env = env_of({set("A", "1"), pass("A"), set("B", "x=y"), set("PATH", "/mine"),
                          pass("MISSING"), pass("HOME")},
                         caller);
  CHECK(value(env, "A") == "caller");  // the first of two, as getenv sees it
  CHECK(value(env, "B") == "x=y");
  CHECK(value(env, "MISSING") == "(unset)");
  CHECK(value(env, "HOME") == "/home/alice");  // the caller has none
  CHECK(env[0] == "PATH=/mine");
  CHECK(value(env_of({pass("A"), set("A", "")}, caller), "A") == "");
}

TEST_CASE("rules: patterns pass what matches and skip what is no variable") {
  const Env caller = {"LC_ALL=C", "LC_TIME=de", "LANG=fr", "no-equals", "=noname", "XLC_=1"};
  const Env env = env_of({pass_all("LC_*")}, caller);
  CHECK(value(env, "LC_ALL") == "C");
  CHECK(value(env, "LC_TIME") == "de");
  CHECK(value(env, "XLC_") == "(unset)");
  CHECK(value(env, "LANG") == "C.UTF-8");
  const Env all = env_of({pass_all("*")}, caller);
  CHECK(value(all, "LANG") == "fr");
  CHECK(all.size() == env_of({}).size() + 3);  // LC_ALL, LC_TIME, XLC_
}

TEST_CASE("a name passes the variable of that name and none that begins or ends like it") {
  const Env caller = {"FOOBAR=1", "XFOO=2", "foo=3", "FO=4", "TZDIR=5", "TERMINFO=6"};
  const std::size_t base = env_of({}).size();
  CHECK(env_of({}, caller).size() == base);
  CHECK(env_of({pass("FOO")}, caller).size() == base);
  CHECK(env_of({pass_all("FOO")}, caller).size() == base);
  CHECK(env_of({pass_all("FO?")}, caller).size() == base);
  CHECK(value(env_of({pass_all("FOO*")}, caller), "FOOBAR") == "1");
  CHECK(env_of({pass_all("FOO*")}, caller).size() == base + 1);
  CHECK(value(env_of({}, caller, Terminal::Present), "TERM") == "dumb");
}

TEST_CASE("make's job server does not pass, its other flags do") {
  const auto passed = [](const std::string& value) {
    const std::vector<std::string> caller = {"MAKEFLAGS=" + value, "X=--jobserver-auth=3,4"};
    spec::Spec spec;
    spec.env = {{.kind = spec::EnvKind::PassName, .name = "MAKEFLAGS", .value = {}},
                {.kind = spec::EnvKind::PassPattern, .name = "X*", .value = {}}};
    const auto env = task_environment(spec, {}, caller, Terminal::None);
    REQUIRE(env);
    CHECK(std::string(find_variable(*env, "X")) == "--jobserver-auth=3,4");
    return std::string(find_variable(*env, "MAKEFLAGS"));
  };
  CHECK(passed("s -j2 --jobserver-auth=3,4") == "s -j2");
  CHECK(passed(" -j8 --jobserver-auth=fifo:/tmp/GMfifo1 -- CC=a\\  b") == "-j8 -- CC=a\\  b");
  CHECK(passed("--jobserver-fds=3,4 -j") == "-j");
  CHECK(passed("k") == "k");
}

TEST_CASE("rules with a name that is none are refused") {
  for (const EnvRule& bad : {set("", "x"), set("A=B", "x"), set(std::string("A\0B", 3), "x"),
                             pass(""), pass("A="), pass_all(""), pass_all("A=*")}) {
    spec::Spec spec;
    spec.env = {bad};
    const auto env = task_environment(spec, alice(), {}, Terminal::None);
    REQUIRE_FALSE(env);
    CHECK(env.error().kind == ErrorKind::Usage);
    CHECK(env.error().action.find("as the name of an environment variable") != std::string::npos);
    CHECK(env.error().hint.find("NAME=VALUE") != std::string::npos);
  }
  spec::Spec spec;
  spec.env = {set("A", std::string("x\0y", 3))};
  const auto env = task_environment(spec, alice(), {}, Terminal::None);
  REQUIRE_FALSE(env);
  CHECK(env.error().action == "set the environment variable A: its value holds a NUL byte");
}

TEST_CASE("glob_match") {
  CHECK(glob_match("", ""));
  CHECK(glob_match("*", ""));
  CHECK(glob_match("*", "anything"));
  CHECK(glob_match("a*c", "abbbc"));
  CHECK(glob_match("a*b*c", "a-b-b-c"));
  CHECK(glob_match("?", "x"));
  CHECK(glob_match("LC_[A-M]*", "LC_ALL"));
  CHECK(glob_match("[!a]x", "bx"));
  CHECK(glob_match("[]x]", "]"));
  CHECK(glob_match("[a-]", "-"));
  CHECK(glob_match("\\*", "*"));
  CHECK(glob_match("[", "["));
  CHECK(glob_match("a[b", "a[b"));
  CHECK(glob_match("***", "x"));
  CHECK_FALSE(glob_match("", "x"));
  CHECK_FALSE(glob_match("?", ""));
  CHECK_FALSE(glob_match("a*c", "abbb"));
  CHECK_FALSE(glob_match("[!a]x", "ax"));
  CHECK_FALSE(glob_match("LC_[A-M]*", "LC_TIME"));
  CHECK_FALSE(glob_match("\\*", "x"));
  CHECK_FALSE(glob_match("abc", "ABC"));
  // exponential for a naive matcher
  std::string stars, text(2000, 'a');
  for (int i = 0; i < 200; ++i)
    stars += "a*";
  CHECK_FALSE(glob_match(stars + "b", text));
}

TEST_CASE("check_exec_size names what is too long") {
  constexpr std::uint64_t kStack = 8 << 20;
  const Env nothing;
  CHECK(check_exec_size({"true"}, nothing, kStack));
  CHECK(check_exec_size({"x", std::string((128 << 10) - 1, 'a')}, nothing, kStack));

  const auto argument = check_exec_size({"x", std::string(128 << 10, 'a')}, nothing, kStack);
  REQUIRE_FALSE(argument);
  CHECK(describe(argument.error()) ==
        "cannot execute the command: argument 1 is 131072 bytes long, the kernel takes 131071");

  const auto variable = check_exec_size({"x"}, {"BIG=" + std::string(128 << 10, 'a')}, kStack);
  REQUIRE_FALSE(variable);
  CHECK(variable.error().action.find("the environment variable BIG is 131076 bytes") !=
        std::string::npos);

  const Env many(40, "V=" + std::string(64 << 10, 'a'));  // 2.5 MiB
  const auto total = check_exec_size({"x"}, many, kStack);
  REQUIRE_FALSE(total);
  CHECK(total.error().action.find("together is") != std::string::npos);
  CHECK(total.error().action.find("the kernel takes 2097152") != std::string::npos);
  CHECK(total.error().hint.find("ulimit -s") != std::string::npos);
  CHECK(check_exec_size({"x"}, many, UINT64_MAX));  // unlimited: 6 MiB
  CHECK_FALSE(check_exec_size({"x"}, Env(120, many[0]), UINT64_MAX));
  CHECK(check_exec_size({"x"}, Env(10, "A=b"), 0));  // at least 128 KiB, whatever the limit
}
