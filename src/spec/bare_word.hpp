// What is wrong with a word without quotes that stands for a value in a document: "5s", ".5", "05".
// Both libraries see only the one character that they did not expect.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace mayfly::spec {

struct BareWord {
  std::size_t at = 0;  // where it begins
  std::string_view text;
};

// The word that has the byte at an offset, or ends before it. Empty: there is none.
[[nodiscard]] BareWord bare_word(std::string_view text, std::size_t offset);

// True if a value must be where the word is.
[[nodiscard]] bool is_value(std::string_view text, const BareWord& word);

struct WordProblem {
  std::string what, remedy;
};

// nullopt: nothing that is often written.
[[nodiscard]] std::optional<WordProblem> word_problem(std::string_view word);

}  // namespace mayfly::spec
