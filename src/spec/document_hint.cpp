#include "spec/document_hint.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/text.hpp"
#include "spec/choices.hpp"
#include "spec/reader.hpp"

namespace mayfly::spec {
namespace {

// The marks that end a word of a sentence.
std::string_view marks_of(std::string_view word) {
  const std::size_t last = word.find_last_not_of(",:;.)");
  return word.substr(last == word.npos ? 0 : last + 1);
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Behind an option may be its value, or how the sentence goes on, in small letters.
bool is_value(const Setting& setting, std::string_view word) {
  const bool is_list = setting.form == Form::Item || setting.form == Form::Strings;
  if (setting.argument == nullptr || is_list || word.empty()) return false;
  if (setting.form == Form::Pairs) return word.find('=') != word.npos;
  if (is_digit(word[0]) || (word[0] >= 'A' && word[0] <= 'Z')) return true;
  const auto words = choices_of(setting.argument).words;
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string quoted(std::string_view value) {
  return '"' + std::string(value) + '"';
}

std::string assignment(const Setting& setting, std::string_view value) {
  const std::string begin = std::string(setting.document_key()) + " = ";
  if (setting.form == Form::Pairs) {
    const std::size_t equals = std::min(value.find('='), value.size() - 1);
    return begin + "{ " + std::string(value.substr(0, equals)) + " = " +
           quoted(value.substr(equals + 1)) + " }";
  }
  const bool is_bare =
      setting.form == Form::Number &&
      (!is_digit(value[0]) || value.find_first_not_of("0123456789.") == value.npos);
  return begin + (is_bare ? std::string(value) : quoted(value));
}

// "mounts.ro", "env.pass", "ttl".
std::string key_of(const Setting& setting) {
  const bool has_items = setting.form == Form::Item || setting.item != nullptr;
  return setting.document_key() + (has_items ? "." + std::string(setting.item_key()) : "");
}

}  // namespace

std::string in_document(std::string_view hint) {
  if (hint.find("mayfly run") != hint.npos) return std::string(hint);
  std::string text;
  const std::vector<std::string_view> words = split(hint, ' ');
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += ' ';
    std::string_view marks = marks_of(words[i]);
    const std::string_view word = words[i].substr(0, words[i].size() - marks.size());
    const std::size_t equals = std::min(word.find('='), word.size());
    const Setting* setting =
        word.starts_with("--") ? find_setting_named(word.substr(2, equals - 2)) : nullptr;
    if (setting == nullptr) {
      text += words[i];
      continue;
    }
    std::string_view value = word.substr(std::min(equals + 1, word.size()));
    if (value.empty() && marks.empty() && i + 1 < words.size()) {
      const std::string_view behind = marks_of(words[i + 1]);
      const std::string_view next = words[i + 1].substr(0, words[i + 1].size() - behind.size());
      if (is_value(*setting, next)) {
        value = next;
        marks = behind;
        ++i;
      }
    }
    text += value.empty() ? key_of(*setting) : assignment(*setting, value);
    text += marks;
  }
  return text;
}

}  // namespace mayfly::spec
