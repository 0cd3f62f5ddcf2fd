// The words among which a setting's argument, as help writes it, lets one choose.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mayfly::spec {

struct Choices {
  std::vector<std::string_view> words;
  bool are_all = false;  // nothing else can be given
};

// "auto|memory|disk" is a choice among words, "host|empty|DIR" and "cow|rw[:DIR]" are words and
// something else: upper case stands for that. The words are parts of `argument`.
[[nodiscard]] Choices choices_of(std::string_view argument);

// "auto", "yes" or "no"
[[nodiscard]] std::string in_words(const Choices& choices);

}  // namespace mayfly::spec
