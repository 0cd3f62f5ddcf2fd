#include "spec/choices.hpp"

#include <doctest/doctest.h>

using namespace mayfly::spec;

using Words = std::vector<std::string_view>;

TEST_CASE("choices_of: lower case is a word and upper case stands for something else") {
  const struct {
    const char* argument;
    Words words;
    bool are_all;
  } cases[] = {
      {"auto|memory|disk", {"auto", "memory", "disk"}, true},
      {"strict|best-effort", {"strict", "best-effort"}, true},
      {"host", {"host"}, true},
      {"host|empty|DIR", {"host", "empty"}, false},
      {"cow|rw|ro|none[:DIR]", {"cow", "rw", "ro", "none"}, false},
      {"FILE|-", {}, false},
      {"[PATH:]RATES", {}, false},
      {"DST[:size=SIZE,mode=MODE]", {}, false},
  };
  for (const auto& each : cases) {
    CAPTURE(each.argument);
    const Choices choices = choices_of(each.argument);
    CHECK(choices.words == each.words);
    CHECK(choices.are_all == each.are_all);
  }
  CHECK(in_words(choices_of("auto|yes|no")) == "\"auto\", \"yes\" or \"no\"");
  CHECK(in_words(choices_of("host")) == "\"host\"");
}
