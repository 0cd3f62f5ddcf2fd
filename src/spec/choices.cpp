#include "spec/choices.hpp"

#include <algorithm>
#include <cstddef>

#include "base/text.hpp"

namespace mayfly::spec {

Choices choices_of(std::string_view argument) {
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto is_of_word = [&](char c) { return is_letter(c) || c == '-'; };
  Choices choices;
  std::size_t others = 0;
  for (const std::string_view part : split(argument, '|')) {
    const std::string_view word = part.substr(0, part.find('['));
    const bool is_word = std::any_of(word.begin(), word.end(), is_letter) &&
                         std::all_of(word.begin(), word.end(), is_of_word);
    if (is_word) choices.words.push_back(word);
    if (!is_word || word.size() < part.size()) ++others;
  }
  choices.are_all = others == 0;
  return choices;
}

std::string in_words(const Choices& choices) {
  std::string text;
  for (std::size_t i = 0; i < choices.words.size(); ++i) {
    if (i > 0) text += i + 1 == choices.words.size() ? " or " : ", ";
    text += '"' + std::string(choices.words[i]) + '"';
  }
  return text;
}

}  // namespace mayfly::spec
