// The engine: how words become options, and what is said about those that do not.
#include "cli/options.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "cli/aliases.hpp"
#include "command_line.hpp"

using namespace mayfly;
using namespace mayfly::cli;

namespace {

using List = std::vector<std::string>;

const std::string kWhere = "mayfly run --help lists the options";

}  // namespace

TEST_CASE("options end at the first word that is none, or at --") {
  const struct {
    List words;
    List argv;
  } cases[] = {
      {{"ls", "-l", "--quiet"}, {"ls", "-l", "--quiet"}},
      {{"--", "ls", "-l"}, {"ls", "-l"}},
      {{"--", "--quiet"}, {"--quiet"}},
      {{"--ttl", "5", "ls", "--", "-l"}, {"ls", "--", "-l"}},
      {{"--ttl=5", "--linger", "--", "--", "x"}, {"--", "x"}},
      {{"-", "x"}, {"-", "x"}},
      {{"sh", "-c", "exit 3"}, {"sh", "-c", "exit 3"}},
  };
  for (const auto& each : cases) {
    const auto& words = each.words;
    const auto& argv = each.argv;
    CAPTURE(words[0]);
    const Parsed parsed = read_words(kRunVerb, words);
    REQUIRE(parsed.result);
    CHECK(parsed.request.spec.argv == argv);
    CHECK_FALSE(parsed.request.spec.quiet);
  }
}

TEST_CASE("short and long forms mean the same") {
  for (const List& words : {List{"-q", "-e", "A=1", "-C", "/x", "a"}, List{"-qeA=1", "-C/x", "a"},
                            List{"--quiet", "--env", "A=1", "--chdir", "/x", "a"},
                            List{"--quiet", "--env=A=1", "--chdir=/x", "a"}}) {
    const Parsed parsed = read_words(kRunVerb, words);
    REQUIRE(parsed.result);
    CHECK(parsed.request.spec.quiet);
    CHECK(parsed.request.spec.env.at(0) == spec::EnvRule{.name = "A", .value = "1"});
    CHECK(parsed.request.spec.chdir == "/x");
  }
}

TEST_CASE("an empty name or user or directory is refused, as another that is none") {
  const struct {
    const char* option;
    const char* message;
  } cases[] = {
      {"--name", "cannot use '' as a sandbox name: it is empty (--name)"},
      {"--user", "cannot run as user '': it is empty (--user)"},
      {"--chdir", "cannot start in '': it is empty (--chdir)"},
  };
  for (const auto& each : cases) {
    const Parsed parsed = read_words(kRunVerb, {each.option, "", "a"});
    REQUIRE_FALSE(parsed.result);
    CHECK(describe(parsed.result.error()) == each.message);
    CHECK(parsed.result.error().hint ==
          "leave " + std::string(each.option) + " out, or check the variable in its place");
  }
}

TEST_CASE("what cannot be read is named, with a hint") {
  const struct {
    List words;
    const char* message;
    std::string hint;
  } cases[] = {
      {{"--foo", "a"}, "unknown option --foo", kWhere},
      {{"--foo=bar", "a"}, "unknown option --foo", kWhere},
      {{"--quite", "a"}, "unknown option --quite", "did you mean --quiet?"},
      {{"--chdri=/", "a"}, "unknown option --chdri", "did you mean --chdir?"},
      {{"--proj", "rw", "a"}, "unknown option --proj", "did you mean --project?"},
      {{"--qui", "a"}, "unknown option --qui", "did you mean --quiet?"},
      {{"--unsafe", "a"}, "unknown option --unsafe", "did you mean --unsafe-ids?"},
      {{"--=x", "a"}, "unknown option --", kWhere},
      {{"---quiet", "a"}, "unknown option ---quiet", "did you mean --quiet?"},
      {{"--a\nb\x1b", "a"}, "unknown option --a\\x0ab\\x1b", kWhere},
      {{"-x", "a"}, "unknown option -x", kWhere},
      {{"-qx", "a"}, "unknown option -x", kWhere},
      {{"--quiet=yes", "a"}, "--quiet takes no argument", kWhere},
      {{"--ttl"}, "--ttl needs an argument: DURATION", kWhere},
      {{"--ttl", "--", "true"},
       "--ttl needs an argument: DURATION",
       "if -- is meant as its value, write --ttl=--"},
      {{"-e", "--quiet", "true"},
       "--env needs an argument: NAME[=VALUE]",
       "if --quiet is meant as its value, write --env=--quiet"},
      {{"--timeout", "5", "a"}, "unknown option --timeout", "a time limit is --ttl DURATION"},
      {{"--net=host", "a"}, "unknown option --net", std::string(kNoNetwork)},
      {{"--bind", "/x", "/y", "a"}, "unknown option --bind", std::string(kBinds)},
      {{"-v", "a"},
       "unknown option -v",
       "`mayfly version` prints the version; --ro and --rw show directories"},
      {{"-e"}, "--env needs an argument: NAME[=VALUE]", kWhere},
      {{"--root"}, "--root needs an argument: host|empty|DIR", kWhere},
  };
  for (const auto& each : cases) {
    const auto& words = each.words;
    const auto& message = each.message;
    const auto& hint = each.hint;
    CAPTURE(words[0]);
    const Parsed parsed = read_words(kRunVerb, words);
    REQUIRE_FALSE(parsed.result);
    CHECK(parsed.result.error().kind == ErrorKind::Usage);
    CHECK(parsed.result.error().action == std::string("read the command line: ") + message);
    CHECK(parsed.result.error().hint == hint);
  }
}

TEST_CASE("no option can be abbreviated, so that a new one breaks no script") {
  for (const Option& option : kRunVerb.options) {
    const std::string name = option.name;
    for (std::size_t length = 1; length < name.size(); ++length) {
      const std::string part = name.substr(0, length);
      if (find_option(kRunVerb.options, part) != nullptr) continue;  // --ro of --root
      CAPTURE(part);
      const Parsed parsed = read_words(kRunVerb, {"--" + part, "1", "true"});
      REQUIRE_FALSE(parsed.result);
      CHECK(parsed.result.error().action == "read the command line: unknown option --" + part);
    }
  }
}

TEST_CASE("after a value that cannot be read, the request still says where its result goes") {
  const Parsed parsed =
      read_words(kRunVerb, {"--ttl", "x", "--pids", "y", "--status-fd", "5", "--result", "r", "a"});
  REQUIRE_FALSE(parsed.result);
  CHECK(parsed.result.error().action ==
        "read x as a duration: it does not start with a digit (--ttl)");
  CHECK(parsed.request.spec.status_fd == 5);
  CHECK(parsed.request.spec.result_file == "/home/dir/r");
}

TEST_CASE("after an unknown option, too, unless that what follows may be the command's") {
  const struct {
    List words;
    const char* result;
  } cases[] = {
      {{"--tll", "x", "--result", "r", "a"}, "/home/dir/r"},
      {{"--timeout", "5", "--result", "r", "a"}, "/home/dir/r"},
      {{"--foo", "--result", "r", "a"}, "/home/dir/r"},
      {{"--foo=x", "-Z", "--result=r", "a"}, "/home/dir/r"},
      {{"--foo", "x", "--result", "r", "--", "a"}, "/home/dir/r"},
      {{"--ttl", "--result", "r", "a"}, "/home/dir/r"},
      {{"--foo", "x", "--result", "r"}, ""},
      {{"--quite", "x", "--result", "r"}, ""},
      {{"--foo", "--", "x", "--result", "r"}, ""},
      {{"-Z", "--ttl", "--", "x", "--result", "r"}, ""},
      {{"--foo"}, ""},
  };
  for (const auto& each : cases) {
    CAPTURE(each.words[0]);
    CAPTURE(each.words[1 % each.words.size()]);
    const Parsed parsed = read_words(kRunVerb, each.words);
    REQUIRE_FALSE(parsed.result);
    CHECK(parsed.request.spec.result_file == each.result);
  }
}

TEST_CASE("every alias names an option that exists, and none that can be typed as it is") {
  for (const Alias& alias : kAliases) {
    CAPTURE(alias.typed);
    CHECK(find_option(kRunVerb.options, alias.typed) == nullptr);
    CHECK((alias.option.empty() || find_option(kRunVerb.options, alias.option) != nullptr));
    CHECK_FALSE(alias.hint.empty());
  }
}

TEST_CASE("--help wins over what comes after it and over wrong values") {
  CHECK(read_words(kRunVerb, {"--help"}).request.help);
  CHECK(read_words(kRunVerb, {"-h", "--foo"}).request.help);
  const Parsed parsed = read_words(kRunVerb, {"--ttl", "x", "-h"});
  CHECK(parsed.result);
  CHECK(parsed.request.help);
  CHECK_FALSE(read_words(kRunVerb, {"true", "--help"}).request.help);
}

TEST_CASE("verbs without a command take no words") {
  for (const Verb* verb : {&kDoctorVerb, &kFeaturesVerb, &kGcVerb, &kVersionVerb}) {
    CAPTURE(verb->name);
    const Parsed parsed = read_words(*verb, {"--json", "now"});
    REQUIRE_FALSE(parsed.result);
    CHECK(parsed.result.error().action == "read the command line: unexpected word now");
    CHECK(parsed.result.error().hint ==
          "mayfly " + std::string(verb->name) + " --help lists the options");
    CHECK(parsed.request.json);
    CHECK(read_words(*verb, {"--json"}).result);
  }
  CHECK(read_words(kGcVerb, {"-n"}).request.dry_run);
  CHECK(read_words(kGcVerb, {"--dry-run"}).request.dry_run);
  CHECK(read_words(kHelpVerb, {"run"}).request.spec.argv == List{"run"});
  CHECK(read_words(kHelpVerb, {"run", "gc"}).result.error().action ==
        "read the command line: unexpected word gc");
}

TEST_CASE("nearest finds what was meant, and nothing in what is far off") {
  const std::string_view names[] = {"root", "ro", "rw", "project", "unsafe-ids", "unsafe-tty"};
  CHECK(nearest("roots", names) == "root");
  CHECK(nearest("rot", names) == "root");
  CHECK(nearest("porject", names) == "project");
  CHECK(nearest("unsafe_tty", names) == "unsafe-tty");
  CHECK(nearest("unsafe", names) == "unsafe-ids");
  CHECK(nearest("x", names).empty());
  CHECK(nearest("network", names).empty());
  CHECK(nearest("", names).empty());
  CHECK(nearest(std::string(5000, 'x'), names).empty());
}

TEST_CASE("every table is sound") {
  for (const Verb* verb : verbs()) {
    CAPTURE(verb->name);
    CHECK(find_verb(verb->name) == verb);
    CHECK(verb->options.size() <= 64);
    CHECK(find_option(verb->options, "help") != nullptr);
    std::set<std::string> names;
    std::set<char> letters;
    std::vector<std::string> groups;
    for (const Option& option : verb->options) {
      CAPTURE(option.name);
      CHECK(names.insert(option.name).second);
      CHECK((option.letter == 0 || letters.insert(option.letter).second));
      REQUIRE((option.apply != nullptr) != (option.setting != nullptr));
      if (option.setting != nullptr) REQUIRE((option.setting->apply != nullptr));
      const std::string help = option.help;
      CHECK_FALSE(help.ends_with('.'));
      CHECK_FALSE(help.empty());
      const std::string man = option.man;
      CHECK(man.ends_with('.'));
      CHECK(std::count(man.begin(), man.end(), '`') % 2 == 0);
      if (groups.empty() || groups.back() != option.group) groups.emplace_back(option.group);
      const bool says_unsafe =
          std::string(option.group).find("weakens the isolation") != std::string::npos;
      CHECK(says_unsafe == (option.isolation == Isolation::Weakened));
    }
    std::vector<std::string> once = groups;
    std::sort(once.begin(), once.end());
    CHECK(std::adjacent_find(once.begin(), once.end()) == once.end());
  }
  CHECK(find_verb("nothing") == nullptr);
  CHECK(find_verb("") == nullptr);
}
