// What --help, the man pages and the completion script say: all of it, and from the tables.
#include "cli/help.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "base/text.hpp"
#include "cli/docs.hpp"
#include "cli/verbs.hpp"
#include "supervise/outcome.hpp"

using namespace mayfly;
using namespace mayfly::cli;

namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

constexpr Option kExample[] = {
    {.name = "first-one",
     .letter = 'f',
     .argument = "A|B",
     .group = "Group 'x'",
     .help = "the first",
     .man = "One. Two with `a\\b -c`.\n\n.Three.",
     .isolation = Isolation::Weakened},
    {.name = "two", .group = "Other", .help = "the second", .man = "Four."},
    {.name = "an-option-with-a-long",
     .argument = "NAME",
     .group = "Other",
     .help = "third",
     .man = "Five."},
};
constexpr Verb kExampleVerb = {
    .name = "example", .synopsis = "[OPTION...]", .summary = "do it", .options = kExample};

}  // namespace

TEST_CASE("verb_help: one row for each option, in groups, the long ones on two lines") {
  CHECK(verb_help(kExampleVerb) ==
        "Usage: mayfly example [OPTION...]\n"
        "\n"
        "mayfly example: do it.\n"
        "\n"
        "Group 'x'\n"
        "  -f, --first-one A|B         the first\n"
        "\n"
        "Other\n"
        "      --two                   the second\n"
        "      --an-option-with-a-long NAME\n"
        "                              third\n");
}

TEST_CASE("help has fewer than 80 columns and names every option and verb") {
  for (const Verb* verb : verbs()) {
    const std::string help = verb_help(*verb);
    for (std::string_view line : split(help, '\n')) {
      CAPTURE(std::string(line));
      CHECK(line.size() < 80);
    }
    for (const Option& option : verb->options)
      CHECK(contains(help, option_form(option)));
    CHECK(contains(overview(), "\n  " + std::string(verb->name) + " "));
  }
  for (std::string_view line : split(overview(), '\n'))
    CHECK(line.size() < 80);
}

TEST_CASE("man_options: mdoc, with everything escaped that roff would take for its own") {
  CHECK(man_options(kExampleVerb) ==
        ".Bl -tag -width Ds\n"
        ".It Fl f , Fl \\-first\\-one Ar \\&A|B\n"
        "One.\n"
        "Two with \\fBa\\eb \\-c\\fR.\n"
        ".Pp\n"
        "\\&.Three.\n"
        "This weakens the isolation.\n"
        ".It Fl \\-two\n"
        "Four.\n"
        ".It Fl \\-an\\-option\\-with\\-a\\-long Ar \\&NAME\n"
        "Five.\n"
        ".El\n");
}

TEST_CASE("man_options: many options have a subsection for each group") {
  const std::string list = man_options(kRunVerb);
  CHECK(list.starts_with(".Ss Policy and spec\n.Bl -tag -width Ds\n"));
  CHECK(contains(list, ".El\n.Ss The command\\(aqs world\n.Bl -tag -width Ds\n"));
  CHECK(list.ends_with(".El\n"));
}

TEST_CASE("man_reasons has every reason with the exit code that it has") {
  using supervise::Reason;
  const std::string table = man_reasons();
  for (int i = 0; i <= static_cast<int>(Reason::SupervisorLost); ++i) {
    const auto reason = static_cast<Reason>(i);
    const std::string name(supervise::reason_name(reason));
    CAPTURE(name);
    CHECK(contains(table, "\n.It " + name + " Ta "));
    const bool varies = reason == Reason::Exited || reason == Reason::Signaled ||
                        reason == Reason::ExecFailed || reason == Reason::Cancelled;
    const std::string code = " Ta " + std::to_string(supervise::exit_code(reason, 0)) + " Ta ";
    CHECK(contains(table, "\n.It " + name + code) == !varies);
  }
}

TEST_CASE("fill_template replaces marks, and refuses those that it does not know") {
  const auto page = fill_template("a\n@OPTIONS run@\nb @x@\n");
  REQUIRE(page);
  CHECK(*page == "a\n" + man_options(kRunVerb) + "b @x@\n");
  CHECK(*fill_template("@VERBS@\n") == man_verbs());
  CHECK(*fill_template("@BASH_TABLE@\n") == bash_table());
  CHECK(fill_template("@OPTIONS runs@\n").error().action ==
        "replace the mark '@OPTIONS runs@': nothing is known by that name");
  CHECK_FALSE(fill_template("@NOTHING@\n"));
}

TEST_CASE("bash_table knows every verb and option, and which take an argument") {
  const std::string table = bash_table();
  for (const Verb* verb : verbs()) {
    CHECK(contains(table, "    " + std::string(verb->name) + ")\n"));
    for (const Option& option : verb->options) {
      CHECK(contains(table, "--" + std::string(option.name)));
      const bool takes = contains(table, "|--" + std::string(option.name) + "|");
      CHECK(takes == (option.argument != nullptr));
    }
  }
}
