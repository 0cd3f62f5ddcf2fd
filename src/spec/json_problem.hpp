// What is wrong with a text that is no JSON, in our own words.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace mayfly::spec {

struct JsonProblem {
  std::size_t offset = 0;
  std::string words;
};

// What the library would pass over: it takes a NUL byte for the end of the text, and reads nothing
// behind it. To be asked before each reading.
[[nodiscard]] std::optional<JsonProblem> unseen_problem(std::string_view text);

// `said`: what nlohmann-json's exception says, which names its own classes and repeats as much of
// the text as it has read.
[[nodiscard]] std::string json_problem(std::string_view said);

}  // namespace mayfly::spec
