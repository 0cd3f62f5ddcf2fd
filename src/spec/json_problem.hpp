// What is wrong with a text that is no JSON, in our own words.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace mayfly::spec {

struct JsonProblem {
  const char* what = nullptr;
  const char* remedy = nullptr;
  bool is_of_word = false;  // that may be what is wrong with a number or a word without quotes
};

inline constexpr JsonProblem kNulInJson = {"a NUL byte has no place in JSON",
                                           "in a text it is written \\u0000"};

// Where the library would take the text to be at its end, and read nothing behind it. To be asked
// before each reading.
[[nodiscard]] std::optional<std::size_t> nul_in_json(std::string_view text);

// `said`: what nlohmann-json's exception says, which names its own classes and repeats as much of
// the text as it has read.
[[nodiscard]] JsonProblem json_problem(std::string_view said);

}  // namespace mayfly::spec
